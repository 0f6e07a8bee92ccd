import type { Pool } from 'pg'

const EVERY_MS = 10 * 60_000
/** Rows of one statement, so that a purge never holds locks or the disk for long. */
const BATCH = 5_000

/**
 * Deletes by a statement whose last parameter limits its rows, until nothing is left to delete. Returns how many rows went.
 * The statement compares with `now()`: for `clock_timestamp()` no index can be searched, and all that is kept would be read.
 */
export async function deleteInBatches(pool: Pool, text: string, values: readonly unknown[]): Promise<number> {
  let deleted = 0
  for (;;) {
    const { rowCount } = await pool.query(text, [...values, BATCH])
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < BATCH) return deleted
  }
}

/** Purges now and then, for as long as the process lives. What fails does not keep the others from their turn. */
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
