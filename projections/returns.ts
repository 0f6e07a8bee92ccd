import { inZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { toThousandths } from '#domain/quantity.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type Channel, channelOf } from '#ledger/envelope.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companies, companyRef, timezoneOf } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define.ts'
import { type FiscalDocument, fiscalDocumentObject } from './sales.ts'

type Returned = DataOf<'SaleReturned'>

export type OfflineReturnWarning = NonNullable<Returned['warnings']>[number]

/** Return of goods of a sale as the API shows it (RETURN-1). */
export type ReturnObject = Omit<
  Returned,
  'fingerprint' | 'credit' | 'offline_id' | 'warnings' | 'test' | 'approved_by' | 'sale_offline_id'
> & {
  /** Identifier from the till; null if no till uploaded it. */
  offline_id: string | null
  /** Customer who got store credit; null if there was none. */
  credit_customer_id: number | null
  origin: Channel
  warnings: readonly OfflineReturnWarning[]
  fiscal_document: FiscalDocument | null
  created_at: string
  updated_at: string
}

export interface ReturnRow extends ChangedFields {
  company_id: number
  id: number
  sale_id: number
  external_id: string | null
  /** Of an upload; null otherwise. */
  offline_id: string | null
  returned_at: string
  total_cents: number
  cash_session_id: string | null
  /** Actor who recorded it, as `user/3`. */
  actor: string | null
  doc: ReturnObject
}

const returns = table<ReturnRow>('returns', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    sale_id: 'bigint',
    external_id: 'text',
    offline_id: 'text',
    returned_at: 'timestamptz',
    total_cents: 'bigint',
    cash_session_id: 'text',
    actor: 'text',
    ...changedColumns,
    doc: 'json',
  },
  keys: {
    pk: ['company_id', 'id'],
    external: ['company_id', 'external_id'],
    offline: ['company_id', 'offline_id'],
  },
  indexes: [
    INDEX_BY_CHANGE,
    INDEX_BY_PAST,
    '(company_id, sale_id, id)',
    '(company_id, returned_at, id)',
    '(company_id, cash_session_id, id) where cash_session_id is not null',
  ],
  past: { id: 'id' },
})

export const returnById = (id: number) => byPk(returns, id)
export const returnByExternalId = (externalId: string) => byKey(returns, 'external', externalId)

/** Part of a return in one way of paying, and in one line. */
interface ReturnedWay {
  readonly payment_type_id: number
  readonly cents: number
}
interface ReturnedItem {
  readonly catalog_item_id: number | null
  readonly thousandths: number
  readonly cents: number
  /** Whether the goods went back to the shelf. */
  readonly restock: boolean
}

/**
 * Money of a sale that went back to its buyer. A refund of an order is void once its sale is cancelled, because then all
 * of it went back.
 */
interface SaleReturnRow {
  company_id: number
  /** The event that recorded it. */
  revision: number
  sale_id: number
  /** Of a refund of an order; null for goods that came back. */
  order_id: number | null
  provider_payment_id: string | null
  /** Of goods that came back; null for a refund of an order. */
  return_id: number | null
  /** Negative where it takes back an earlier refund, see SaleRefunded. */
  cents: number
  returned_at: string
  /** Till that gave it back, as `user/3`; null elsewhere. */
  till: string | null
  /** How it was given back; null for a refund of an order: the largest payment of the sale. */
  ways: readonly ReturnedWay[] | null
  /** Null for a refund of an order, which is of the whole sale. */
  items: readonly ReturnedItem[] | null
}

const saleReturns = table<SaleReturnRow>('sale_returns', {
  columns: {
    company_id: 'bigint',
    revision: 'bigint',
    sale_id: 'bigint',
    order_id: 'bigint',
    provider_payment_id: 'text',
    return_id: 'bigint',
    cents: 'bigint',
    returned_at: 'timestamptz',
    till: 'text',
    ways: 'json',
    items: 'json',
  },
  keys: { pk: ['company_id', 'revision'] },
  indexes: ['(company_id, returned_at)', '(company_id, sale_id)'],
  past: { id: 'revision', isFixed: true },
})

/** Refunds by payment type, in the order of their first mention. */
function waysOfReturn({ refunds }: Returned): ReturnedWay[] {
  const ways = new Map<number, number>()
  for (const { payment_type_id, amount } of refunds)
    ways.set(payment_type_id, (ways.get(payment_type_id) ?? 0) + toCents(amount))
  return [...ways].map(([payment_type_id, cents]) => ({ payment_type_id, cents }))
}

function returnObject({ data, origin, recorded_at }: EventOf<'SaleReturned'>, zone: string): ReturnObject {
  const at = inZone(recorded_at, zone)
  return {
    id: data.id,
    sale_id: data.sale_id,
    external_id: data.external_id,
    offline_id: data.offline_id ?? null,
    origin: channelOf(origin),
    returned_at: inZone(data.returned_at, zone),
    reason: data.reason,
    items: data.items,
    delivery_fee: data.delivery_fee,
    total: data.total,
    refunds: data.refunds,
    credit_customer_id: data.credit?.customer_id ?? null,
    stock: data.stock,
    cash_session_id: data.cash_session_id,
    warnings: data.warnings ?? [],
    fiscal_document: null,
    created_at: at,
    updated_at: at,
  }
}

