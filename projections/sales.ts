import { inZone } from '#domain/instant.ts'
import { fromCents, lineTotal, toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type Channel, channelOf } from '#ledger/envelope.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { itemById, type StockMove, stockMoves } from './catalog.ts'
import { companyOf, timezoneOf } from './companies.ts'
import {
  BY_CHANGE,
  BY_PAST,
  type Changed,
  changedColumns,
  docView,
  existing,
  projection,
  stamp,
  withMore,
} from './define.ts'
import { eraseFromSales, erasing } from './forgettings.ts'

type Completed = DataOf<'SaleCompleted'>

/** The fiscal document of a sale, issued elsewhere. What nobody has told is null. */
export type FiscalDocument = Omit<DataOf<'FiscalDocumentRecorded'>, 'id'> & {
  /** When it was authorized; in contingency, when it was recorded. */
  issued_at: string
}

/** A sale as the API shows it (SALE-14). Names are those of the moment of the sale. */
export type SaleObject = Omit<Completed, 'items' | 'test'> & {
  /** The till's own identifier; null where no till uploaded it. */
  offline_id: string | null
  status: 'completed' | 'cancelled'
  origin: Channel
  /** The discount of an item is in its total already. */
  items: (Omit<Completed['items'][number], 'moves_stock'> & { discount: string })[]
  /** Taken off at the end: the total is the subtotal less it, with the delivery fee. */
  discount: string
  fiscal_document: FiscalDocument | null
  cancelled_at: string | null
  cancel_reason: string | null
  created_at: string
  updated_at: string
}

export const FISCAL_STATES = ['missing', 'present'] as const
type FiscalState = (typeof FISCAL_STATES)[number]

export interface SaleRow extends Changed {
  company_id: number
  id: number
  /** A cancelled sale keeps its external id. */
  external_id: string | null
  status: SaleObject['status']
  origin: Channel
  customer_id: number | null
  sold_at: string
  total_cents: number
  /** What its items cost when it was sold; null where that is not known of all. */
  cost_cents: number | null
  /** Who recorded it, as `user/3`. */
  actor: string | null
  /** Whether a completed sale has a fiscal document in force, see `fiscalOf`; null where it needs none. */
  fiscal: FiscalState | null
  /** When its fiscal document was authorized, or else recorded (UTC): the law counts from then; null without one. */
  documented_at: string | null
  /** What the sale took from stock, for its cancellation. */
  stock_moves: StockMove[]
  /** What its payments on credit made, for its cancellation. */
  receivable_ids: readonly number[]
  /** The ways that it was paid in, each once. */
  payment_type_ids: readonly number[]
  doc: SaleObject
}

/** SQL of what an index of its own finds: people look for cancelled sales, which are few. */
export const IS_CANCELLED = "status = 'cancelled'"

/** SQL of what an index of its own finds: sales whose fiscal document names a customer. */
export const IS_DOCUMENTED = 'customer_id is not null and documented_at is not null'

export const sales = table<SaleRow>('sales', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    status: 'text',
    origin: 'text',
    customer_id: 'bigint',
    sold_at: 'timestamptz',
    total_cents: 'bigint',
    cost_cents: 'bigint',
    actor: 'text',
    fiscal: 'text',
    documented_at: 'timestamptz',
    stock_moves: 'json',
    receivable_ids: 'json',
    payment_type_ids: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'] },
  indexes: [
    BY_CHANGE,
    BY_PAST,
    // With what is added up of many sales, so that they need not be read.
    '(company_id, sold_at, id) include (status, total_cents)',
    '(company_id, customer_id, id) where customer_id is not null',
    '(company_id, fiscal, id)',
    `(company_id, customer_id, documented_at) where ${IS_DOCUMENTED}`,
    `(company_id, sold_at, id) where ${IS_CANCELLED}`,
  ],
  past: { id: 'id', without: ['cost_cents'] },
})

export const saleById = (id: number) => byPk(sales, id)
export const saleByExternalId = (externalId: string) => byKey(sales, 'external', externalId)

/** What differs between sales by how they were made. */
type Made = Pick<
  SaleObject,
  'external_id' | 'offline_id' | 'customer' | 'payments' | 'subtotal' | 'discount' | 'delivery_fee'
>

type Recorded = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

