import type { Pool } from 'pg'

/** Alarms older than these are no news. */
const DAYS = 30
const COUNTED = 100

/** Orders that money came in for which they did not ask, and that moved in the last 30 days: at most 100. */
export async function countAlarms(pool: Pool, companyId: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>({
    name: 'count_order_alarms',
    text: `select count(*) as count from (
             select from orders
             where company_id = $1 and changed_at > now() - make_interval(days => $2)
               and json_array_length(doc->'alarms') > 0
             limit $3) as alarmed`,
    values: [companyId, DAYS, COUNTED],
  })
  return rows[0]?.count ?? 0
}
