import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { centsSql } from '#projections/cash-takings.ts'
import type { AccountObject } from '#projections/finance.ts'
import { type OfflineReturnRow, type ReturnObject, WAITING_DAYS } from '#projections/returns.ts'
import type { SaleRow } from '#projections/sales.ts'
import { type CreditMovementObject, creditMovementObject } from '#projections/store-credit.ts'
import type { FilterValues } from '#records/field.ts'
import type { RETURN_FILTERS } from '#records/list-filters.ts'
import { type ListOrder, moneySum, orderBy, type Sum, sumStatement } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  matchingRecords,
  type Page,
  type Paging,
} from './record-queries.ts'
import { LAST_SOLD_FIRST, saleListing } from './sale-queries.ts'
import { t } from './table-names.ts'

type ReturnFilters = FilterValues<typeof RETURN_FILTERS>
type Days = Pick<ReturnFilters, 'returned_from' | 'returned_to'>

interface Period {
  readonly returned_since?: string | undefined
  readonly returned_before?: string | undefined
}

const returnListing: Listing<Omit<ReturnFilters, keyof Days> & Period> = {
  resource: 'returns',
  from: `${t.returns} t`,
  record: 't.doc',
  filters: {
    sale_id: (value) => `t.sale_id = ${value}::bigint`,
    external_id: (value) => `t.external_id = ${value}::text`,
    offline_id: (value) => `t.offline_id = ${value}::text`,
    cash_session_id: (value) => `t.cash_session_id = ${value}::text`,
    returned_since: (value) => `t.returned_at >= ${value}::timestamptz`,
    returned_before: (value) => `t.returned_at < ${value}::timestamptz`,
  },
}

const periodOf = ({ returned_from, returned_to }: Days, timezone: string): Period => ({
  returned_since: returned_from && startOfDay(returned_from, timezone),
  returned_before: returned_to && startOfDay(addDays(returned_to, 1), timezone),
})

/** `timezone` is the company's; it decides where days begin. */
export const listReturns = (
  reader: Reader,
  { timezone, returned_from, returned_to, ...query }: ListPaging & ReturnFilters & { readonly timezone: string },
): Promise<Page | Refusal> =>
  list(reader, returnListing, { ...query, ...periodOf({ returned_from, returned_to }, timezone) })

/** Latest return first: tills may upload those of earlier hours. */
const LAST_RETURNED_FIRST: ListOrder = { ...orderBy('last_returned', 'returned_at', 'timestamptz'), descending: true }

/** For people, latest first. */
export const listLatestReturns = (
  reader: Reader,
  { timezone, returned_from, returned_to, ...query }: Paging & ReturnFilters & { readonly timezone: string },
): Promise<Page | Refusal> =>
  listInOrder(reader, returnListing, LAST_RETURNED_FIRST, {
    ...query,
    ...periodOf({ returned_from, returned_to }, timezone),
  })

export const getReturn = (reader: Reader, id: number): Promise<FoundRecords> => getBy(reader, returnListing, 'id', id)

/** Money that went back to a buyer: a return of goods, or a refund of an order that is a sale. */
export interface GivenBack {
  /** Null for a refund of an order. */
  readonly return: ReturnObject | null
  readonly order_id: number | null
  readonly sale_id: number
  /** Negative where it takes back an earlier refund, or a return. */
  readonly amount: string
  /** Whether it reverses the return. */
  readonly is_reversal: boolean
  /** As Postgres prints it. */
  readonly returned_at: string
}

/** Joins the sale: a cancelled sale of an order has no refunds, and goods of an order are no money (`returnsIn`). */
const givenBackListing: Listing<Period> = {
  resource: 'given_back',
  from: `${t.sale_returns} t
    join ${t.sales} s on s.company_id = t.company_id and s.id = t.sale_id
      and (t.order_id is null or (s.status = 'completed' and t.cents <> 0))
    left join ${t.returns} r on r.company_id = t.company_id and r.id = t.return_id`,
  record: `json_build_object('return', r.doc, 'order_id', t.order_id, 'sale_id', t.sale_id,
    'amount', ${moneySum('t.cents')}, 'is_reversal', t.is_reversal, 'returned_at', t.returned_at)`,
  filters: {
    returned_since: returnListing.filters.returned_since,
    returned_before: returnListing.filters.returned_before,
  },
}

