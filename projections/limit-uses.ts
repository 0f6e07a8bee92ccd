import { dateInZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import type { LimitedPermission } from '#domain/rights.ts'
import type { EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef, timezoneOf } from './companies.ts'
import { projection } from './define-projection.ts'

/** Cents that a user gave on a day of the company, without what another user approved. */
interface DayUse extends Record<LimitedPermission, number> {
  readonly day: string
}

/** What users gave under permissions with a limit, in the panel and at tills (ROLE-780). */
interface LimitUseRow {
  company_id: number
  user_id: number
  /** The latest `MAX_DAYS`, in order. */
  days: readonly DayUse[]
}

const limitUses = table<LimitUseRow>('limit_uses', {
  about: 'What users gave under their limits by day, in cents.',
  columns: { company_id: 'bigint', user_id: 'bigint', days: 'json' },
  keys: { pk: ['company_id', 'user_id'] },
})

/** Tills upload sales of earlier days. */
const MAX_DAYS = 31

export const limitUsesOf = (userId: number) => byPk(limitUses, userId)

/** Cents that a user gave on a day; the row of `limitUsesOf` is loaded. */
export const usedOn = (rows: Rows, userId: number, permission: LimitedPermission, day: string): number =>
  rows.get(limitUsesOf(userId))?.days.find((each) => each.day === day)?.[permission] ?? 0

interface Act {
  readonly actor: string | null
  readonly recorded_at: string
  readonly origin: string
  readonly data: { readonly approved_by?: number | undefined; readonly returned_by?: number | undefined }
}

/** User who acts on the user's own permissions; null for others. */
function userOf({ actor, origin, data }: Act): number | null {
  // A till's return that waited is recorded with the upload of its sale.
  if (data.returned_by !== undefined && origin === 'pdv') return data.returned_by
  const id = data.approved_by === undefined ? /^user\/(\d{1,15})$/.exec(actor ?? '')?.[1] : undefined
  return id === undefined ? null : Number(id)
}

/** Discount of a sale and of its items, in cents. */
export const discountOfSale = ({
  items,
  discount,
}: Pick<EventOf<'OfflineSaleCompleted'>['data'], 'items' | 'discount'>): number =>
  items.reduce((sum, item) => sum + toCents(item.discount), toCents(discount))

/** Handler of events by which a user gives something. A day ahead of the recording counts as the recording's. */
const giving = <E extends Act>(permission: LimitedPermission, centsOf: (event: E) => number, timeOf = recordedAt) => ({
  refs(event: E) {
    const userId = userOf(event)
    return userId === null ? [] : [limitUsesOf(userId)]
  },
  apply(rows: Changes, event: E) {
    const [user_id, cents] = [userOf(event), centsOf(event)]
    if (user_id === null || cents === 0) return
    const zone = timezoneOf(rows)
    const [day = ''] = [dateInZone(timeOf(event), zone), dateInZone(event.recorded_at, zone)].sort()
    const before = rows.get(limitUsesOf(user_id))?.days ?? []
    const known = before.find((each) => each.day === day) ?? { day, return_goods: 0, give_discount: 0 }
    const days = [...before.filter((each) => each !== known), { ...known, [permission]: known[permission] + cents }]
    days.sort((one, other) => (one.day < other.day ? -1 : 1))
    rows.put(limitUses, { company_id: companyRef(rows).company_id, user_id, days: days.slice(-MAX_DAYS) })
  },
})

const recordedAt = ({ recorded_at }: Act): string => recorded_at

type Forgiving = EventOf<'ReceivableUpdated'> | EventOf<'ReceivableDeleted'> | EventOf<'ReceivablePaymentReceived'>

const forgiving = giving<Forgiving>('give_discount', ({ data }) => toCents(data.discount ?? '0.00'))

export const limitUsesProjection = projection('limit_uses', [limitUses], {
  SaleReturned: giving<EventOf<'SaleReturned'>>('return_goods', ({ data }) => toCents(data.total)),
  OfflineSaleCompleted: giving<EventOf<'OfflineSaleCompleted'> & Act>(
    'give_discount',
    ({ data }) => discountOfSale(data),
    (event) => ('sold_at' in event.data ? String(event.data.sold_at) : event.recorded_at),
  ),
  ReceivableUpdated: forgiving,
  ReceivableDeleted: forgiving,
  ReceivablePaymentReceived: forgiving,
})
