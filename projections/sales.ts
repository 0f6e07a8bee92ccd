import { inZone } from '#domain/instant.ts'
import { fromCents, fromThousandths, lineTotal, lineTotalFits, toCents, toThousandths } from '#domain/money.ts'
import { shareDiscount } from '#domain/payment-rules.ts'
import type { Metadata } from '#domain/record-values.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type Channel, toChannel } from '#ledger/command.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import type { FISCAL_STATES } from '#records/list-filters.ts'
import { itemById } from './catalog.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
  withMore,
} from './define-projection.ts'
import { erasing } from './people.ts'
import { type StockMove, stockMoves } from './stock.ts'

type Completed = DataOf<'SaleCompleted'>
type Seller = NonNullable<Completed['seller']>

/** Fiscal document of a sale, issued elsewhere; unknown fields are null. */
export type FiscalDocument = Omit<DataOf<'FiscalDocumentRecorded'>, 'id'> & {
  /** Time of authorization; in contingency, time of recording. */
  issued_at: string
}

export type SaleMoneyBack = NonNullable<DataOf<'SaleCancelled'>['refunds']>[number]

/** Sale as the API returns it. Names are as of the sale. */
export type SaleObject = Omit<
  Completed,
  'items' | 'seller' | 'discount' | 'test' | 'order_id' | 'warnings' | 'metadata'
> & {
  /** Paid order that it records; null for other sales. */
  order_id: number | null
  /** Identifier from the till; null if no till uploaded it. */
  offline_id: string | null
  /** Cash session of the till, as the till names it; null if it named none. */
  cash_session_id: string | null
  status: 'completed' | 'cancelled'
  origin: Channel
  /** Who sold: the user of the till, or as the API said; null if unknown. */
  seller: Seller | null
  /** Item totals already include the item discount, and not the share in the discount of the whole sale. */
  items: (Omit<Completed['items'][number], 'moves_stock' | 'discount'> & {
    discount: string
    discount_share: string
    /** Quantity that came back so far. */
    returned: string
  })[]
  /** Discount on the whole sale: total = subtotal - discount + delivery fee. */
  discount: string
  /** Given back by the provider while the sale stands; the order has what was given back in all. */
  refunded_total: string
  /** Given back for goods that came back; the sale stays completed. */
  returned_total: string
  /** Of uploaded sales only those about other sales; the panel shows all. */
  warnings: NonNullable<Completed['warnings']>
  metadata: Metadata | null
  fiscal_document: FiscalDocument | null
  cancelled_at: string | null
  cancel_reason: string | null
  /** How the money went back with the cancellation; null if it was not stated. */
  cancel_refunds: readonly SaleMoneyBack[] | null
  created_at: string
  updated_at: string
}

type FiscalState = (typeof FISCAL_STATES)[number]

/** Cents given back of each line, and of the delivery fee. */
interface ReturnedAmounts {
  readonly cents: readonly number[]
  readonly delivery_fee: number
}

export interface SaleRow extends ChangedFields {
  company_id: number
  id: number
  /** A cancelled sale keeps its external id. */
  external_id: string | null
  status: SaleObject['status']
  origin: Channel
  customer_id: number | null
  /** Who sold: a user, or a name without one; both null if unknown. */
  seller_id: number | null
  seller_name: string | null
  sold_at: string
  total_cents: number
  /** Cost of its items at the time of sale; null unless known for all. */
  cost_cents: number | null
  /** Money that it took when it was sold, in cents: neither what is still owed, nor discounts that are payments. */
  received_cents: number
  /** Share of each line in the discount of the whole sale, in cents; null without one. */
  line_discounts: readonly number[] | null
  /** Cash session that took its money; null if none is known. */
  cash_session_id: string | null
  /** Cash session that gave its money back; null if it is not cancelled, or none is known. */
  cancel_session_id: string | null
  /** Given back so far; null until goods come back. */
  returned: ReturnedAmounts | null
  /** Actor who recorded it, as `user/3`. */
  actor: string | null
  /** Whether a completed sale has a valid fiscal document, see `fiscalOf`; null if it needs none. */
  fiscal: FiscalState | null
  /** Of its fiscal document; null without one, and without a key. */
  access_key: string | null
  /** Authorization, else recording, of its fiscal document (UTC); the legal retention starts here. Null without one. */
  documented_at: string | null
  /** Stock movements, reversed by a cancellation. */
  stock_moves: StockMove[]
  /** Receivables of its credit payments, deleted by a cancellation. */
  receivable_ids: readonly number[]
  /** Store credit of the customer that it was paid with, in cents; null without any. */
  credit_cents: number | null
  /** Distinct payment types. */
  payment_type_ids: readonly number[]
  doc: SaleObject
}

