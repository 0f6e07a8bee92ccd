import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbedded } from '#postgres/embedded.ts'
import { ensureServiceRole, SERVICE_ROLE } from '#postgres/migrate.ts'
import { stopLeftOver } from './find-embedded.ts'

/** Postgres of a test run. */
export interface TestServer {
  /** URL of the maintenance database for a user who may create databases. */
  readonly url: string
  /** URL for the role of services. */
  readonly serviceUrl: string
  stop(): Promise<void>
}

/** Settings without durability. */
const FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_wal_size: '256MB',
  max_connections: '200',
}

const PREFIX = 'tillbook-test-'
const MINUTE_MS = 60_000

/** An embedded server in a temporary directory, or the one that TEST_DATABASE_URL names. */
export async function startTestServer(): Promise<TestServer> {
  const own = process.env.TEST_DATABASE_URL
  if (own) return { url: own, serviceUrl: await makeServiceRole(own), stop: async () => {} }
  await removeLeftOvers()
  const dataDir = await mkdtemp(join(tmpdir(), PREFIX))
  const server = await startEmbedded({ dataDir, settings: FAST })
  return {
    url: onDatabase(server.ownerUrl, 'postgres'),
    serviceUrl: onDatabase(server.url, 'postgres'),
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Creates the service role like an operator, once per server. */
export async function makeServiceRole(url: string): Promise<string> {
  await administer(url, (client) => ensureServiceRole(client, SERVICE_ROLE, SERVICE_ROLE))
  const service = new URL(url)
  service.username = SERVICE_ROLE
  service.password = SERVICE_ROLE
  return service.href
}

/** Removes servers of killed runs; skips a server in use, and a directory that is being set up. */
async function removeLeftOvers(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(PREFIX))
  const removals = names.map(async (name) => {
    const dataDir = join(tmpdir(), name)
    if (Date.now() - (await stat(dataDir)).birthtimeMs < MINUTE_MS) return
    await stopLeftOver(dataDir)
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 })
  })
  // Another user's directory cannot be removed and does not matter.
  await Promise.allSettled(removals)
}

/** URL of another database on the same server. */
export function onDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Runs statements on a separate connection, as required by `create database`. */
export async function administer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'tests' })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
