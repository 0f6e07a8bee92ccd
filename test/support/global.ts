import { execFileSync } from 'node:child_process'
import { existsSync, statfsSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { dropSharedDatabases, TEMPLATES } from './database.ts'
import { buildPrograms, programOf, TEST_SETTINGS } from './program.ts'
import { DEPTH } from './random.ts'
import { startFollowedServer } from './read-replica.ts'
import { administer, onDatabase, startTestServer, type TestServer } from './server.ts'

let server: TestServer | undefined

/**
 * Flags by major version of Node that make the engine optimize only functions that run very often: optimizing took an
 * eighth of the processor time of tests. Other versions optimize as usual.
 */
const OPTIMIZED_RARELY: Readonly<Record<string, string>> = {
  20: '--interrupt-budget=1000000',
  24: '--invocation-count-for-turbofan=40000',
}
const [MAJOR = ''] = process.versions.node.split('.')
if (OPTIMIZED_RARELY[MAJOR]) setFlagsFromString(OPTIMIZED_RARELY[MAJOR])

/** Time-outs fit the number of cases in `npm test`. */
export const mochaHooks = {
  beforeEach(this: Mocha.Context) {
    if (DEPTH > 1) this.currentTest?.timeout(0)
  },
}

const MEMORY_DISK = '/dev/shm'
const MEMORY_DISK_BYTES = 4 * 1024 ** 3

/**
 * Uses a memory disk for databases and files if there is enough memory: on a disk each database takes five times as
 * long. TMPDIR has priority.
 */
function useMemoryDisk(): void {
  if (process.env.TMPDIR || !existsSync(MEMORY_DISK)) return
  const { bavail, bsize } = statfsSync(MEMORY_DISK)
  if (Math.min(bavail * bsize, process.availableMemory()) >= MEMORY_DISK_BYTES) process.env.TMPDIR = MEMORY_DISK
}

/**
 * Runs once per test run, which has several processes: starts a server and creates its templates and the programs that
 * tests start.
 */
export async function mochaGlobalSetup(): Promise<void> {
  useMemoryDisk()
  const delay_ms = Number(process.env.TEST_REPLICA_DELAY_MS)
  server = delay_ms > 0 ? await startFollowedServer(delay_ms) : await startTestServer()
  try {
    process.env.TILLBOOK_TEST_SERVER = server.url
    process.env.TILLBOOK_TEST_RUN = String(process.pid)
    process.env.TILLBOOK_TEST_SERVICE = server.serviceUrl
    buildPrograms()
    await createTemplates(server)
  } catch (error) {
    // Mocha skips the teardown if the setup fails, and the server's connection would keep the run alive.
    await mochaGlobalTeardown()
    throw error
  }
}

/** Also runs when tests failed. */
export async function mochaGlobalTeardown(): Promise<void> {
  if (!server) return
  await dropSharedDatabases()
  await dropTemplates(server.url)
  await server.stop()
  server = undefined
}

async function createTemplates({ url: serverUrl, serviceUrl }: TestServer): Promise<void> {
  await dropTemplates(serverUrl)
  await administer(serverUrl, (client) => client.query(`create database ${TEMPLATES.withReadModel}`))
  // Any command creates missing tables of the service.
  const [DATABASE_URL, DATABASE_OWNER_URL] = [serviceUrl, serverUrl].map((url) =>
    onDatabase(url, TEMPLATES.withReadModel),
  )
  execFileSync(process.execPath, programOf('src/cli/main.ts', 'company', 'list'), {
    env: { ...TEST_SETTINGS, DATABASE_URL, DATABASE_OWNER_URL },
    stdio: 'pipe',
  })
  await administer(serverUrl, (client) =>
    client.query(`create database ${TEMPLATES.withoutReadModel} template ${TEMPLATES.withReadModel}`),
  )
  await administer(onDatabase(serverUrl, TEMPLATES.withoutReadModel), (client) =>
    client.query('drop schema read cascade; truncate ops.read_model'),
  )
}

const dropTemplates = (serverUrl: string): Promise<void> =>
  administer(serverUrl, async (client) => {
    for (const name of Object.values(TEMPLATES)) await client.query(`drop database if exists ${name} with (force)`)
  })
