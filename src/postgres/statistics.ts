import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'

const EVERY_MS = 5_000

/** A table is looked at again when it holds this many rows, and twice as many as when Postgres looked at it last. */
const FEW_ROWS = 200

/** The service's own schemas; what a rebuild is making, or about to drop, is nobody's to look at. */
const SCHEMAS = ['read', 'ops', 'ledger']

/**
 * Postgres looks at tables that have changed once a minute. A shop that imports its past has a hundred thousand rows by then,
 * and until then each sale's keys are looked up by plans made for an empty table, where any index of the company seems as good
 * as the one of the key. New statistics also replace the plans that connections keep.
 */
export function keepStatistics(pool: Pool, onError: (error: unknown) => void): Repetition {
  return repeat(() => analyzeGrown(pool), EVERY_MS, onError)
}

/** Has Postgres look at tables that have grown a lot. Returns their names. Any number of processes may do so at once. */
export async function analyzeGrown(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string; is_own: boolean }>({ ...GROWN, values: [SCHEMAS, FEW_ROWS] })
  // One by one, so that none keeps others from their locks; a table that somebody looks at already is left to them.
  for (const { name, is_own } of rows)
    await (is_own ? pool.query(`analyze (skip_locked) ${name}`) : pool.query('select ops.analyze_table($1)', [name]))
  return rows.map(({ name }) => name)
}

const GROWN = {
  name: 'grown_tables',
  text: `select format('%I.%I', n.nspname, c.relname) as name, n.nspname = 'read' as is_own
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = any($1) and c.relkind = 'r'
           and pg_stat_get_live_tuples(c.oid) >= greatest($2, 2 * c.reltuples)
         order by 1`,
}
