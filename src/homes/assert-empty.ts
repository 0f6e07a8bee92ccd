import { MAIN } from '#config/databases.ts'
import { UnfitPostgres } from '#lib/unfit-postgres.ts'
import { withPool } from '#postgres/pool.ts'

/**
 * Only a Postgres with nothing in it is made a home again, or one that an interrupted run has begun to fill (HOME-95): a schema that is
 * not ours, or tables that are complete, are somebody's. @throws UnfitPostgres; nothing was changed
 */
export async function assertEmpty(databaseUrl: string, name: string): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook home' }, async (pool) => {
    const { rows } = await pool.query<{ others: string | null; isPrepared: boolean }>(
      `select string_agg(distinct n.nspname || '.' || c.relname, ', ') filter (where n.nspname !~ '${OURS}') as others,
         to_regclass('ops.read_model') is not null as "isPrepared"
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and n.nspname !~ '^(pg_|information_schema$)'`,
    )
    const { others = null, isPrepared = false } = rows[0] ?? {}
    if (others !== null)
      throw new UnfitPostgres(`the database of home ${name} is not empty, and not a home's: it has ${others}`)
    if (!isPrepared) return
    const made = await pool.query(
      'select from ops.read_model where $1 = $2 or (select i.name from ops.installation i) is distinct from $1',
      [unfinished(name), name],
    )
    if (made.rowCount !== 0)
      throw new UnfitPostgres(
        `the database of home ${name} has ledgers and tables already: there is nothing to rebuild`,
      )
  })
}

/** What a home is called until it is filled: no process takes it for the home before that, and waits for it. `main` is waited for. */
export const unfinished = (name: string): string => (name === MAIN ? MAIN : `${name}:unfinished`)

/** Schemas of a home, also while it is filled. */
const OURS = '^(ops|ledger|read|read_next)$'
