import { inZone } from '#domain/instant.ts'
import { toCents, toThousandths } from '#domain/money.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { type Channel, toChannel } from '#ledger/command.ts'
import { type AnyRef, byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { parseUserActor } from './cash-sessions.ts'
import { companies, companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'
import { type FiscalDocument, fiscalDocumentObject } from './sales.ts'

type Returned = DataOf<'SaleReturned'>

export type OfflineReturnWarning = NonNullable<Returned['warnings']>[number]

/** Return of goods of a sale as the API shows it (RETURN-1). */
export type ReturnObject = Omit<
  Returned,
  'fingerprint' | 'credit' | 'offline_id' | 'warnings' | 'test' | 'approved_by' | 'sale_offline_id' | 'returned_by'
> & {
  /** Identifier from the till; null if no till uploaded it. */
  offline_id: string | null
  /** Customer who got store credit; null if there was none. */
  credit_customer_id: number | null
  origin: Channel
  warnings: readonly OfflineReturnWarning[]
  fiscal_document: FiscalDocument | null
  /** Null while it stands. */
  reversed_at: string | null
  reversal_reason: string | null
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
  /** Actor who took the goods back, as `user/3`. */
  actor: string | null
  /** Whether it was reversed, and its drawer has its money again. */
  is_in_drawer: boolean
  /** Of the event that recorded it: payments that lower accounts follow it. */
  recorded_revision: number
  doc: ReturnObject
}

const returns = table<ReturnRow>('returns', {
  about: 'Returns of goods, reversed ones included; amounts in cents.',
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
    is_in_drawer: 'boolean',
    recorded_revision: 'bigint',
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
 * Money of a sale that went back to its buyer, and goods that came back. Rows of an order are void once its sale is
 * cancelled, because then all of it went back.
 */
interface SaleReturnRow {
  company_id: number
  /** The event that recorded it. */
  revision: number
  sale_id: number
  /** Of an order: its refunds and its goods have rows of their own, without goods and without money; null for a return. */
  order_id: number | null
  provider_payment_id: string | null
  /** Null for an order. */
  return_id: number | null
  /** Negative where it takes back an earlier refund, see SaleRefunded, or a return. */
  cents: number
  is_reversal: boolean
  returned_at: string
  /** Till that gave it back, as `user/3`; null elsewhere. */
  till: string | null
  /** How it was given back; null for an order: the largest payment of the sale. */
  refunds: readonly ReturnedWay[] | null
  /** Null for a refund of an order, which is of the whole sale. */
  items: readonly ReturnedItem[] | null
}

const saleReturns = table<SaleReturnRow>('sale_returns', {
  about: 'What came back of each sale: quantities and cents by line.',
  columns: {
    company_id: 'bigint',
    revision: 'bigint',
    sale_id: 'bigint',
    order_id: 'bigint',
    provider_payment_id: 'text',
    return_id: 'bigint',
    cents: 'bigint',
    is_reversal: 'boolean',
    returned_at: 'timestamptz',
    till: 'text',
    refunds: 'json',
    items: 'json',
  },
  keys: { pk: ['company_id', 'revision'] },
  indexes: ['(company_id, returned_at)', '(company_id, sale_id)'],
  past: { id: 'revision', isFixed: true },
})

/** Money and goods of a return as `sale_returns` has them; taken back with the sign -1. */
function partsOf({ refunds, items }: Pick<Returned, 'refunds' | 'items'>, sign: 1 | -1) {
  const ways = new Map<number, number>()
  for (const { payment_type_id, amount } of refunds)
    ways.set(payment_type_id, (ways.get(payment_type_id) ?? 0) + sign * toCents(amount))
  return {
    is_reversal: sign < 0,
    // By payment type, in the order of their first mention.
    refunds: [...ways].map(([payment_type_id, cents]) => ({ payment_type_id, cents })),
    items: items.map(({ catalog_item_id, quantity, amount, restock }) => ({
      catalog_item_id,
      restock,
      thousandths: sign * toThousandths(quantity),
      cents: sign * toCents(amount),
    })),
  }
}

function returnObject({ data, origin, recorded_at }: EventOf<'SaleReturned'>, zone: string): ReturnObject {
  const at = inZone(recorded_at, zone)
  return {
    id: data.id,
    sale_id: data.sale_id,
    external_id: data.external_id,
    offline_id: data.offline_id ?? null,
    origin: toChannel(origin),
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
    reversed_at: null,
    reversal_reason: null,
    created_at: at,
    updated_at: at,
  }
}

function addReturn(rows: Changes, event: EventOf<'SaleReturned'>): void {
  const { data, revision } = event
  const { id, sale_id, external_id, returned_at, cash_session_id, offline_id = null, returned_by } = data
  const { company_id } = companyRef(rows)
  const cents = toCents(data.total)
  const actor = returned_by === undefined ? event.actor : `user/${returned_by}`
  rows.add(returns, {
    ...{ company_id, id, sale_id, external_id, offline_id, returned_at, cash_session_id, actor },
    total_cents: cents,
    is_in_drawer: false,
    recorded_revision: revision,
    ...stamp(event),
    doc: returnObject(event, getTimezone(rows)),
  })
  rows.add(saleReturns, {
    ...{ company_id, revision, sale_id, cents, returned_at, ...partsOf(data, 1) },
    ...{ order_id: null, provider_payment_id: null, return_id: id },
    till: offline_id === null ? null : actor,
  })
}

/** Takes a return back, on the day of the reversal. */
function reverseReturn(rows: Changes, event: EventOf<'ReturnReversed'>): void {
  const { data, revision, recorded_at } = event
  const { id: return_id, sale_id, reason: reversal_reason, is_in_drawer } = data
  const before = existing(rows, returnById(return_id))
  const at = inZone(recorded_at, getTimezone(rows))
  const doc = { ...before.doc, reversed_at: at, reversal_reason, updated_at: at }
  if (rows.wants(returnById(return_id))) rows.put(returns, { ...before, is_in_drawer, ...stamp(event), doc })
  rows.add(saleReturns, {
    ...{ company_id: before.company_id, revision, sale_id, return_id, ...partsOf(before.doc, -1) },
    ...{ order_id: null, provider_payment_id: null, returned_at: recorded_at },
    cents: -before.total_cents,
    till: before.offline_id === null ? null : before.actor,
  })
}

type UploadedReturn = DataOf<'ReturnAwaited'>

/** `waiting`: for its sale; an old one counts as refused. `resolved`: by a person, without recording it. */
type UploadState = 'recorded' | 'waiting' | 'refused' | 'resolved'

/** Uploaded return by the till's identifier, for detecting repeated uploads, and until a person has decided. */
export interface OfflineReturnRow extends ChangedFields {
  company_id: number
  offline_id: string
  return_id: number
  fingerprint: string
  state: UploadState
  user_id: number | null
  uploaded_at: string
  refusal: DataOf<'ReturnRefused'>['code'] | null
  /** Its drawer gave the money back, whatever becomes of the return. */
  cash_session_id: string | null
  /** As it was uploaded; null if it was recorded at once. */
  payload: UploadedReturn | null
  warnings: readonly OfflineReturnWarning[]
  resolved_at: string | null
  resolved_by: string | null
  note: string | null
}

const offlineReturns = table<OfflineReturnRow>('offline_returns', {
  about: 'Uploaded returns by offline_id, with their fingerprint.',
  columns: {
    company_id: 'bigint',
    offline_id: 'text',
    return_id: 'bigint',
    fingerprint: 'text',
    state: 'text',
    user_id: 'bigint',
    uploaded_at: 'timestamptz',
    refusal: 'text',
    cash_session_id: 'text',
    payload: 'json',
    warnings: 'json',
    resolved_at: 'timestamptz',
    resolved_by: 'text',
    note: 'text',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'offline_id'], return: ['company_id', 'return_id'] },
  indexes: [
    `(company_id, cash_session_id) where cash_session_id is not null and state <> 'recorded'`,
    `(company_id, return_id) where state in ('waiting', 'refused')`,
    INDEX_BY_PAST,
  ],
  past: { id: 'return_id' },
})

export const offlineReturnById = (offlineId: string) => byPk(offlineReturns, offlineId)
export const offlineReturnByReturn = (id: number) => byKey(offlineReturns, 'return', id)

/** Uploaded returns of a sale that has not come yet, by the sale's identifier. */
interface AwaitedReturnsRow {
  company_id: number
  sale_offline_id: string
  /** In the order of their uploads; empty once the sale has come. */
  returns: readonly AwaitedReturn[]
}

export interface AwaitedReturn extends UploadedReturn {
  readonly uploaded_at: string
}

const awaitedReturns = table<AwaitedReturnsRow>('awaited_returns', {
  about: 'Uploaded returns that wait for their sale.',
  columns: { company_id: 'bigint', sale_offline_id: 'text', returns: 'json' },
  keys: { pk: ['company_id', 'sale_offline_id'] },
})

export const awaitedReturnsBySale = (saleOfflineId: string) => byPk(awaitedReturns, saleOfflineId)

/** Open uploads of a user of tills, which are bounded. */
interface UserReturnsRow {
  company_id: number
  user_id: number
  awaiting_sale: readonly { readonly id: number; readonly uploaded_at: string }[]
  /** Number of refused ones that no person has decided about. */
  refused_count: number
}

const userReturns = table<UserReturnsRow>('user_returns', {
  about: 'Waiting and refused uploads of returns of each user.',
  columns: { company_id: 'bigint', user_id: 'bigint', awaiting_sale: 'json', refused_count: 'bigint' },
  keys: { pk: ['company_id', 'user_id'] },
})

export const returnsOfUser = (userId: number) => byPk(userReturns, userId)

/** Days after which a return that waits for its sale counts as refused. */
export const WAITING_DAYS = 7

/** Whether a return has waited for too long, at a time (UTC). */
export const hasExpired = (uploadedAt: string, now: string): boolean =>
  Date.parse(now) - Date.parse(uploadedAt) > WAITING_DAYS * 86_400_000

type UploadEvent =
  | EventOf<'ReturnAwaited'>
  | EventOf<'ReturnRefused'>
  | EventOf<'RefusedReturnResolved'>
  | EventOf<'SaleReturned'>

interface Uploaded {
  readonly offline_id: string
  readonly user_id: number | null
  readonly sale_offline_id: string | null
}

const uploadRefs = ({ offline_id, user_id, sale_offline_id }: Uploaded): AnyRef[] => [
  offlineReturnById(offline_id),
  ...(user_id === null ? [] : [returnsOfUser(user_id)]),
  ...(sale_offline_id === null ? [] : [awaitedReturnsBySale(sale_offline_id)]),
]

/** Moves an upload from one state to another, in all that counts them. */
function moveUpload(
  rows: Changes,
  event: UploadEvent,
  of: Uploaded,
  after: Omit<OfflineReturnRow, keyof ChangedFields>,
): void {
  const { data } = event
  const before = rows.get(offlineReturnById(of.offline_id))?.state ?? null
  rows.put(offlineReturns, { ...after, ...stamp(event) })
  const company = companyRef(rows)
  const { company_id } = company
  const change = (state: UploadState) => Number(after.state === state) - Number(before === state)
  const { id } = data
  if (of.user_id !== null && (change('waiting') !== 0 || change('refused') !== 0)) {
    const known = rows.get(returnsOfUser(of.user_id)) ?? { awaiting_sale: [], refused_count: 0 }
    const others = known.awaiting_sale.filter((each) => each.id !== id)
    const awaiting_sale = after.state === 'waiting' ? [...others, { id, uploaded_at: after.uploaded_at }] : others
    const refused_count = known.refused_count + change('refused')
    rows.put(userReturns, { company_id, user_id: of.user_id, awaiting_sale, refused_count })
  }
  if (change('waiting') === 0 || of.sale_offline_id === null) return
  const { sale_offline_id } = of
  const others = (rows.get(awaitedReturnsBySale(sale_offline_id))?.returns ?? []).filter((each) => each.id !== id)
  const { payload, uploaded_at } = after
  const returns = after.state === 'waiting' && payload ? [...others, { ...payload, uploaded_at }] : others
  rows.put(awaitedReturns, { company_id, sale_offline_id, returns })
  rows.put(companies, { ...company, awaited_returns: company.awaited_returns + change('waiting') })
}

const OPEN = { warnings: [], resolved_at: null, resolved_by: null, note: null } as const

/** Keeps an upload that is not recorded yet; one that waited keeps the time at which it came. */
function keepUpload(
  rows: Changes,
  event: EventOf<'ReturnAwaited'> | EventOf<'ReturnRefused'>,
  refusal: OfflineReturnRow['refusal'],
): void {
  const { id: return_id, offline_id, fingerprint, user_id, cash_session_id } = event.data
  const known = rows.get(offlineReturnById(offline_id))
  moveUpload(rows, event, event.data, {
    company_id: companyRef(rows).company_id,
    ...{ offline_id, return_id, fingerprint, user_id, cash_session_id, refusal },
    state: refusal === null ? 'waiting' : 'refused',
    uploaded_at: known?.uploaded_at ?? event.recorded_at,
    payload: known?.payload ?? event.data,
    ...OPEN,
  })
}

export const offlineReturnsProjection = projection('offline_returns', [offlineReturns, awaitedReturns, userReturns], {
  ReturnAwaited: {
    refs: ({ data }) => uploadRefs(data),
    apply: (rows, event) => keepUpload(rows, event, null),
  },
  ReturnRefused: {
    refs: ({ data }) => uploadRefs(data),
    apply: (rows, event) => keepUpload(rows, event, event.data.code),
  },
  RefusedReturnResolved: {
    refs: ({ data }) => uploadRefs(data),
    apply(rows, event) {
      const { actor: resolved_by, recorded_at: resolved_at, data } = event
      const known = existing(rows, offlineReturnById(data.offline_id))
      moveUpload(rows, event, data, { ...known, state: 'resolved', resolved_at, resolved_by, note: data.note })
    },
  },
  SaleReturned: {
    refs: ({ data: { offline_id, returned_by = null, sale_offline_id = null } }) =>
      offline_id === undefined ? [] : uploadRefs({ offline_id, user_id: returned_by, sale_offline_id }),
    apply(rows, event) {
      const { id: return_id, offline_id, fingerprint, returned_by, warnings = [], sale_offline_id = null } = event.data
      if (offline_id === undefined || fingerprint === undefined) return
      const known = rows.get(offlineReturnById(offline_id))
      const user_id = returned_by ?? parseUserActor(event.actor)
      const isSettled = known !== null
      moveUpload(
        rows,
        event,
        { offline_id, user_id, sale_offline_id },
        {
          company_id: companyRef(rows).company_id,
          ...{ offline_id, return_id, fingerprint, user_id, warnings },
          state: 'recorded',
          uploaded_at: known?.uploaded_at ?? event.recorded_at,
          refusal: known?.refusal ?? null,
          cash_session_id: event.data.cash_session_id,
          payload: known?.payload ?? null,
          resolved_at: isSettled ? event.recorded_at : null,
          resolved_by: isSettled ? event.actor : null,
          note: null,
        },
      )
    },
  },
})

export const returnsProjection = projection('returns', [returns, saleReturns], {
  SaleReturned: { apply: addReturn },
  ReturnReversed: { refs: ({ data }) => [returnById(data.id)], apply: reverseReturn },
  ReturnDocumentRecorded: {
    refs: (event) => [returnById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, returnById(event.data.id))
      const zone = getTimezone(rows)
      const fiscal_document = fiscalDocumentObject(event, zone)
      const doc = { ...before.doc, fiscal_document, updated_at: inZone(event.recorded_at, zone) }
      rows.put(returns, { ...before, ...stamp(event), doc })
    },
  },
  SaleRestocked: {
    apply(rows, { data, revision, recorded_at: returned_at }) {
      const { id: sale_id, order_id } = data
      rows.add(saleReturns, {
        company_id: companyRef(rows).company_id,
        ...{ revision, sale_id, order_id, returned_at },
        provider_payment_id: null,
        return_id: null,
        // The refund counts the money.
        cents: 0,
        till: null,
        ...partsOf({ refunds: [], items: data.items }, 1),
        refunds: null,
      })
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
        is_reversal: false,
        till: null,
        refunds: null,
        items: null,
      })
    },
  },
})
