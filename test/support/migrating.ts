import { dirname } from 'node:path'
import { after, before } from 'mocha'
import pg, { type Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { createPool } from '#postgres/pool.ts'
import type { MigratingShard } from '#sharding/migration/migrating-shard.ts'
import type { MigrationRun } from '#sharding/migration/migration-steps.ts'
import type { TestApi, TestApiOptions } from './api.ts'
import { ownerUrlOf } from './database.ts'
import { sealsOf } from './seals.ts'
import { standIn, useApi } from './use-api.ts'

export interface TwoShards {
  readonly main: TestApi
  readonly south: TestApi
  /** A migration of a company from the default shard to the second one, or back. */
  moving(companyId: number, more?: Partial<MigrationRun>): MigrationRun
  /** Registers companies in the directory on the default shard. */
  register(...companyIds: number[]): Promise<void>
}

/** Two shards in one server, each served on its own port; the directory is in the first. */
export function useTwoShards(options: TestApiOptions = {}): TwoShards {
  const main = useApi(options)
  const south = useApi(options)
  let owners: Pool[] = []
  let shards: TwoShards | undefined

  before('know both shards', async () => {
    const ends = [main, south].map((api, n) => shardOf(n === 0 ? 'main' : 'south', api))
    owners = ends.map(({ owner }) => owner)
    const [here, there] = ends as [MigratingShard, MigratingShard]
    await main.core.pool.query(`insert into ops.shards (name) values ('main'), ('south') on conflict do nothing`)
    shards = {
      main,
      south,
      moving: (companyId, more) => ({
        companyId,
        from: here,
        to: there,
        main: main.core.pool,
        onProgress: () => {},
        newId: uuidv7,
        answersMs: 0,
        ...more,
      }),
      async register(...ids) {
        await main.core.pool.query(
          `insert into ops.company_shards (company_id, shard) select id, 'main' from unnest($1::bigint[]) as id`,
          [ids],
        )
      },
    }
  })
  after('close the owners', () => Promise.all(owners.map((owner) => owner.end())))

  return standIn('two shards', () => shards)
}

function shardOf(name: string, { core, databaseUrl }: TestApi): MigratingShard {
  const ownerUrl = ownerUrlOf(databaseUrl)
  const owner = createPool(ownerUrl, { max: 3, read_schemas: [], statement_timeout_ms: 0, application_name: 'tests' })
  return {
    name,
    databaseUrl,
    ownerUrl,
    pool: core.pool,
    owner,
    dataDir: dirname(sealsOf(databaseUrl).directory),
    store: core.store,
    model: core.model,
    keys: core.keys,
    verifyTables: (companyId) => core.verifyTables(companyId),
  }
}

/** Traces of a company's migrations in a database, apart from its rows. */
export async function tracesOf(url: string, companyId: number): Promise<readonly string[]> {
  const client = new pg.Client({ connectionString: ownerUrlOf(url), application_name: 'tests' })
  await client.connect()
  try {
    const { rows } = await client.query<{ what: string }>(
      `select what from (
         select 'publication ' || pubname as what from pg_publication
         union all select 'slot ' || slot_name from pg_replication_slots where database = current_database()
         union all select 'subscription ' || subname from pg_subscription
           where subdbid = (select oid from pg_database where datname = current_database())
         union all select 'move' from ops.moves where company_id = $1
         union all select 'mark' from ops.move_marks where company_id = $1
         union all select move from ops.ledgers where company_id = $1 and move is not null) as found
       order by 1`,
      [companyId],
    )
    return rows.map(({ what }) => what)
  } finally {
    await client.end()
  }
}

/** Number of a company's rows in all tables of a shard. */
export async function rowsOf(pool: Pool, companyId: number): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select coalesce(sum((xpath('/row/n/text()', query_to_xml(
       format('select count(*) as n from %I.%I where %s', n.nspname, c.relname, condition), false, true, '')))[1]::text::bigint), 0)::int as count
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     cross join lateral (
       select case a.attname when 'stream' then format('stream = ''company-%s''', $1::bigint) else format('%I = %s', a.attname, $1::bigint) end as condition
       from pg_attribute a where a.attrelid = c.oid and a.attname in ('company_id', 'stream', 'log') limit 1) as found
     where n.nspname in ('ops', 'ledger', 'read') and c.relkind = 'r'
       and c.relname not in ('ledgers', 'company_shards', 'directory_entries', 'installation_entries')`,
    [companyId],
  )
  return rows[0]?.count ?? 0
}
