import type { Pool } from 'pg'
import { type InTurnOptions, workInTurn } from './round-robin.ts'

/** How long the rows of a table are kept. */
export interface RetentionRule {
  readonly table: string
  /** Column, or indexed expression of columns, whose time decides. */
  readonly olderThan: string
  readonly keep: `${number} ${'hours' | 'days'}`
  /** SQL condition on the rows that may be deleted; all of them by default. */
  readonly where?: string
}

/** For what is more than a deletion by age: removes up to `limit` rows and returns their number. */
export type PurgeStep = (pool: Pool, limit: number) => Promise<number>

/** Rows per statement. Bounds locks and disk load of a purge. */
const BATCH = 5_000

/** `now()`, because a comparison with `clock_timestamp()` cannot use an index. A locked row is a current row. */
const deleteExpired = ({ table, olderThan, keep, where = 'true' }: RetentionRule): string =>
  `delete from ${table} where ctid = any (array(
     select ctid from ${table}
     where ${olderThan} < now() - interval '${keep}' and ${where}
     limit $1 for update skip locked))`

/**
 * Deletes what is past its retention, a batch of each rule in turn: one that fails, or has much to delete, delays no
 * other. Returns the number of deleted rows. Any number of processes may purge concurrently.
 */
export async function purge(
  pool: Pool,
  rules: readonly (RetentionRule | PurgeStep)[],
  options: Pick<InTurnOptions<unknown>, 'stopping' | 'onError'>,
): Promise<number> {
  let deleted = 0
  await workInTurn(
    rules,
    async (rule) => {
      const count =
        typeof rule === 'function'
          ? await rule(pool, BATCH)
          : ((await pool.query(deleteExpired(rule), [BATCH])).rowCount ?? 0)
      deleted += count
      return count > 0 ? 'more' : 'done'
    },
    options,
  )
  return deleted
}