function saleObject({ origin, recorded_at, data }: Recorded, made: Made, zone: string): SaleObject {
  const at = inZone(recorded_at, zone)
  return {
    id: data.id,
    external_id: made.external_id,
    offline_id: made.offline_id,
    status: 'completed',
    origin: channelOf(origin),
    customer: made.customer,
    sold_at: inZone(data.sold_at, zone),
    items: data.items.map(({ moves_stock: _, ...item }) =>
      withMore(item, { discount: 'discount' in item ? discountOf(item) : NOTHING }),
    ),
    payments: made.payments,
    subtotal: made.subtotal,
    discount: made.discount,
    delivery_fee: made.delivery_fee,
    total: data.total,
    change: data.change,
    fiscal_document: null,
    cancelled_at: null,
    cancel_reason: null,
    created_at: at,
    updated_at: at,
  }
}

const NOTHING = '0.00'

/** Only tills give discounts, and old events have none. */
const discountOf = (part: object & { readonly discount?: string | undefined }): string => part.discount ?? NOTHING

/** An integration names its price as the price. */
const throughTheApi = (data: Completed): Made => withMore(data, { offline_id: null, discount: NOTHING })

/** A till sells over the counter, without delivery. */
const atTheCounter = (data: DataOf<'OfflineSaleCancelled'>): Made => ({
  external_id: null,
  offline_id: data.offline_id,
  customer: data.customer ?? null,
  payments: data.payments.map(({ status: _, ...payment }) => payment),
  subtotal: fromCents(data.items.reduce((sum, { total }) => sum + toCents(total), 0)),
  discount: discountOf(data),
  delivery_fee: NOTHING,
})

const costsOf = ({ data }: Recorded) =>
  data.items.flatMap(({ catalog_item_id }) => (catalog_item_id === null ? [] : [itemById(catalog_item_id)]))

/** What items cost at the moment, to the cent; null where that is not known of all. */
function costOf(rows: Changes, items: SaleObject['items']): number | null {
  let sum = 0
  for (const { catalog_item_id, quantity } of items) {
    const cost = catalog_item_id === null ? null : rows.get(itemById(catalog_item_id))?.doc.cost
    if (typeof cost !== 'string') return null
    sum += lineTotal(toThousandths(quantity), toCents(cost))
  }
  return sum
}

function addSale(rows: Changes, event: Recorded, doc: SaleObject, receivableIds: readonly number[]): void {
  rows.add(sales, {
    company_id: companyOf(rows).company_id,
    id: doc.id,
    external_id: doc.external_id,
    status: doc.status,
    origin: doc.origin,
    customer_id: doc.customer?.id ?? null,
    sold_at: event.data.sold_at,
    total_cents: toCents(doc.total),
    cost_cents: costOf(rows, doc.items),
    actor: event.actor,
    fiscal: fiscalOf(doc),
    documented_at: null,
    stock_moves: stockMoves(event.data.items),
    receivable_ids: receivableIds,
    payment_type_ids: [...new Set(doc.payments.map(({ payment_type_id }) => payment_type_id))],
    ...stamp(event),
    doc,
  })
}

/** All that version 0.1 kept of a document. */
const ONLY_NUMBER = { model: null, series: null, access_key: null, protocol: null, xml_sha256: null, xml_url: null }

/** A document that was cancelled leaves a completed sale without one. */
function fiscalOf({ status, fiscal_document: document }: SaleObject): FiscalState | null {
  if (document && document.status !== 'cancelled') return 'present'
  return status === 'completed' ? 'missing' : null
}

/** What an event changes of a sale. */
function changeSale(
  rows: Changes,
  event: { data: { id: number }; revision: number; recorded_at: string },
  changes: Partial<SaleObject>,
  columns: Partial<Pick<SaleRow, 'documented_at'>> = {},
): void {
  const before = existing(rows, saleById(event.data.id))
  const doc = { ...before.doc, ...changes, updated_at: inZone(event.recorded_at, timezoneOf(rows)) }
  rows.put(sales, { ...before, ...columns, status: doc.status, fiscal: fiscalOf(doc), ...stamp(event), doc })
}

