import type { Pool } from 'pg'
import { until } from './wait.ts'

/** Resolves when this many statements of the database wait for locks. */
export async function untilBlocked(pool: Pool, statements = 1): Promise<void> {
  const isBlocked = async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return (rowCount ?? 0) >= statements
  }
  await until(isBlocked, { what: `${statements} statements waiting for a lock` })
}
