import type { Pool } from 'pg'
import type { IdKind } from '#domain/id-kinds.ts'

/** Where the ids of each kind are found that have been given out: a table of the read model, and its column. */
export type Sequences = Readonly<Record<IdKind, readonly [table: string, column: string]>>

/**
 * Raises each sequence above the highest id of its kind. A Postgres that is older than its event store, or new, would
 * otherwise give out ids that events carry already.
 */
export async function raiseSequences(pool: Pool, sequences: Sequences): Promise<void> {
  for (const [kind, [table, column]] of Object.entries(sequences)) {
    const sequence = `ops.${kind}_ids`
    await pool.query(
      `select setval('${sequence}', highest) from (select max(${column}) as highest from ${table}) ids, ${sequence} s
       where highest > case when s.is_called then s.last_value else 0 end`,
    )
  }
}
