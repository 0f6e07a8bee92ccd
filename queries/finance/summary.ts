import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import type { Reader } from '../reader.ts'
import { type Reconciliation, reconcile, returnsIn, type SumsOfKind, sumReturns } from '../sales/reconciliation.ts'
import { moneySum, type Sum, sumColumn } from '../sums.ts'
import { t } from '../table-names.ts'
import { type SellerSales, salesBySeller } from './sales-by-seller.ts'

/** What is open by due date, overdue accounts among it, and payments by their day. */
export interface AccountSums {
  readonly pending: Sum
  readonly overdue: Sum
  /** What was received or paid, interest and fines included and without discounts; reversed payments do not count. */
  readonly settled: Sum
}

/** The finance summary (ACCT-11). */
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
  if (from > to) return invalid('from', `não pode ser depois de ${to}, o último dia do período`)
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
}

interface OpenAccounts {
  readonly receivables: OpenSide
  readonly payables: OpenSide
}

/** $1 company, $2 its day. */
const side = (table: keyof OpenAccounts): string => `(
  select json_build_object(
           'pending', ${sumColumn('open_cents', 'true')},
           'overdue', ${sumColumn('open_cents', 'due_date < $2::date')})
  from ${t[table]} where company_id = $1 and status = 'pending' and deleted_at is null) as ${table}`

const OPEN_ACCOUNTS = { name: 'panel_open_accounts', text: `select ${side('receivables')}, ${side('payables')}` }

export async function openAccounts(reader: Reader, { today }: Calendar): Promise<OpenAccounts> {
  const { rows } = await reader.query<OpenAccounts>({ ...OPEN_ACCOUNTS, values: [today] })
  return rows[0] as OpenAccounts
}
