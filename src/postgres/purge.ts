import type { Pool } from 'pg'

const EVERY_MS = 10 * 60_000
/** Rows per statement. Bounds locks and disk load of a purge. */
const BATCH = 5_000

/**
 * Deletes with a statement whose last parameter limits its rows, until nothing is left. Returns the number of deleted
 * rows. The statement must compare with `now()`: `clock_timestamp()` cannot use an index, so all rows would be read.
 */
export async function deleteInBatches(pool: Pool, text: string, values: readonly unknown[]): Promise<number> {
  let deleted = 0
  for (;;) {
    const { rowCount } = await pool.query(text, [...values, BATCH])
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < BATCH) return deleted
  }
}

/** Purges periodically until stopped. A failed purge does not stop the others. */
export function schedulePurge(
  purges: readonly (() => Promise<unknown>)[],
  onError: (error: unknown) => void,
): { stop(): void } {
  const timer = setInterval(() => {
    for (const purge of purges) void purge().catch(onError)
  }, EVERY_MS)
  timer.unref()
  return { stop: () => clearInterval(timer) }
}
