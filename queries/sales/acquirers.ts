import type { Reader } from '../reader.ts'
import { t } from '../table-names.ts'

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
export async function acquiredIn(reader: Reader, { from, to }: Instants): Promise<AcquiredSums[]> {
  const { rows } = await reader.query<InTexts<AcquiredSums>>({ ...MOVED, values: [from, to] })
  return rows.map(inCents)
}
