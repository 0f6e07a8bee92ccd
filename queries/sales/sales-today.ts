import type { Pool } from 'pg'
import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { money, type Sum, sum } from '../sums.ts'

/** What was sold on the company's day so far, without the cancelled sales, which are told apart. */
export interface SalesToday {
  readonly count: number
  readonly gross: string
  /** Gross by count, to the cent, half up; null while nothing was sold. */
  readonly average: string | null
  readonly cancelled: Sum
  /** Of the ledger, in the same snapshot. */
  readonly revision: number
}

const completed = `filter (where status = 'completed')`

const STATEMENT = {
  name: 'panel_sales_today',
  text: `select l.revision, s.*
    from ledgers l
    cross join (
      select count(*) ${completed} as count,
             ${money(`sum(total_cents) ${completed}`)} as gross,
             (round(avg(total_cents) ${completed}) * 0.01)::text as average,
             ${sum('total_cents', `status = 'cancelled'`)} as cancelled
      from sales
      where company_id = $1 and sold_at >= $2::timestamptz and sold_at < $3::timestamptz
    ) s
    where l.company_id = $1`,
}

export async function salesToday(pool: Pool, companyId: number, { timezone, today }: Calendar): Promise<SalesToday> {
  const bounds = [startOfDay(today, timezone), startOfDay(addDays(today, 1), timezone)]
  const { rows } = await pool.query<SalesToday>({ ...STATEMENT, values: [companyId, ...bounds] })
  if (!rows[0]) throw new Error(`company ${companyId} has no ledger`)
  return rows[0]
}