const LAST_GIVEN_BACK_FIRST: ListOrder = {
  name: 'last_given_back',
  columns: [
    { name: 'returned_at', type: 'timestamptz', of: 't' },
    { name: 'revision', type: 'bigint', of: 't' },
  ],
  descending: true,
}

type GivenBackDays = Days & { readonly timezone: string }

/** All returns and refunds for people, latest first. */
export const listGivenBack = (
  reader: Reader,
  { timezone, returned_from, returned_to, ...query }: Paging & GivenBackDays,
): Promise<Page | Refusal> =>
  listInOrder(reader, givenBackListing, LAST_GIVEN_BACK_FIRST, {
    ...query,
    ...periodOf({ returned_from, returned_to }, timezone),
  })

/** Bound of returns in a sum, latest first; a count of one more means that there are more. */
export const MAX_SUMMED_RETURNS = 10_000

/** Their sum as sales are reconciled: a refund or return that was taken back counts as none. */
export async function sumGivenBack(
  reader: Reader,
  { timezone, ...days }: GivenBackDays,
): Promise<Sum & { readonly listed: number }> {
  const { condition, values } = matchingRecords(givenBackListing, periodOf(days, timezone), 3)
  const text = `select coalesce(sum(case when is_reversal then -1 when order_id is null then 1 else sign(cents) end), 0)::integer as count,
      ${moneySum('sum(cents)')} as amount, count(*) as listed
    from (select t.order_id, t.cents, t.is_reversal from ${givenBackListing.from} where ${condition}
      order by t.returned_at desc limit $2::bigint + 1) found`
  const statement = sumStatement('sum_given_back', text, values.length)
  const { rows } = await reader.query<Sum & { readonly listed: number }>({
    ...statement,
    values: [MAX_SUMMED_RETURNS, ...values],
  })
  return rows[0] as Sum & { readonly listed: number }
}

/** What a return of a sale reads of its row, and of its accounts that are not deleted. */
export type ReturnableRow = Pick<SaleRow, 'status' | 'received_cents' | 'returned' | 'stock_moves' | 'doc'> & {
  readonly accounts: readonly AccountObject<unknown>[]
}

export async function getReturnable(reader: Reader, saleId: number): Promise<ReturnableRow | null> {
  const { rows } = await reader.query<ReturnableRow>({
    name: 'returnable_sale',
    text: `select s.status, s.received_cents, s.returned, s.stock_moves, s.doc, coalesce((
        select json_agg(r.doc) from json_array_elements_text(s.receivable_ids) account(id)
        join ${t.receivables} r on r.company_id = s.company_id and r.id = account.id::bigint and r.deleted_at is null), '[]') as accounts
      from ${t.sales} s where s.company_id = $1 and s.id = $2`,
    values: [saleId],
  })
  return rows[0] ?? null
}

/** A return of a till that a person has to decide about. */
export type RefusedReturn = Pick<
  OfflineReturnRow,
  'return_id' | 'offline_id' | 'state' | 'refusal' | 'uploaded_at' | 'note' | 'resolved_at'
> & {
  readonly payload: NonNullable<OfflineReturnRow['payload']>
  /** Who uploaded it. */
  readonly user_name: string | null
  /** Whether a person has to decide yet. */
  readonly is_open: boolean
}

/** Condition of an upload `t`: it is refused, or its sale has not come in time. `now`: a parameter. */
export const openReturn = (now: string): string =>
  `t.state in ('waiting', 'refused') and (t.state = 'refused' or t.uploaded_at < ${now}::timestamptz - interval '${WAITING_DAYS} days')`

const OPEN = `(${openReturn('$2')})`

const COLUMNS = `t.return_id, t.offline_id, t.state, t.uploaded_at, t.payload, t.note, t.resolved_at,
  coalesce(t.refusal, 'expired') as refusal, ${OPEN} as is_open, u.doc ->> 'name' as user_name`

const FROM = `${t.offline_returns} t left join ${t.users} u on u.company_id = t.company_id and u.id = t.user_id`

/** Oldest first, up to `limit`. `now`: UTC */
export async function listRefusedReturns(
  reader: Reader,
  { now, limit }: { readonly now: string; readonly limit: number },
): Promise<RefusedReturn[]> {
  const { rows } = await reader.query<RefusedReturn>({
    name: 'refused_returns',
    text: `select ${COLUMNS} from ${FROM} where t.company_id = $1 and ${OPEN}
           order by t.return_id limit $3`,
    values: [now, limit],
  })
  return rows
}

