import { DEFAULT_SHARD } from '#config/databases.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { withPool } from '#postgres/pool.ts'

/**
 * A shard is rebuilt only in an empty Postgres or in one that an interrupted rebuild has begun to fill (SHARD-95). A
 * foreign schema, or complete tables, may be in use. @throws UnsupportedPostgres; nothing was changed
 */
export async function assertEmpty(databaseUrl: string, name: string): Promise<void> {
  await withPool(databaseUrl, { max: 1, application_name: 'tillbook shard' }, async (pool) => {
    const { rows } = await pool.query<{ others: string | null; isPrepared: boolean }>(
      `select string_agg(distinct n.nspname || '.' || c.relname, ', ') filter (where n.nspname !~ '${OURS}') as others,
         to_regclass('ops.read_model') is not null as "isPrepared"
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and n.nspname !~ '^(pg_|information_schema$)'`,
    )
    const { others = null, isPrepared = false } = rows[0] ?? {}
    if (others !== null)
      throw new UnsupportedPostgres(`database of shard ${name} is neither empty nor a shard: it contains ${others}`)
    if (!isPrepared) return
    const made = await pool.query(
      'select from ops.read_model where $1 = $2 or (select i.name from ops.installation i) is distinct from $1',
      [unfinishedShardName(name), name],
    )
    if (made.rowCount !== 0)
      throw new UnsupportedPostgres(
        `database of shard ${name} already has ledgers and tables: there is nothing to rebuild`,
      )
  })
}

/**
 * Name of a shard until its rebuild is complete: no process takes it for the shard. The default shard keeps its name,
 * because processes wait for it.
 */
export const unfinishedShardName = (name: string): string =>
  name === DEFAULT_SHARD ? DEFAULT_SHARD : `${name}:unfinished`

/** Schemas of a shard, also during a rebuild. */
const OURS = '^(ops|ledger|read|read_next)$'
