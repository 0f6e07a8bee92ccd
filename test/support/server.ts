import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '../../src/postgres/embedded.ts'

/** The Postgres of a test run. */
export interface TestServer {
  /** Of its maintenance database, for someone who may create databases. */
  readonly url: string
  stop(): Promise<void>
}

/** Nothing in a test run has to survive a power failure. */
const FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }

/** An embedded server in a temporary directory, or the one that TEST_DATABASE_URL names. */
export async function startTestServer(): Promise<TestServer> {
  const own = process.env.TEST_DATABASE_URL
  if (own) return { url: own, stop: async () => {} }
  const dataDir = await mkdtemp(join(tmpdir(), 'tillbook-test-'))
  const server = await startEmbedded({ dataDir, settings: FAST })
  return {
    url: onDatabase(server.url, 'postgres'),
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** The same server, another database. */
export function onDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Runs statements on a connection of their own, as `create database` needs it. */
export async function administer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'tests' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
