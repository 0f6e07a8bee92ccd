import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { isRefusal } from '#ledger/command.ts'
import { type AcquiredSums, type Summary, sumAcquired, summarize } from './finance-summary.ts'
import { moneySum, type Sum, sumColumn } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type Reconciliation,
  reconcile,
  returnsIn,
  type SumsOfKind,
  salesSums,
  type WayReconciliation,
} from './sales-sums.ts'
import { t } from './table-names.ts'

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
  readonly items_without_cost: number
}

/** Stock at present, at the items' costs. */
export interface StockValue {
  readonly items: number
  readonly value: string
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
  readonly stock: StockValue
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
const REST = `
  select
    (select ${sumColumn("round(s.stock * (i.doc ->> 'cost')::numeric * 100)", "s.stock > 0 and i.doc ->> 'cost' is not null")}
     from ${t.item_stocks} s join ${t.catalog_items} i on i.company_id = s.company_id and i.id = s.id
     where s.company_id = $1 and i.deleted_at is null) as stock,
    json_build_object(
      'items_without_cost', (select count(*) from ${t.item_stocks} s
        join ${t.catalog_items} i on i.company_id = s.company_id and i.id = s.id
        where s.company_id = $1 and i.deleted_at is null and s.stock > 0 and i.doc ->> 'cost' is null),
      'uncounted_drawers', (select count(*) from ${t.cash_sessions} c where c.company_id = $1 and c.difference_cents is null
        and coalesce(c.opened_at, c.closed_at) >= $2::timestamptz and coalesce(c.opened_at, c.closed_at) < $3::timestamptz),
      'refused_sales', (select count(*) from ${t.refused_sales} f where f.company_id = $1 and f.resolved_at is null
        and f.sold_at >= $2::timestamptz and f.sold_at < $3::timestamptz)) as questions`

interface RestRow {
  readonly stock: Sum
  readonly questions: Omit<OpenQuestions, 'without_document'>
}

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
  const rest = await reader.query<RestRow>({ name: 'month_rest', text: REST, values: [start, end] })
  const { stock, questions } = rest.rows[0] as RestRow
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
    stock: { items: stock.count, value: stock.amount },
    questions: { ...questions, without_document: without.reduce((sum, { count }) => sum + count, 0) },
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