/** SQL of a partial index: people filter by cancelled sales, which are few. */
export const IS_CANCELLED = "status = 'cancelled'"

export const sales = table<SaleRow>('sales', {
  about: 'Sales of all channels, cancelled ones included; amounts in cents.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    status: 'text',
    origin: 'text',
    customer_id: 'bigint',
    seller_id: 'bigint',
    seller_name: 'text',
    sold_at: 'timestamptz',
    total_cents: 'bigint',
    cost_cents: 'bigint',
    received_cents: 'bigint',
    line_discounts: 'json',
    cash_session_id: 'text',
    cancel_session_id: 'text',
    returned: 'json',
    actor: 'text',
    fiscal: 'text',
    access_key: 'text',
    documented_at: 'timestamptz',
    stock_moves: 'json',
    receivable_ids: 'json',
    credit_cents: 'bigint',
    payment_type_ids: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'] },
  indexes: [
    INDEX_BY_CHANGE,
    INDEX_BY_PAST,
    // Few: each costs a sale some 50 µs of Postgres, whether the sale is in it or not. Covering: sums over many sales need no
    // table access.
    '(company_id, sold_at, id) include (status, total_cents, seller_id, seller_name, cost_cents)',
    '(company_id, customer_id, id) include (documented_at) where customer_id is not null',
    '(company_id, seller_id, id) where seller_id is not null',
    '(company_id, fiscal, id)',
    '(company_id, access_key) where access_key is not null',
    `(company_id, sold_at, id) where ${IS_CANCELLED}`,
    '(company_id, cash_session_id, changed_at) where cash_session_id is not null',
    '(company_id, cancel_session_id, changed_at) where cancel_session_id is not null',
  ],
  past: { id: 'id', without: ['cost_cents'] },
})

export const saleById = (id: number) => byPk(sales, id)
export const saleByExternalId = (externalId: string) => byKey(sales, 'external', externalId)

const NOTHING = '0.00'
const NO_QUANTITY = '0.000'

/** Fields that depend on the origin of a sale. */
type OriginFields = Pick<
  SaleObject,
  | 'external_id'
  | 'offline_id'
  | 'cash_session_id'
  | 'order_id'
  | 'warnings'
  | 'customer'
  | 'payments'
  | 'subtotal'
  | 'delivery_fee'
>

type Recorded = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

/** The service registers sales of orders, also within a request of the API. */
const isOfOrder = ({ data }: Recorded): boolean => 'order_id' in data && data.order_id !== undefined

/** Share of each line in the discount of the whole sale, in cents; null without one. */
export const splitSaleDiscount = ({
  items,
  discount = NOTHING,
}: Pick<Recorded['data'], 'items' | 'discount'>): number[] | null =>
  discount === NOTHING
    ? null
    : shareDiscount(
        items.map(({ total }) => toCents(total)),
        toCents(discount),
      )

function saleObject(event: Recorded, made: OriginFields, zone: string): SaleObject {
  const { origin, recorded_at, data } = event
  const at = inZone(recorded_at, zone)
  const shares = splitSaleDiscount(data)
  return {
    id: data.id,
    external_id: made.external_id,
    offline_id: made.offline_id,
    cash_session_id: made.cash_session_id,
    order_id: made.order_id,
    status: 'completed',
    origin: isOfOrder(event) ? 'system' : toChannel(origin),
    customer: made.customer,
    seller: data.seller ?? null,
    sold_at: inZone(data.sold_at, zone),
    items: data.items.map(({ moves_stock: _, discount = NOTHING, ...item }, line) =>
      withMore(item, {
        discount,
        discount_share: shares ? fromCents(shares[line] ?? 0) : NOTHING,
        returned: NO_QUANTITY,
      }),
    ),
    payments: made.payments,
    subtotal: made.subtotal,
    discount: data.discount ?? NOTHING,
    delivery_fee: made.delivery_fee,
    total: data.total,
    change: data.change,
    refunded_total: NOTHING,
    returned_total: NOTHING,
    warnings: made.warnings,
    metadata: ('metadata' in data && data.metadata) || null,
    fiscal_document: null,
    cancelled_at: null,
    cancel_reason: null,
    cancel_refunds: null,
    created_at: at,
    updated_at: at,
  }
}