function addReturn(rows: Changes, event: EventOf<'SaleReturned'>): void {
  const { data, revision, actor } = event
  const { id, sale_id, external_id, returned_at, cash_session_id, offline_id = null } = data
  const { company_id } = companyRef(rows)
  const cents = toCents(data.total)
  rows.add(returns, {
    ...{ company_id, id, sale_id, external_id, offline_id, returned_at, cash_session_id, actor },
    total_cents: cents,
    ...stamp(event),
    doc: returnObject(event, timezoneOf(rows)),
  })
  rows.add(saleReturns, {
    ...{ company_id, revision, sale_id, cents, returned_at },
    order_id: null,
    provider_payment_id: null,
    return_id: id,
    till: offline_id === null ? null : actor,
    ways: waysOfReturn(data),
    items: data.items.map(({ catalog_item_id, quantity, amount, restock }) => ({
      catalog_item_id,
      restock,
      thousandths: toThousandths(quantity),
      cents: toCents(amount),
    })),
  })
}

/** Uploaded return by the till's identifier, for detecting repeated uploads. */
export interface OfflineReturnRow {
  company_id: number
  offline_id: string
  return_id: number
  fingerprint: string
  /** Whether its sale has not come yet. */
  is_awaited: boolean
  warnings: readonly OfflineReturnWarning[]
}

const offlineReturns = table<OfflineReturnRow>('offline_returns', {
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    return_id: 'bigint',
    fingerprint: 'text',
    is_awaited: 'boolean',
    warnings: 'json',
  },
  keys: { pk: ['company_id', 'offline_id'] },
})

export const offlineReturnById = (offlineId: string) => byPk(offlineReturns, offlineId)

/** Uploaded returns of a sale that has not come yet, by the sale's identifier. */
interface AwaitedReturnsRow {
  company_id: number
  sale_offline_id: string
  /** In the order of their uploads; empty once the sale has come. */
  returns: readonly DataOf<'ReturnAwaited'>[]
}

const awaitedReturns = table<AwaitedReturnsRow>('awaited_returns', {
  columns: { company_id: 'bigint', sale_offline_id: 'text', returns: 'json' },
  keys: { pk: ['company_id', 'sale_offline_id'] },
})

export const awaitedReturnsOf = (saleOfflineId: string) => byPk(awaitedReturns, saleOfflineId)

function addAwaited(rows: Changes, data: DataOf<'ReturnAwaited'>): void {
  const company = companyRef(rows)
  const { company_id } = company
  const { id: return_id, offline_id, fingerprint, sale_offline_id } = data
  const before = rows.get(awaitedReturnsOf(sale_offline_id))?.returns ?? []
  rows.add(offlineReturns, { company_id, offline_id, return_id, fingerprint, is_awaited: true, warnings: [] })
  rows.put(awaitedReturns, { company_id, sale_offline_id, returns: [...before, data] })
  rows.put(companies, { ...company, awaited_returns: company.awaited_returns + 1 })
}

/** Notes the upload of a return, which may have waited for its sale. */
function noteUpload(rows: Changes, data: Returned): void {
  const { id: return_id, offline_id, fingerprint, sale_offline_id, warnings = [] } = data
  if (offline_id === undefined || fingerprint === undefined) return
  const company = companyRef(rows)
  const { company_id } = company
  const known = rows.get(offlineReturnById(offline_id))
  rows.put(offlineReturns, { company_id, offline_id, return_id, fingerprint, is_awaited: false, warnings })
  if (!known?.is_awaited || sale_offline_id === undefined) return
  const left = existing(rows, awaitedReturnsOf(sale_offline_id)).returns.filter(({ id }) => id !== return_id)
  rows.put(awaitedReturns, { company_id, sale_offline_id, returns: left })
  rows.put(companies, { ...company, awaited_returns: company.awaited_returns - 1 })
}

export const offlineReturnsProjection = projection('offline_returns', [offlineReturns, awaitedReturns], {
  ReturnAwaited: {
    refs: ({ data }) => [offlineReturnById(data.offline_id), awaitedReturnsOf(data.sale_offline_id)],
    apply: (rows, { data }) => addAwaited(rows, data),
  },
  SaleReturned: {
    refs: ({ data: { offline_id, sale_offline_id } }) => [
      ...(offline_id === undefined ? [] : [offlineReturnById(offline_id)]),
      ...(sale_offline_id === undefined ? [] : [awaitedReturnsOf(sale_offline_id)]),
    ],
    apply: (rows, { data }) => noteUpload(rows, data),
  },
})

export const returnsProjection = projection('returns', [returns, saleReturns], {
  SaleReturned: { apply: addReturn },
  ReturnDocumentRecorded: {
    refs: (event) => [returnById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, returnById(event.data.id))
      const zone = timezoneOf(rows)
      const fiscal_document = fiscalDocumentObject(event, zone)
      const doc = { ...before.doc, fiscal_document, updated_at: inZone(event.recorded_at, zone) }
      rows.put(returns, { ...before, ...stamp(event), doc })
    },
  },
  SaleRefunded: {
    apply(rows, { data, revision, recorded_at: returned_at }) {
      const { id: sale_id, order_id, provider_payment_id, amount } = data
      rows.add(saleReturns, {
        company_id: companyRef(rows).company_id,
        ...{ revision, sale_id, order_id, provider_payment_id, returned_at },
        return_id: null,
        cents: toCents(amount),
        till: null,
        ways: null,
        items: null,
      })
    },
  },
})
