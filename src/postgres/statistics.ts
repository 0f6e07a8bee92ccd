import type { Pool } from 'pg'
import { paced, unhurried } from '#background/pace.ts'
import { type Repetition, repeat } from '#background/repeat.ts'

const EVERY_MS = 5_000

/** A table is analyzed when it has this many rows, and twice as many as at its last analysis. */
const FEW_ROWS = 200

/** The service's own schemas. Tables that a rebuild creates or is about to drop are not analyzed. */
const SCHEMAS = ['read', 'ops', 'ledger']

/**
 * Autovacuum analyzes changed tables once a minute. During an import a table can reach a hundred thousand rows by then,
 * and key lookups use plans for an empty table, for which any index of the company looks as good as the key's own. New
 * statistics also invalidate the plans that connections cache.
 */
export function keepStatistics(pool: Pool, onError: (error: unknown) => void): Repetition {
  return repeat((stopping) => analyzeGrown(pool, stopping), EVERY_MS, onError)
}

/** Analyzes tables that have grown a lot, and returns their names. Safe for concurrent processes. */
export async function analyzeGrown(pool: Pool, stopping?: AbortSignal): Promise<string[]> {
  const { rows } = await pool.query<Grown>({ ...GROWN, values: [SCHEMAS, FEW_ROWS] })
  // One at a time, to keep locks short; tables that another session is analyzing are skipped.
  const analyze = ({ name, is_own }: Grown) =>
    is_own ? pool.query(`analyze (skip_locked) ${name}`) : pool.query('select ops.analyze_table($1)', [name])
  const pace = unhurried(stopping)
  const analyzed: string[] = []
  for (const table of rows) {
    if (stopping?.aborted) break
    await paced(pace, () => analyze(table))
    analyzed.push(table.name)
  }
  return analyzed
}

interface Grown {
  readonly name: string
  readonly is_own: boolean
}

const GROWN = {
  name: 'grown_tables',
  text: `select format('%I.%I', n.nspname, c.relname) as name, n.nspname = 'read' as is_own
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where n.nspname = any($1) and c.relkind in ('r', 'p')
           and (select sum(pg_stat_get_live_tuples(part)) from unnest(array[c.oid] || array(
                  select relid::oid from pg_partition_tree(c.oid) where isleaf and relid <> c.oid)) as part)
             >= greatest($2, 2 * c.reltuples)
         order by 1`,
}