const throughTheApi = (data: Completed): OriginFields =>
  withMore(data, {
    offline_id: null,
    cash_session_id: null,
    order_id: data.order_id ?? null,
    warnings: data.warnings ?? [],
  })

/** Counter sales of tills have no delivery. */
const atTheCounter = (data: DataOf<'OfflineSaleCancelled'>): OriginFields => ({
  external_id: null,
  offline_id: data.offline_id,
  cash_session_id: data.cash_session_id ?? null,
  order_id: null,
  warnings: data.warnings.flatMap(({ code, sale_id }) =>
    code === 'payment_already_used' && sale_id !== undefined ? [{ code, sale_id }] : [],
  ),
  customer: data.customer,
  payments: data.payments.map(({ status: _, ...payment }) => payment),
  subtotal: fromCents(data.items.reduce((sum, { total }) => sum + toCents(total), 0)),
  delivery_fee: NOTHING,
})

const costsOf = ({ data }: Recorded) =>
  data.items.flatMap(({ catalog_item_id }) => (catalog_item_id === null ? [] : [itemById(catalog_item_id)]))

/** Current cost of items in cents; null unless known for all, and each line's an amount. */
function costOf(rows: Changes, items: SaleObject['items']): number | null {
  let sum = 0
  for (const { catalog_item_id, quantity } of items) {
    const cost = catalog_item_id === null ? null : rows.get(itemById(catalog_item_id))?.doc.cost
    if (typeof cost !== 'string' || !lineTotalFits(toThousandths(quantity), toCents(cost))) return null
    sum += lineTotal(toThousandths(quantity), toCents(cost))
  }
  return sum
}

/** Session that gave the money back of a sale that comes as cancelled. */
function cancelSessionOf({ data }: Recorded, { status, cash_session_id }: SaleObject): string | null {
  if (status !== 'cancelled') return null
  return 'cancel_session_id' in data && data.cancel_session_id !== undefined ? data.cancel_session_id : cash_session_id
}

function addSale(rows: Changes, event: Recorded, doc: SaleObject, receivableIds: readonly number[]): void {
  rows.add(sales, {
    company_id: companyRef(rows).company_id,
    id: doc.id,
    external_id: doc.external_id,
    status: doc.status,
    origin: doc.origin,
    customer_id: doc.customer?.id ?? null,
    seller_id: doc.seller?.user_id ?? null,
    seller_name: doc.seller?.user_id === null ? doc.seller.name : null,
    sold_at: event.data.sold_at,
    total_cents: toCents(doc.total),
    cost_cents: costOf(rows, doc.items),
    received_cents: toCents('received' in event.data ? event.data.received : doc.total),
    line_discounts: splitSaleDiscount(event.data),
    cash_session_id: doc.cash_session_id,
    // A sale that was cancelled before its upload took no money.
    cancel_session_id: cancelSessionOf(event, doc),
    returned: null,
    actor: isOfOrder(event) ? null : event.actor,
    fiscal: fiscalOf(doc),
    access_key: null,
    documented_at: null,
    stock_moves: stockMoves(event.data.items),
    receivable_ids: receivableIds,
    credit_cents: 'credit' in event.data && event.data.credit ? toCents(event.data.credit.amount) : null,
    payment_type_ids: [...new Set(doc.payments.map(({ payment_type_id }) => payment_type_id))],
    ...stamp(event),
    doc,
  })
}

/** A cancelled document leaves a completed sale without one. */
function fiscalOf({ status, fiscal_document: document }: SaleObject): FiscalState | null {
  if (document && document.status !== 'cancelled') return 'present'
  return status === 'completed' ? 'missing' : null
}

/** Applies an event to a sale. */
function changeSale(
  rows: Changes,
  event: { data: { id: number }; revision: number; recorded_at: string },
  changes: Partial<SaleObject>,
  columns: Partial<
    Pick<SaleRow, 'documented_at' | 'access_key' | 'cancel_session_id' | 'returned' | 'customer_id'>
  > = {},
): void {
  const before = existing(rows, saleById(event.data.id))
  const doc = { ...before.doc, ...changes, updated_at: inZone(event.recorded_at, getTimezone(rows)) }
  rows.put(sales, { ...before, ...columns, status: doc.status, fiscal: fiscalOf(doc), ...stamp(event), doc })
}

/** Fiscal document as the API shows it, with times in a zone. */
export function fiscalDocumentObject(
  { data, recorded_at }: EventOf<'FiscalDocumentRecorded'> | EventOf<'ReturnDocumentRecorded'>,
  zone: string,
): FiscalDocument {
  const { id: _, ...document } = data
  const authorized_at = document.authorized_at && inZone(document.authorized_at, zone)
  return { ...document, authorized_at, issued_at: inZone(document.authorized_at ?? recorded_at, zone) }
}

