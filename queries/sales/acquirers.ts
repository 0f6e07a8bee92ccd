import type { QueryConfig } from 'pg'
import type { Queryable } from '#postgres/database.ts'
import { HAS_ACQUIRER } from '#projections/sales.ts'

/** What acquirers keep of the completed sales of a period, in cents. */
export interface AcquirerFees {
  /** Sales with a payment through an acquirer. */
  readonly count: number
  readonly fee_cents: bigint
  /** The part of sales with known costs. */
  readonly known_fee_cents: bigint
}

const FEES = {
  name: 'acquirer_fees',
  text: `select count(*) as count, coalesce(sum(acquirer_fee_cents), 0)::text as fee_cents,
           coalesce(sum(acquirer_fee_cents) filter (where cost_cents is not null), 0)::text as known_fee_cents
         from sales
         where company_id = $1 and sold_at >= $2::timestamptz and sold_at < $3::timestamptz
           and status = 'completed' and ${HAS_ACQUIRER}`,
}

/** `from` and `to` are UTC instants; the last is exclusive. */
export async function sumAcquirerFees(
  pool: Queryable,
  companyId: number,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<AcquirerFees> {
  const { rows } = await pool.query<{ count: number; fee_cents: string; known_fee_cents: string }>({
    ...FEES,
    values: [companyId, from, to],
  })
  const { count = 0, fee_cents = '0', known_fee_cents = '0' } = rows[0] ?? {}
  return { count, fee_cents: BigInt(fee_cents), known_fee_cents: BigInt(known_fee_cents) }
}

/** Payments of a type that acquirers settle on a day, in cents; `net` is `gross` less `fee`, payment by payment. */
export interface AcquirerPayments {
  readonly day: string
  readonly payment_type_id: number
  /** Of the payment type now. */
  readonly name: string
  readonly count: number
  readonly gross_cents: bigint
  readonly fee_cents: bigint
}

const cents = (text: string): string => `replace(${text}, '.', '')::bigint`

/** Payments of completed sales: `condition` selects the sales, `day` is what they are added up by. */
const payments = (day: string, condition: string): string => `
  select ${day}::text as day, p.payment_type_id, coalesce(max(t.doc ->> 'name'), max(p.name)) as name, count(*) as count,
    sum(${cents('p.surcharge')} + ${cents('p.net')})::text as gross_cents, sum(${cents('p.acquirer_fee')})::text as fee_cents
  from sales s
  cross join lateral json_to_recordset(s.doc -> 'payments')
    as p(payment_type_id bigint, name text, surcharge text, net text, acquirer_fee text, settles_on date)
  left join payment_types t on t.company_id = s.company_id and t.id = p.payment_type_id
  where s.company_id = $1 and s.status = 'completed' and p.acquirer_fee is not null and ${condition}
  group by 1, 2 order by 1, 2`

type PaymentsRow = Omit<AcquirerPayments, 'gross_cents' | 'fee_cents'> & Record<'gross_cents' | 'fee_cents', string>

async function readPayments(pool: Queryable, query: QueryConfig): Promise<AcquirerPayments[]> {
  const { rows } = await pool.query<PaymentsRow>(query)
  return rows.map((row) => ({ ...row, gross_cents: BigInt(row.gross_cents), fee_cents: BigInt(row.fee_cents) }))
}

const SETTLED = {
  name: 'acquirer_calendar',
  text: `
    select l.due_on::text as day, l.payment_type_id, max(t.doc ->> 'name') as name, sum(l.count)::bigint as count,
      sum(l.gross)::text as gross_cents, sum(l.fee)::text as fee_cents
    from acquirer_payments p
    cross join lateral json_to_recordset(p.lines)
      as l(due_on date, payment_type_id bigint, count bigint, gross bigint, fee bigint)
    left join payment_types t on t.company_id = p.company_id and t.id = l.payment_type_id
    where p.company_id = $1 and p.last_due_on >= $2::date and l.due_on between $2::date and $3::date
    group by 1, 2 having sum(l.count) <> 0 or sum(l.gross) <> 0 or sum(l.fee) <> 0 order by 1, 2`,
}

/** What acquirers pay on each day of a period, both days inclusive: at most a row for each day and payment type. */
export async function acquirerCalendar(
  pool: Queryable,
  companyId: number,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<AcquirerPayments[]> {
  return readPayments(pool, { ...SETTLED, values: [companyId, from, to] })
}

const SOLD = {
  name: 'acquirer_payments_of_tills',
  text: payments(
    '$4',
    `s.${HAS_ACQUIRER} and s.sold_at >= $2::timestamptz and s.sold_at < $3::timestamptz and s.origin = 'pdv'`,
  ),
}

/** The same of what tills have sold on a day; `from` and `to` are its bounds in UTC. */
export async function acquirerPaymentsOfTills(
  pool: Queryable,
  companyId: number,
  { day, from, to }: { readonly day: string; readonly from: string; readonly to: string },
): Promise<AcquirerPayments[]> {
  return readPayments(pool, { ...SOLD, values: [companyId, from, to, day] })
}
