import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '#postgres/embedded.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'

/** A database as the service reaches it, and as its owner does: the same where one role is given. */
export interface Addresses {
  readonly url: string
  readonly ownerUrl: string
}

/** The Postgres that everything is measured on. */
export interface BenchDatabase extends Addresses {
  /** `fsync on, server_version 18.4, …, embedded`: what the figures depend on. */
  readonly description: string
  stop(): Promise<void>
}

/** Room for the connections of the service, floor A and pgbench at once. */
const SETTINGS = { max_connections: '200' }

/** An embedded server in a temporary directory, as durable as the service's own; or a new database on BENCH_DATABASE_URL. */
export async function startDatabase(settings: Record<string, string> = {}): Promise<BenchDatabase> {
  const own = process.env.BENCH_DATABASE_URL
  if (own) return createDatabase({ url: own, ownerUrl: own })
  const dataDir = await mkdtemp(join(tmpdir(), 'tillbook-bench-'))
  const remove = () => rm(dataDir, { recursive: true, force: true })
  try {
    const server = await startEmbedded({ dataDir, settings: { ...SETTINGS, ...settings } })
    await prepare(server)
    return {
      url: server.url,
      ownerUrl: server.ownerUrl,
      description: `${await describe(server.url)}, embedded`,
      async stop() {
        await server.stop()
        await remove()
      },
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Migrated, and with privileges, so that the service need not know the owner. */
async function prepare({ url, ownerUrl }: Addresses): Promise<void> {
  await withPool(url, { max: 1, application_name: 'bench' }, async (pool) => {
    const owner = url === ownerUrl ? undefined : ownerUrl
    await migrateAsOwner({ pool, databaseUrl: url, ownerUrl: owner }, { log: () => {} })
  })
}

/** Of this run. */
let created = 0

async function createDatabase(server: Addresses): Promise<BenchDatabase> {
  const name = `tillbook_bench_${Date.now()}_${++created}`
  await administer(server.ownerUrl, (client) => client.query(`create database ${name}`))
  const [url, ownerUrl] = [server.url, server.ownerUrl].map((address) => new URL(`/${name}`, address).href) as [
    string,
    string,
  ]
  await prepare({ url, ownerUrl })
  return {
    url,
    ownerUrl,
    description: `${await describe(url)}, BENCH_DATABASE_URL`,
    async stop() {
      await administer(server.ownerUrl, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

/** A database of its own on the same server, where what is measured must be alone; it is dropped again. */
export async function withOwnDatabase<T>(
  server: Addresses,
  work: (url: string, ownerUrl: string) => Promise<T>,
): Promise<T> {
  const database = await createDatabase(server)
  try {
    return await work(database.url, database.ownerUrl)
  } finally {
    await database.stop()
  }
}

/** The ratios mean nothing when a commit does not reach the disk, so the table's head says whether it does. */
async function describe(url: string): Promise<string> {
  return administer(url, async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, current_setting(name) as setting from pg_settings
       where name in ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers') order by name`,
    )
    return rows.map(({ name, setting }) => `${name} ${setting}`).join(', ')
  })
}

/** Postgres knows its tables, and the projector has compared them: companies that are all new are not what is measured. */
export async function asAfterADay(database: Addresses): Promise<void> {
  await vacuum(database)
  await administer(database.ownerUrl, (client) =>
    client.query(
      `insert into ops.table_checks (company_id, checked_at, due_at)
       select company_id, now(), now() + interval '1 day' from ops.ledgers`,
    ),
  )
}

export async function vacuum({ ownerUrl }: Addresses): Promise<void> {
  await administer(ownerUrl, (client) => client.query('vacuum (analyze)'))
}

/** Bytes that a server has written to its log so far. */
export async function walOf(url: string): Promise<number> {
  const { rows } = await administer(url, (client) =>
    client.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`),
  )
  return Number(rows[0]?.bytes)
}

/** Work on a connection of its own. */
export async function administer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
