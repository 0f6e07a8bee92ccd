import type { Pool } from 'pg'

/** Calls that count in the windows of now. */
export interface CountedCalls {
  readonly minute: number
  readonly day: number
}

/** How much of its quota a company has used. */
export async function getCalls(pool: Pool, companyId: number): Promise<CountedCalls> {
  const { rows } = await pool.query<CountedCalls>({
    name: 'get_calls',
    text: `select case when minute_ends_at > now() then minute_count else 0 end as minute,
                  case when day_ends_at > now() then day_count else 0 end as day
           from quotas where company_id = $1`,
    values: [companyId],
  })
  return rows[0] ?? { minute: 0, day: 0 }
}
