import type { Pool } from 'pg'
import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { money, type Sum, sum } from '../sums.ts'

/** The company's day so far; cancelled sales are counted apart. */
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

const SALES_TODAY = {
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
  const { rows } = await pool.query<SalesToday>({ ...SALES_TODAY, values: [companyId, ...bounds] })
  if (!rows[0]) throw new Error(`company ${companyId} has no ledger`)
  return rows[0]
}

/** A day of the company's calendar, without cancelled sales. */
export interface DayOfSales {
  /** 'YYYY-MM-DD' */
  readonly day: string
  readonly count: number
  readonly gross: string
}

/**
 * $2 are the days, $3 the moments at which each begins and the last one ends: worked out outside of Postgres, whose time zone
 * data may be older or newer than ours.
 */
const SALES_BY_DAY = {
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

/** The last `days` days up to today, also those on which nothing was sold. */
export async function salesByDay(
  pool: Pool,
  companyId: number,
  { timezone, today }: Calendar,
  days: number,
): Promise<DayOfSales[]> {
  const dates = Array.from({ length: days }, (_, n) => addDays(today, n - days + 1))
  const bounds = [...dates, addDays(today, 1)].map((date) => startOfDay(date, timezone))
  const { rows } = await pool.query<DayOfSales>({ ...SALES_BY_DAY, values: [companyId, dates, bounds] })
  return rows
}
