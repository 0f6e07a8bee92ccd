import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { PAYMENT_METHOD_NAMES, PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { moneySum, type Sum, sumColumn } from './list-statement.ts'
import type { Reader } from './reader.ts'
import { type Listing, listInOrder, ORDER_BY_ID, type Page, type Paging } from './record-queries.ts'
import {
  type Reconciliation,
  reconcile,
  returnsIn,
  type SumsOfKind,
  salesSums,
  sumReturns,
  type WayReconciliation,
} from './sales-sums.ts'
import { t } from './table-names.ts'

/** Completed sales of one seller. */
interface SellerSales {
  /** Users by their present name; null for sales without a seller. */
  readonly seller: { readonly user_id: number | null; readonly name: string | null } | null
  readonly count: number
  readonly gross: string
  /** Given back in the period of sales of any time. */
  readonly returned: string
  /** Negative if more was given back than sold. */
  readonly net: string
}

/** Names are free text: a period may have any number of them. */
const MAX_SELLERS = 1_000

/**
 * SQL of a JSON list of SellerSales, highest gross first, over the completed sales from one instant until before
 * another, with what was given back in that time. $1: company. Their sum is the gross of the sales, unless there are more sellers than the limit.
 */
const salesBySeller = (from: string, before: string): string => `(
  select coalesce(json_agg(json_build_object(
      'seller', case when each.seller_id is not null or each.seller_name is not null
        then json_build_object('user_id', each.seller_id, 'name', coalesce(u.doc ->> 'name', each.seller_name)) end,
      'count', each.sold, 'gross', ${moneySum('each.cents')}, 'returned', ${moneySum('each.returned')},
      'net', ${moneySum('each.cents - each.returned')}) order by each.cents desc, each.seller_id, each.seller_name), '[]')
  from (
    select seller_id, seller_name, sum(sold) as sold, sum(cents) as cents, sum(returned) as returned
    from (
      select seller_id, seller_name, count(*) as sold, sum(total_cents) as cents, 0 as returned
      from ${t.sales}
      where company_id = $1 and sold_at >= ${from}::timestamptz and sold_at < ${before}::timestamptz and status = 'completed'
      group by seller_id, seller_name
      union all
      select seller_id, seller_name, 0, 0, cents
      from (${returnsIn(`${from}::timestamptz`, `${before}::timestamptz`, ', t.seller_id, t.seller_name')}) r where way is null
    ) both_parts
    group by seller_id, seller_name order by cents desc, seller_id, seller_name limit ${MAX_SELLERS}
  ) each left join ${t.users} u on u.company_id = $1 and u.id = each.seller_id)`

/** What is open by due date, overdue accounts among it, and payments by their day. */
export interface AccountSums {
  readonly pending: Sum
  readonly overdue: Sum
  /** What was received or paid, interest and fines included and without discounts; reversed payments do not count. */
  readonly settled: Sum
}

/** The finance summary (PANEL-420). */
export interface Summary {
  readonly from: string
  readonly to: string
  readonly receivables: AccountSums
  readonly payables: AccountSums
  /** `count` and `gross` are by day of sale, without cancelled sales. */
  readonly sales: {
    readonly count: number
    readonly gross: string
    readonly by_seller: readonly SellerSales[]
  } & Reconciliation
  /** Received minus paid; may be negative. */
  readonly balance: string
}

/** Days of the company's calendar, both inclusive. */
export interface SummaryPeriod {
  readonly from?: string
  readonly to?: string
}

/** $1 company, $2 and $3 first and last day, $4 today. */
const accounts = (table: 'receivables' | 'payables', payments: 'receivable_payments' | 'payable_payments'): string => `
  select json_build_object('pending', o.pending, 'overdue', o.overdue,
           'settled', json_build_object('count', p.count, 'amount', ${moneySum('p.cents')})) as sums,
         p.cents as settled
  from (
    select ${sumColumn('open_cents', 'true')} as pending, ${sumColumn('open_cents', 'due_date < $4::date')} as overdue
    from ${t[table]}
    where company_id = $1 and status = 'pending' and due_date between $2::date and $3::date and deleted_at is null) o
  cross join (
    select coalesce(sum(case when reverses is null then 1 else -1 end), 0)::integer as count,
      coalesce(sum(received_cents), 0) as cents
    from ${t[payments]}
    where company_id = $1 and paid_on between $2::date and $3::date and kind = 'payment') p`

/** $5 and $6 start and end of the period. */
const SALES = `
  select status as kind, null::text as way, count(*) as count, sum(total_cents)::text as cents
  from ${t.sales}
  where company_id = $1 and sold_at >= $5::timestamptz and sold_at < $6::timestamptz group by status
  union all ${sumReturns(returnsIn('$5::timestamptz', '$6::timestamptz'))}`

const SUMMARY = {
  name: 'summarize',
  text: `with r as (${accounts('receivables', 'receivable_payments')}), p as (${accounts('payables', 'payable_payments')}), s as (${SALES})
    select l.revision, r.sums as receivables, p.sums as payables, (select coalesce(json_agg(s), '[]') from s) as sales,
      ${moneySum('r.settled - p.settled')} as balance,
      ${salesBySeller('$5', '$6')} as by_seller
    from ${t.ledgers} l cross join r cross join p
    where l.company_id = $1`,
}

type SummaryRow = Omit<Summary, 'from' | 'to' | 'sales'> & {
  revision: number
  sales: SumsOfKind[]
  by_seller: readonly SellerSales[]
}

/** Sums of a period in one snapshot. By default it ends today and starts with the month of its last day. */
export async function summarize(
  reader: Reader,
  period: SummaryPeriod,
  { timezone, today }: Calendar,
): Promise<{ summary: Summary; revision: number } | Refusal> {
  const { to = today } = period
  const { from = `${to.slice(0, 8)}01` } = period
  if (from > to) return refuseField('from', `não pode ser depois de ${to}, o último dia do período`)
  const [start, end] = [startOfDay(from, timezone), startOfDay(addDays(to, 1), timezone)]
  const values = [from, to, today, start, end]
  const readSet = { receivables: 'columns', payables: 'columns', sales: 'columns' } as const
  const { rows } = await reader.query<SummaryRow>({ ...SUMMARY, values, readSet })
  const [row] = rows
  if (!row) throw new Error(`company ${reader.companyId} has no ledger`)
  const { revision, receivables, payables, by_seller, balance } = row
  const { sold, cancelled, returned, net } = reconcile(row.sales.filter(({ way }) => way === null))
  const completed = reconcile(row.sales.filter(({ kind }) => kind === 'completed')).sold
  const sales = { count: completed.count, gross: completed.amount, sold, cancelled, returned, net, by_seller }
  return { revision, summary: { from, to, receivables, payables, sales, balance } }
}

export interface OpenSide {
  readonly pending: Sum
  /** Pending accounts due before today. */
  readonly overdue: Sum
  /** Due today or tomorrow. */
  readonly due_soon: Sum
}

interface OpenAccounts {
  readonly receivables: OpenSide
  readonly payables: OpenSide
}

/** $1 company, $2 its day. */
const side = (table: keyof OpenAccounts): string => `(
  select json_build_object(
           'pending', ${sumColumn('open_cents', 'true')},
           'overdue', ${sumColumn('open_cents', 'due_date < $2::date')},
           'due_soon', ${sumColumn('open_cents', 'due_date between $2::date and $2::date + 1')})
  from ${t[table]} where company_id = $1 and status = 'pending' and deleted_at is null) as ${table}`

const OPEN_ACCOUNTS = { name: 'panel_open_accounts', text: `select ${side('receivables')}, ${side('payables')}` }

export async function openAccounts(reader: Reader, { today }: Calendar): Promise<OpenAccounts> {
  const { rows } = await reader.query<OpenAccounts>({ ...OPEN_ACCOUNTS, values: [today] })
  return rows[0] as OpenAccounts
}

/** What acquirers keep of the money of a period, in cents (FIG-910). */
export interface AcquirerFees {
  /** Events with money through an acquirer. */
  readonly count: number
  readonly fee_cents: bigint
  /** The part of sales with known costs. */
  readonly known_fee_cents: bigint
}

/** UTC instants; the last is exclusive. */
interface Instants {
  readonly from: string
  readonly to: string
}

const FEES = {
  name: 'acquirer_fees',
  text: `select count(*) as count, coalesce(sum(fee_cents), 0)::text as fee_cents,
           coalesce(sum(known_fee_cents), 0)::text as known_fee_cents
         from ${t.acquirer_payments} where company_id = $1 and at >= $2::timestamptz and at < $3::timestamptz`,
}

export async function sumAcquirerFees(reader: Reader, { from, to }: Instants): Promise<AcquirerFees> {
  const { rows } = await reader.query<{ count: number; fee_cents: string; known_fee_cents: string }>({
    ...FEES,
    values: [from, to],
  })
  const { count = 0, fee_cents = '0', known_fee_cents = '0' } = rows[0] ?? {}
  return { count, fee_cents: BigInt(fee_cents), known_fee_cents: BigInt(known_fee_cents) }
}

/** Money of a payment type through its acquirer, in cents: `gross` less `fee` is what the acquirer pays. */
export interface AcquiredSums {
  readonly payment_type_id: number
  /** Of the payment type now. */
  readonly name: string
  readonly gross_cents: bigint
  readonly fee_cents: bigint
}

/** What acquirers pay on a day. */
export interface AcquirerPayments extends AcquiredSums {
  readonly day: string
  readonly count: number
}

const SUMS = `l.payment_type_id, max(t.doc ->> 'name') as name, sum(l.count)::bigint as count,
      sum(l.gross)::text as gross_cents, sum(l.fee)::text as fee_cents`

const LINES = `${t.acquirer_payments} p
    cross join lateral json_to_recordset(p.lines)
      as l(due_on date, payment_type_id bigint, count bigint, gross bigint, fee bigint)
    left join ${t.payment_types} t on t.company_id = p.company_id and t.id = l.payment_type_id`

const IS_SOME = 'sum(l.count) <> 0 or sum(l.gross) <> 0 or sum(l.fee) <> 0'

type InTexts<S> = Omit<S, 'gross_cents' | 'fee_cents'> & Record<'gross_cents' | 'fee_cents', string>

const inCents = <S extends AcquiredSums>(row: InTexts<S>) => ({
  ...row,
  gross_cents: BigInt(row.gross_cents),
  fee_cents: BigInt(row.fee_cents),
})

const CALENDAR = {
  name: 'acquirer_calendar',
  text: `
    select l.due_on::text as day, ${SUMS}
    from ${LINES}
    where p.company_id = $1 and p.last_due_on >= $2::date and l.due_on between $2::date and $3::date
    group by 1, 2 having ${IS_SOME} order by 1, 2`,
}

/** What acquirers pay on each day of a period, both days inclusive: at most a row for each day and payment type. */
export async function acquirerCalendar(
  reader: Reader,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<AcquirerPayments[]> {
  const { rows } = await reader.query<InTexts<AcquirerPayments>>({ ...CALENDAR, values: [from, to] })
  return rows.map(inCents)
}

const MOVED = {
  name: 'acquired_in_period',
  text: `
    select ${SUMS}
    from ${LINES}
    where p.company_id = $1 and p.at >= $2::timestamptz and p.at < $3::timestamptz
    group by 1 having ${IS_SOME} order by 1`,
}

/** Money of a period through acquirers by payment type, whenever they pay it. */
export async function sumAcquired(reader: Reader, { from, to }: Instants): Promise<AcquiredSums[]> {
  const { rows } = await reader.query<InTexts<AcquiredSums>>({ ...MOVED, values: [from, to] })
  return rows.map(inCents)
}

/** The same for every company, in a fixed order. */
const METHODS = PAYMENT_METHODS.map((code, position) => `(${position + 1}, '${code}', '${PAYMENT_METHOD_NAMES[code]}')`)

const paymentMethodListing: Listing<object> = {
  resource: 'payment_methods',
  from: `(select $1::bigint as company_id, m.* from (values ${METHODS.join(', ')}) m (id, code, name)) t`,
  record: `json_build_object('code', t.code, 'name', t.name)`,
  filters: {},
}

/** Payment methods of settlements, as a list page. */
export const listPaymentMethods = (reader: Reader, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, paymentMethodListing, ORDER_BY_ID, query)

/** Sales of a day, less what was cancelled of them and what came back on it. */
export interface ClosedDay extends Reconciliation {
  readonly day: string
}

/** Completed sales by their fiscal document; `missing`: those that lack one, null: those that need none. */
export interface DocumentSums extends Sum {
  readonly state: 'present' | 'missing' | null
  /** `65`; null without a document. */
  readonly model: string | null
}

/** What a person should look at before the books are closed. */
export interface OpenQuestions {
  readonly without_document: number
  readonly uncounted_drawers: number
  readonly refused_sales: number
}

/** Stock at the items' costs, as a reader finds both: at present, or at a moment. */
export interface StockValue {
  readonly items: number
  readonly value: string
  /** Items in stock without a cost, which the value lacks. */
  readonly without_cost: number
}

/** By the last movement of each item: past movements are read as they are, while stocks would be made again. */
const STOCK = `
  select count(*) filter (where i.doc ->> 'cost' is not null)::integer as items,
    ${moneySum("sum(round(m.balance * (i.doc ->> 'cost')::numeric * 100))")} as value,
    count(*) filter (where i.doc ->> 'cost' is null)::integer as without_cost
  from ${t.catalog_items} i
  cross join lateral (select s.balance from ${t.stock_movements} s
    where s.company_id = $1 and s.catalog_item_id = i.id order by s.id desc limit 1) m
  where i.company_id = $1 and i.deleted_at is null and m.balance > 0`

export async function valueStock(reader: Reader): Promise<StockValue> {
  const { rows } = await reader.query<StockValue>({ name: 'stock_value', text: STOCK })
  return rows[0] as StockValue
}

/** A month of a company for its accountant. */
export interface ClosedMonth {
  /** `2026-11` */
  readonly month: string
  /** First and last day. */
  readonly from: string
  readonly to: string
  /** Whether the month is not over. */
  readonly isRunning: boolean
  /** Days with sales or returns. */
  readonly days: readonly ClosedDay[]
  readonly ways: readonly WayReconciliation[]
  readonly summary: Summary
  readonly acquired: readonly AcquiredSums[]
  readonly documents: readonly DocumentSums[]
  readonly questions: OpenQuestions
}

/** First and last day of a month; null if the text is none, or it has not begun. */
export function daysOfMonth(month: string | undefined, today: string): { from: string; to: string } | null {
  if (!/^(19[0-9]{2}|20[0-9]{2})-(0[1-9]|1[0-2])$/.test(month ?? '') || `${month}-01` > today) return null
  const from = `${month}-01`
  return { from, to: addDays(`${addDays(from, 31).slice(0, 8)}01`, -1) }
}

/** $2 and $3 start and end of the month, $4 the company's time zone. */
const DAYS = `
  select (sold_at at time zone $4)::date::text as day, status as kind, null::text as way, count(*)::integer as count,
    sum(total_cents)::text as cents
  from ${t.sales} where company_id = $1 and sold_at >= $2::timestamptz and sold_at < $3::timestamptz group by 1, 2
  union all
  select (r.returned_at at time zone $4)::date::text, 'returned', null, coalesce(sum(r.count), 0)::integer, coalesce(sum(r.cents), 0)::text
  from (${returnsIn('$2::timestamptz', '$3::timestamptz', ', r.returned_at')}) r where r.way is null group by 1`

const DOCUMENTS = `
  select t.fiscal as state, case when t.fiscal = 'present' then t.doc #>> '{fiscal_document,model}' end as model,
    count(*)::integer as count, ${moneySum('sum(t.total_cents)')} as amount
  from ${t.sales} t
  where t.company_id = $1 and t.status = 'completed' and t.sold_at >= $2::timestamptz and t.sold_at < $3::timestamptz
  group by 1, 2 order by 1, 2`

/** The parameters of all; refused sales are those of the month that are not resolved. */
const QUESTIONS = `
  select
    (select count(*)::integer from ${t.cash_sessions} c where c.company_id = $1 and c.difference_cents is null
      and coalesce(c.opened_at, c.closed_at) >= $2::timestamptz and coalesce(c.opened_at, c.closed_at) < $3::timestamptz) as uncounted_drawers,
    (select count(*)::integer from ${t.refused_sales} f where f.company_id = $1 and f.resolved_at is null
      and f.sold_at >= $2::timestamptz and f.sold_at < $3::timestamptz) as refused_sales`

/** Figures of a month, each by the definition that it has elsewhere (FIG-1286). */
export async function loadMonth(reader: Reader, month: string, calendar: Calendar): Promise<ClosedMonth | null> {
  const { timezone, today } = calendar
  const days = daysOfMonth(month, today)
  if (!days) return null
  const { from, to } = days
  const [start, end] = [startOfDay(from, timezone), startOfDay(addDays(to, 1), timezone)]
  const before = startOfDay(addDays(from, -1), timezone)
  const found = await summarize(reader, days, calendar)
  if (isRefusal(found)) return null
  const byDay = await reader.query<SumsOfKind & { readonly day: string }>({
    ...{ name: 'month_days', text: DAYS, values: [start, end, timezone] },
  })
  const documents = await reader.query<DocumentSums>({ name: 'month_documents', text: DOCUMENTS, values: [start, end] })
  const open = await reader.query<Omit<OpenQuestions, 'without_document'>>({
    ...{ name: 'month_questions', text: QUESTIONS, values: [start, end] },
  })
  const sold = await salesSums(reader, {
    bounds: [start, end],
    before: { from: before, to: start, bounds: [before, start] },
  })
  const without = documents.rows.filter(({ state }) => state === 'missing')
  const named = [...new Set(byDay.rows.map(({ day }) => day))].sort()
  return {
    ...{ month, from, to, isRunning: to >= today },
    days: named.map((day) => ({ day, ...reconcile(byDay.rows.filter((row) => row.day === day)) })),
    ways: sold.ways,
    summary: found.summary,
    acquired: await sumAcquired(reader, { from: start, to: end }),
    documents: documents.rows,
    questions: {
      ...(open.rows[0] as Omit<OpenQuestions, 'without_document'>),
      without_document: without.reduce((sum, { count }) => sum + count, 0),
    },
  }
}

/** Money received for an account, or paid for one; negative if it reverses a payment. */
export interface AccountMoney {
  readonly account_id: number
  readonly description: string
  readonly paid_on: string
  readonly payment_method: string | null
  readonly amount: string
}

const PAID = { receivables: 'receivable_payments', payables: 'payable_payments' } as const

/** Payments of accounts in a page of a month; a file asks until there are none. */
export const PAYMENTS_OF_PAGE = 500

/** Payments of accounts from day to day, as `summarize` sums them, oldest first. */
export async function listAccountMoney(
  reader: Reader,
  side: keyof typeof PAID,
  { from, to, skip = 0 }: { readonly from: string; readonly to: string; readonly skip?: number },
): Promise<AccountMoney[]> {
  const { rows } = await reader.query<AccountMoney>({
    name: `account_money_${side}`,
    text: `select p.account_id, a.doc ->> 'description' as description, p.paid_on::text as paid_on, p.payment_method,
        ${moneySum('p.received_cents')} as amount
      from ${t[PAID[side]]} p join ${t[side]} a on a.company_id = p.company_id and a.id = p.account_id
      where p.company_id = $1 and p.paid_on between $2::date and $3::date and p.kind = 'payment'
      order by p.paid_on, p.revision offset $4::bigint limit ${PAYMENTS_OF_PAGE}`,
    values: [from, to, skip],
  })
  return rows
}