/** Adds what came back of a sale, or takes it back with the sign -1. */
function changeReturned(
  rows: Changes,
  event: Pick<EventOf<'SaleReturned'>, 'revision' | 'recorded_at'>,
  {
    sale_id: id,
    items,
    delivery_fee,
    total,
  }: Pick<DataOf<'ReturnReversed'>, 'sale_id' | 'items' | 'delivery_fee' | 'total'>,
  sign: 1 | -1,
): void {
  const { doc, returned } = existing(rows, saleById(id))
  const cents = doc.items.map((_, line) => returned?.cents[line] ?? 0)
  const thousandths = doc.items.map((item) => toThousandths(item.returned))
  for (const { line, quantity, amount } of items) {
    cents[line] = (cents[line] ?? 0) + sign * toCents(amount)
    thousandths[line] = (thousandths[line] ?? 0) + sign * toThousandths(quantity)
  }
  const fee = (returned?.delivery_fee ?? 0) + sign * toCents(delivery_fee)
  const isNothing = fee === 0 && [...cents, ...thousandths].every((left) => left === 0)
  const changes = {
    items: doc.items.map((item, line) => ({ ...item, returned: fromThousandths(thousandths[line] ?? 0) })),
    returned_total: fromCents(toCents(doc.returned_total) + sign * toCents(total)),
  }
  const { revision, recorded_at } = event
  changeSale(rows, { revision, recorded_at, data: { id } }, changes, {
    returned: isNothing ? null : { cents, delivery_fee: fee },
  })
}

export const salesProjection = projection('sales', [sales], {
  SaleCompleted: {
    refs: costsOf,
    apply: (rows, event) => addSale(rows, event, saleObject(event, throughTheApi(event.data), getTimezone(rows)), []),
  },
  OfflineSaleCompleted: {
    refs: costsOf,
    apply(rows, event) {
      const doc = saleObject(event, atTheCounter(event.data), getTimezone(rows))
      addSale(rows, event, doc, event.data.receivable_ids)
    },
  },
  OfflineSaleCancelled: {
    refs: costsOf,
    apply(rows, event) {
      const doc = saleObject(event, atTheCounter(event.data), getTimezone(rows))
      // The till's cancellation time is unknown; the time of recording stands for it.
      addSale(rows, event, { ...doc, status: 'cancelled', cancelled_at: doc.created_at }, [])
    },
  },
  SaleCancellationMoved: {
    refs: (event) => [saleById(event.data.id)],
    apply: (rows, event) => changeSale(rows, event, {}, { cancel_session_id: event.data.cash_session_id }),
  },
  SaleCancelled: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const cancelled_at = inZone(event.recorded_at, getTimezone(rows))
      const { reason: cancel_reason, refunds: cancel_refunds = null, cash_session_id = null } = event.data
      const changes = { status: 'cancelled', cancelled_at, cancel_reason, cancel_refunds } as const
      changeSale(rows, event, changes, { cancel_session_id: cash_session_id })
    },
  },
  SaleCustomerAssigned: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const { customer } = event.data
      changeSale(rows, event, { customer }, { customer_id: customer.id })
    },
  },
  SaleRefunded: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      changeSale(rows, event, { refunded_total: event.data.refunded })
    },
  },
  SaleRestocked: {
    refs: (event) => [saleById(event.data.id)],
    apply: (rows, event) =>
      changeReturned(rows, event, { ...event.data, sale_id: event.data.id, delivery_fee: NOTHING, total: NOTHING }, 1),
  },
  SaleReturned: {
    refs: (event) => [saleById(event.data.sale_id)],
    apply: (rows, event) => changeReturned(rows, event, event.data, 1),
  },
  ReturnReversed: {
    refs: (event) => [saleById(event.data.sale_id)],
    apply: (rows, event) => changeReturned(rows, event, event.data, -1),
  },
  FiscalDocumentRecorded: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const { authorized_at, access_key } = event.data
      const columns = { documented_at: authorized_at ?? event.recorded_at, access_key }
      changeSale(rows, event, { fiscal_document: fiscalDocumentObject(event, getTimezone(rows)) }, columns)
    },
  },
  PersonForgotten: erasing({ kind: 'sale', table: 'sales', idColumns: { customer: 'customer_id', user: 'seller_id' } }),
})
