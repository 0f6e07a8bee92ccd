import type { Pool } from 'pg'
import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { money } from '../sums.ts'

/** What was sold on a day of the company's calendar, without cancelled sales. */
export interface DayOfSales {
  /** 'YYYY-MM-DD' */
  readonly day: string
  readonly count: number
  readonly gross: string
}

/**
 * $2 are the days, $3 the moments at which each of them begins and the last one is over. They come from outside so that the days
 * are those of every other answer, whatever time zones this Postgres knows.
 */
const STATEMENT = {
  name: 'panel_sales_by_day',
  text: `select days.day, coalesce(s.count, 0) as count, ${money('s.cents')} as gross
    from unnest($2::text[]) with ordinality as days (day, n)
    left join (
      select width_bucket(sold_at, $3::timestamptz[]) as n, count(*) as count, sum(total_cents) as cents
      from sales
      where company_id = $1 and status = 'completed'
        and sold_at >= ($3::timestamptz[])[1] and sold_at < ($3::timestamptz[])[cardinality($3::timestamptz[])]
      group by 1
    ) s on s.n = days.n
    order by days.n`,
}

/** The last `days` days with today as the last one, each also where nothing was sold. */
export async function salesByDay(
  pool: Pool,
  companyId: number,
  { timezone, today }: Calendar,
  days: number,
): Promise<DayOfSales[]> {
  const dates = Array.from({ length: days }, (_, n) => addDays(today, n - days + 1))
  const bounds = [...dates, addDays(today, 1)].map((date) => startOfDay(date, timezone))
  const { rows } = await pool.query<DayOfSales>({ ...STATEMENT, values: [companyId, dates, bounds] })
  return rows
}
