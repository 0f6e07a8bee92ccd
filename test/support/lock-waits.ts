import type { Pool } from 'pg'
import { until } from './wait.ts'

/** Resolves when some statement of the database waits for a lock of another. */
export async function untilBlocked(pool: Pool): Promise<void> {
  const isBlocked = async () => {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return (rowCount ?? 0) > 0
  }
  await until(isBlocked, { what: 'a statement waiting for a lock' })
}