/** Number of those that a person has to decide about. `now`: UTC */
export async function countOpenReturns(reader: Reader, now: string): Promise<number> {
  const { rows } = await reader.query<{ total: number }>({
    name: 'count_refused_returns',
    text: `select count(*)::integer as total from ${t.offline_returns} t where t.company_id = $1 and ${OPEN}`,
    values: [now],
  })
  return rows[0]?.total ?? 0
}

/** Also one that a person has decided about; null if no such return was ever refused. */
export async function getRefusedReturn(reader: Reader, id: number, now: string): Promise<RefusedReturn | null> {
  const { rows } = await reader.query<RefusedReturn>({
    name: 'refused_return',
    text: `select ${COLUMNS} from ${FROM}
           where t.company_id = $1 and t.return_id = $3 and t.payload is not null and (${OPEN} or t.resolved_at is not null)`,
    values: [now, id],
  })
  return rows[0] ?? null
}

/** Store credit of a customer: the balance and its latest movements, newest first. */
export interface CustomerCredit {
  readonly balance: string
  readonly movements: readonly CreditMovementObject[]
}

/** Movements per answer; the balance counts all. */
export const MAX_CREDIT_MOVEMENTS = 200

const CREDIT = `
  select l.revision, co.timezone,
    coalesce((select cr.balance from ${t.customer_credits} cr where cr.company_id = $1 and cr.id = $2), 0.00)::text as balance,
    (select coalesce(json_agg(m order by m.revision desc), '[]') from (
      select revision, customer_id, kind, amount::text, balance::text, document, occurred_at from ${t.credit_movements}
      where company_id = $1 and customer_id = $2 order by revision desc limit ${MAX_CREDIT_MOVEMENTS}) m) as movements
  from ${t.ledgers} l join ${t.companies} co on co.company_id = l.company_id
  where l.company_id = $1`

interface CreditRow {
  readonly revision: number
  readonly timezone: string
  readonly balance: string
  readonly movements: readonly Parameters<typeof creditMovementObject>[0][]
}

/** The caller checks that the customer exists. */
export async function getCustomerCredit(
  reader: Reader,
  customerId: number,
): Promise<{ credit: CustomerCredit; revision: number }> {
  const { rows } = await reader.query<CreditRow>({
    name: 'customer_credit',
    text: CREDIT,
    values: [customerId],
  })
  const [row] = rows
  if (!row) throw new Error(`company ${reader.companyId} is not registered`)
  const { revision, timezone, balance, movements } = row
  return { revision, credit: { balance, movements: movements.map((each) => creditMovementObject(each, timezone)) } }
}

/** Purchases of a customer without cancelled sales, less what was given back. */
export interface Purchases {
  readonly count: number
  readonly amount: string
  /** UTC; null where there is none. */
  readonly last_sold_at: string | null
}

/** Bound of sales in a sum; a count of one more means that there are more. */
export const MAX_PURCHASES = 50_000

const PURCHASES = `
  select count(*) as count, ${moneySum('sum(cents)')} as amount, max(sold_at) as last_sold_at
  from (
    select t.total_cents - ${centsSql("t.doc ->> 'returned_total'")} - ${centsSql("t.doc ->> 'refunded_total'")} as cents, t.sold_at
    from ${t.sales} t
    where t.company_id = $1 and t.customer_id = $2 and t.customer_id is not null and t.status = 'completed'
    limit $3::bigint + 1) bought`

export async function sumPurchases(reader: Reader, customerId: number): Promise<Purchases> {
  const values = [customerId, MAX_PURCHASES]
  const readSet = { sales: 'columns' } as const
  const { rows } = await reader.query<Purchases>({ name: 'sum_purchases', text: PURCHASES, values, readSet })
  return rows[0] as Purchases
}

/** No index: a customer's sales are few. */
const LAST_BOUGHT_FIRST: ListOrder = { ...LAST_SOLD_FIRST, name: 'last_bought', isSorted: true }

/** The sales of a customer, latest first. */
export const listPurchases = (
  reader: Reader,
  query: Paging & { readonly customer_id: number },
): Promise<Page | Refusal> => listInOrder(reader, saleListing, LAST_BOUGHT_FIRST, query)
