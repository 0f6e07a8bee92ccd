import { migrate } from '#postgres/migrate.ts'
import { administer, onDatabase, startTestServer, type TestServer } from './server.ts'

/** Cloned by every `useDatabase()`: copying a database is much faster than migrating one. */
const TEMPLATE = 'tillbook_template'

let server: TestServer | undefined

/** Once for a run, whose files are shared out to two processes: a server, and the template that is migrated. */
export async function mochaGlobalSetup(): Promise<void> {
  server = await startTestServer()
  try {
    process.env.TILLBOOK_TEST_SERVER = server.url
    await createTemplate(server.url)
  } catch (error) {
    // Mocha leaves the teardown out when the setup fails, and the server's connection would keep the run alive.
    await mochaGlobalTeardown()
    throw error
  }
}

/** Also runs when tests failed. */
export async function mochaGlobalTeardown(): Promise<void> {
  if (!server) return
  await administer(server.url, (client) => client.query(`drop database if exists ${TEMPLATE} with (force)`))
  await server.stop()
  server = undefined
}

async function createTemplate(serverUrl: string): Promise<void> {
  await administer(serverUrl, async (client) => {
    await client.query(`drop database if exists ${TEMPLATE} with (force)`)
    await client.query(`create database ${TEMPLATE}`)
  })
  // Only the operational schema: the read model is made by whoever opens a ledger, and suites differ in theirs.
  await migrate(onDatabase(serverUrl, TEMPLATE), { log: () => {} })
}