export const salesProjection = projection('sales', [sales], {
  SaleCompleted: {
    refs: costsOf,
    apply: (rows, event) => addSale(rows, event, saleObject(event, throughTheApi(event.data), timezoneOf(rows)), []),
  },
  OfflineSaleCompleted: {
    refs: costsOf,
    apply(rows, event) {
      const doc = saleObject(event, atTheCounter(event.data), timezoneOf(rows))
      addSale(rows, event, doc, event.data.receivable_ids)
    },
  },
  OfflineSaleCancelled: {
    refs: costsOf,
    apply(rows, event) {
      const doc = saleObject(event, atTheCounter(event.data), timezoneOf(rows))
      // Nobody knows when the till cancelled it: for the service it has never been anything else.
      addSale(rows, event, { ...doc, status: 'cancelled', cancelled_at: doc.created_at }, [])
    },
  },
  SaleCancelled: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const cancelled_at = inZone(event.recorded_at, timezoneOf(rows))
      changeSale(rows, event, { status: 'cancelled', cancelled_at, cancel_reason: event.data.reason })
    },
  },
  FiscalDocumentAuthorized: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const { number } = event.data
      const issued_at = inZone(event.data.issued_at, timezoneOf(rows))
      const fiscal_document = {
        ...ONLY_NUMBER,
        number,
        authorized_at: issued_at,
        status: 'authorized',
        issued_at,
      } as const
      changeSale(rows, event, { fiscal_document }, { documented_at: event.data.issued_at })
    },
  },
  FiscalDocumentRecorded: {
    refs: (event) => [saleById(event.data.id)],
    apply(rows, event) {
      const { id: _, ...document } = event.data
      const zone = timezoneOf(rows)
      const documented_at = document.authorized_at ?? event.recorded_at
      const authorized_at = document.authorized_at && inZone(document.authorized_at, zone)
      const issued_at = inZone(documented_at, zone)
      changeSale(rows, event, { fiscal_document: { ...document, authorized_at, issued_at } }, { documented_at })
    },
  },
  PersonForgotten: erasing('customer', eraseFromSales),
})

export const saleView = docView(saleById)

export type OfflineSaleWarning = DataOf<'OfflineSaleCompleted'>['warnings'][number]

/** An uploaded sale by the till's own identifier, where a repeated upload finds it. */
export interface OfflineSaleRow {
  company_id: number
  offline_id: string
  sale_id: number
  fingerprint: string
  /** Who uploaded it, as `user/3`, and when it was recorded. */
  actor: string | null
  recorded_at: string
  revision: number
  warnings: readonly OfflineSaleWarning[]
  /** As the sale has them: what its cancellation touches is loaded at once. */
  stock_moves: SaleRow['stock_moves']
  receivable_ids: readonly number[]
}

/** SQL of what an index of its own finds: sales that somebody should look at, which are few. */
export const HAS_WARNINGS = 'json_array_length(warnings) > 0'

const offlineSales = table<OfflineSaleRow>('offline_sales', {
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    sale_id: 'bigint',
    fingerprint: 'text',
    actor: 'text',
    recorded_at: 'timestamptz',
    revision: 'bigint',
    warnings: 'json',
    stock_moves: 'json',
    receivable_ids: 'json',
  },
  keys: { pk: ['company_id', 'offline_id'] },
  indexes: ['(company_id, sale_id)', `(company_id, sale_id) where ${HAS_WARNINGS}`],
  past: { id: 'sale_id', isFixed: true },
})

export const offlineSaleById = (offlineId: string) => byPk(offlineSales, offlineId)

type Uploaded = EventOf<'OfflineSaleCompleted'> | EventOf<'OfflineSaleCancelled'>

function remember(
  rows: Changes,
  { actor, recorded_at, revision, data }: Uploaded,
  receivable_ids: readonly number[],
): void {
  const { id: sale_id, offline_id, fingerprint, warnings, items } = data
  const { company_id } = companyOf(rows)
  const known = { company_id, offline_id, sale_id, fingerprint, actor, recorded_at, revision, warnings }
  rows.add(offlineSales, { ...known, stock_moves: stockMoves(items), receivable_ids })
}

export const offlineSalesProjection = projection('offline_sales', [offlineSales], {
  OfflineSaleCompleted: { apply: (rows, event) => remember(rows, event, event.data.receivable_ids) },
  OfflineSaleCancelled: { apply: (rows, event) => remember(rows, event, []) },
})
