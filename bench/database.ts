import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '#postgres/embedded.ts'
import { migrateAsOwner } from '#postgres/migrate.ts'
import { withPool } from '#postgres/pool.ts'

/** URLs of a database for the service and for its owner; equal with a single role. */
export interface Addresses {
  readonly url: string
  readonly ownerUrl: string
}

/** Postgres of all measurements. */
export interface BenchDatabase extends Addresses {
  /** `fsync on, server_version 18.4, …, embedded`: conditions of the figures. */
  readonly description: string
  stop(): Promise<void>
}

/** Enough for the connections of several services, floor A and pgbench together. */
const SETTINGS = { max_connections: '300' }

/**
 * Embedded server in a temporary directory, as durable as the service's own; or a new database on BENCH_DATABASE_URL.
 */
export async function startDatabase(): Promise<BenchDatabase> {
  const own = process.env.BENCH_DATABASE_URL
  if (own) {
    const { addresses, drop } = await createDatabase({ url: own, ownerUrl: own })
    await migrate(addresses)
    return { ...addresses, description: `${await describe(own)}, BENCH_DATABASE_URL`, stop: drop }
  }
  const dataDir = await mkdtemp(join(tmpdir(), 'tillbook-bench-'))
  const remove = () => rm(dataDir, { recursive: true, force: true })
  try {
    const server = await startEmbedded({ dataDir, settings: SETTINGS })
    await migrate(server)
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

/** Migrates and grants privileges, so that the service does not need the owner. */
async function migrate({ url, ownerUrl }: Addresses): Promise<void> {
  await withPool(url, { max: 1, application_name: 'bench' }, async (pool) => {
    const owner = url === ownerUrl ? undefined : ownerUrl
    await migrateAsOwner({ pool, databaseUrl: url, ownerUrl: owner }, { log: () => {} })
  })
}

/** Number of databases created in this run. */
let created = 0

async function createDatabase(server: Addresses): Promise<{ addresses: Addresses; drop: () => Promise<void> }> {
  const name = `tillbook_bench_${Date.now()}_${++created}`
  await administer(server.ownerUrl, (client) => client.query(`create database ${name}`))
  const at = (address: string) => new URL(`/${name}`, address).href
  return {
    addresses: { url: at(server.url), ownerUrl: at(server.ownerUrl) },
    async drop() {
      await administer(server.ownerUrl, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}

/** Runs `work` on a new database of the same server, which is dropped afterwards; `isEmpty`: without tables. */
export async function withOwnDatabase<T>(
  server: Addresses,
  work: (database: Addresses) => Promise<T>,
  { isEmpty = false } = {},
): Promise<T> {
  const { addresses, drop } = await createDatabase(server)
  try {
    if (!isEmpty) await migrate(addresses)
    return await work(addresses)
  } finally {
    await drop()
  }
}

/** Settings that decide about durability: ratios mean nothing if commits do not reach the disk. */
async function describe(url: string): Promise<string> {
  return administer(url, async (client) => {
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, current_setting(name) as setting from pg_settings
       where name in ('server_version', 'fsync', 'synchronous_commit', 'shared_buffers') order by name`,
    )
    return rows.map(({ name, setting }) => `${name} ${setting}`).join(', ')
  })
}

/** Analyzes all tables and notes a check of each company, so that none counts as new. */
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

/** Afterwards the server reuses the files of its log; each new one of 16 MB holds commits up. */
export async function checkpoint({ ownerUrl }: Addresses): Promise<void> {
  await administer(ownerUrl, (client) => client.query('checkpoint'))
}

/** Position of a server's write-ahead log in bytes. */
export async function walOf(url: string): Promise<number> {
  const { rows } = await administer(url, (client) =>
    client.query<{ bytes: string }>(`select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`),
  )
  return Number(rows[0]?.bytes)
}

/** Runs `work` on a separate connection. */
export async function administer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'bench' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
