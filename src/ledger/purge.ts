import type { Pool } from 'pg'
import { ANSWER_RETENTION_MS } from './answers.ts'

const EVERY_MS = 10 * 60_000
/** Rows of one statement, so that a purge never holds locks or the disk for long. */
const BATCH = 5_000

/** Deletes stored answers past their retention. Returns how many. */
export async function purgeAnswers(pool: Pool): Promise<number> {
  let purged = 0
  for (;;) {
    const { rowCount } = await pool.query(
      `delete from idempotent_answers where (company_id, key) in (
         select company_id, key from idempotent_answers
         where created_at < clock_timestamp() - make_interval(secs => $1) limit $2 for update skip locked)`,
      [ANSWER_RETENTION_MS / 1000, BATCH],
    )
    purged += rowCount ?? 0
    if ((rowCount ?? 0) < BATCH) return purged
  }
}

/** Purges now and then, for as long as the process lives. */
export function schedulePurge(pool: Pool, onError: (error: unknown) => void): { stop(): void } {
  const timer = setInterval(() => void purgeAnswers(pool).catch(onError), EVERY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
