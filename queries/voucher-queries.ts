import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type CreditMovementObject, creditMovementObject } from '#projections/store-credit.ts'
import type { FilterValues } from '#records/field.ts'
import type { VOUCHER_FILTERS, VoucherState } from '#records/list-filters.ts'
import { type ListOrder, type Sum, sumStatement } from './list-statement.ts'
import type { Reader } from './reader.ts'
import { type Listing, listInOrder, matchingRecords, type Page, type Paging } from './record-queries.ts'
import { t } from './table-names.ts'

type VoucherFilters = FilterValues<typeof VOUCHER_FILTERS>

interface Conditions extends Omit<VoucherFilters, 'given_from' | 'given_to'> {
  readonly given_since?: string | undefined
  readonly given_before?: string | undefined
}

/** A voucher as pages and files show it. */
export interface VoucherObject {
  readonly voucher: string
  readonly state: VoucherState
  readonly value: string
  /** Negative after sales of tills that took more than there was. */
  readonly left: string
  /** All null of a code that only sales have named. */
  readonly return_id: number | null
  /** As Postgres prints it. */
  readonly issued_at: string | null
  readonly valid_until: string | null
}

/** SQL of the state of the voucher `t` on a day. */
const stateSql = (today: string): string => `case
    when t.balance < 0 then 'exceeded'
    when t.balance = 0 then case when t.value = 0 then 'undone' else 'used' end
    when t.valid_until < ${today} then 'expired'
    else 'open' end`

const recordSql = (today: string): string => `json_build_object('voucher', t.voucher, 'state', ${stateSql(today)},
    'value', t.value::text, 'left', t.balance::text, 'return_id', t.return_id, 'issued_at', t.issued_at,
    'valid_until', t.valid_until)`

const voucherListing: Listing<Conditions> = {
  resource: 'vouchers',
  from: `${t.vouchers} t`,
  record: recordSql,
  filters: {
    state: (value, today) => `(${stateSql(today)}) = ${value}::text`,
    q: (value) => `position(upper(${value}::text) in upper(t.voucher)) > 0`,
    given_since: (value) => `t.issued_at >= ${value}::timestamptz`,
    given_before: (value) => `t.issued_at < ${value}::timestamptz`,
  },
}

const LAST_MOVED_FIRST: ListOrder = {
  name: 'last_moved',
  columns: [
    { name: 'changed_at', type: 'timestamptz' },
    { name: 'voucher', type: 'text' },
  ],
  descending: true,
}

interface Calendar {
  readonly timezone: string
  /** The company's day. */
  readonly today: string
}

const toConditions = ({ given_from, given_to, ...others }: VoucherFilters, timezone: string): Conditions => ({
  ...others,
  given_since: given_from && startOfDay(given_from, timezone),
  given_before: given_to && startOfDay(addDays(given_to, 1), timezone),
})

/** The last moved first. */
export const listVouchers = (
  reader: Reader,
  { limit, cursor, ...filters }: Paging & VoucherFilters,
  { timezone, today }: Calendar,
): Promise<Page | Refusal> =>
  listInOrder(
    reader,
    voucherListing,
    LAST_MOVED_FIRST,
    { limit, ...(cursor && { cursor }), ...toConditions(filters, timezone) },
    today,
  )

/** Bound of vouchers in a sum; a count of one more means that there are more. */
export const MAX_SUMMED_VOUCHERS = 10_000

/** What is left of those that match, the last moved first. */
export async function sumVouchers(
  reader: Reader,
  filters: VoucherFilters,
  { timezone, today }: Calendar,
): Promise<Sum> {
  const { condition, values } = matchingRecords(voucherListing, toConditions(filters, timezone), 4)
  const text = `select count(*)::integer as count, coalesce(sum(balance), 0.00)::text as amount
    from (select t.balance from ${voucherListing.from} where ${condition} and $3::date is not null
      order by t.changed_at desc limit $2::bigint + 1) found`
  const statement = sumStatement('sum_vouchers', text, values.length)
  const { rows } = await reader.query<Sum>({ ...statement, values: [MAX_SUMMED_VOUCHERS, today, ...values] })
  return rows[0] as Sum
}

/** Balance and last day of a voucher; null if no return and no sale has named it. */
export async function findVoucher(
  reader: Reader,
  voucher: string,
): Promise<Pick<VoucherObject, 'left' | 'valid_until'> | null> {
  const { rows } = await reader.query<Pick<VoucherObject, 'left' | 'valid_until'>>({
    name: 'find_voucher',
    text: `select t.balance::text as left, t.valid_until from ${t.vouchers} t where t.company_id = $1 and t.voucher = $2`,
    values: [voucher],
  })
  return rows[0] ?? null
}

/** A voucher with its latest movements, newest first. */
export interface ShownVoucher extends VoucherObject {
  readonly movements: readonly CreditMovementObject[]
}

const MAX_MOVEMENTS = 200

/** By its whole code; null if there is none. */
export async function getVoucher(
  reader: Reader,
  voucher: string,
  { timezone, today }: Calendar,
): Promise<ShownVoucher | null> {
  const { rows } = await reader.query<{
    readonly record: VoucherObject
    readonly movements: readonly Parameters<typeof creditMovementObject>[0][]
  }>({
    name: 'get_voucher',
    text: `select ${recordSql('$3::date')} as record, (select coalesce(json_agg(m order by m.revision desc), '[]') from (
        select v.revision, v.kind, v.amount::text, v.balance::text, v.document, v.occurred_at, null as customer_id
        from ${t.voucher_movements} v where v.company_id = $1 and v.voucher = $2
        order by v.revision desc limit ${MAX_MOVEMENTS}) m) as movements
      from ${t.vouchers} t where t.company_id = $1 and t.voucher = $2`,
    values: [voucher, today],
  })
  const [found] = rows
  if (!found) return null
  return { ...found.record, movements: found.movements.map((each) => creditMovementObject(each, timezone)) }
}
