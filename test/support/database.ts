import { before } from 'mocha'
import pg from 'pg'
import { SERVICE_ROLE } from '#postgres/migrate.ts'
import { onDatabase } from './server.ts'
import { until } from './wait.ts'

/** Cloned by every `useDatabase()`: copying a database is much faster than creating its tables. */
export const TEMPLATES = { withReadModel: 'tillbook_template', withoutReadModel: 'tillbook_template_bare' }

let counter = 0

/** Connection of a service. */
interface TestDatabase {
  /** URL for the role of services, with their minimal privileges. */
  readonly url: string
  /** URL of the owner, who has privileges that no service has. */
  readonly ownerUrl: string
}

/**
 * A separate database for the tests of a `describe`, cloned from a template before them and dropped after them and all
 * their hooks. Every pool on it must be closed by then: an open connection fails the run, naming its last statement.
 * Suites with their own read model use the template without one.
 */
export function useDatabase(template: keyof typeof TEMPLATES = 'withReadModel'): TestDatabase {
  // The process id keeps runs apart that share one server.
  const name = `t_${process.pid}_${++counter}`
  let isThere = false
  const reached = (by: string) => {
    if (!isThere) throw new Error('the database exists only while the tests run: read its URLs in a hook or a test')
    return onDatabase(by, name)
  }

  before(`create database ${name}`, async function () {
    await cloneDatabase(name, TEMPLATES[template])
    isThere = true
    // Added at this point, the hook runs after those that close the tests' pools.
    this.test?.parent?.afterAll(`drop database ${name}`, () => dropDatabase(name))
  })

  return {
    get url() {
      return reached(process.env.TILLBOOK_TEST_SERVICE ?? '')
    },
    get ownerUrl() {
      return reached(serverUrl())
    },
  }
}

/** URL of the same database for its owner. */
export const ownerUrlOf = (url: string): string => onDatabase(serverUrl(), new URL(url).pathname.slice(1))

const SHARED = 't_shared_'

/** Whether several files use it. */
export const isSharedDatabase = (url: string): boolean => new URL(url).pathname.startsWith(`/${SHARED}`)

let closeShared: (() => unknown) | undefined

/** Creates the database that all files of this process share, and returns its URL for services. */
export async function openSharedDatabase(close: () => unknown): Promise<string> {
  const name = `${SHARED}${process.env.TILLBOOK_TEST_RUN}_${process.pid}`
  await cloneDatabase(name, TEMPLATES.withReadModel)
  closeShared = close
  return onDatabase(process.env.TILLBOOK_TEST_SERVICE ?? '', name)
}

/** At the end of the run, in its first process; the others have ended by then. */
export async function dropSharedDatabases(): Promise<void> {
  await closeShared?.()
  const client = administrator()
  const like = `${SHARED}${process.env.TILLBOOK_TEST_RUN}\\_%`
  const { rows } = await client.query<{ datname: string }>('select datname from pg_database where datname like $1', [
    like,
  ])
  for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`)
}

/** Copying files costs half as much as logging their pages. Privileges on the database itself are not copied. */
export async function cloneDatabase(name: string, from: string): Promise<void> {
  const client = administrator()
  await client.query(`create database ${name} template ${from} strategy file_copy`)
  await client.query(`grant create on database ${name} to ${SERVICE_ROLE}`)
}

let pool: pg.Pool | undefined

/** One connection for all databases of a process; it does not keep the process alive. */
function administrator(): pg.Pool {
  if (!pool) {
    const kept = { max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true }
    pool = new pg.Pool({ connectionString: serverUrl(), application_name: 'tests', ...kept })
    // The connection ends with the server.
    pool.on('error', () => {})
  }
  return pool
}

async function dropDatabase(name: string): Promise<void> {
  const client = administrator()
  const leaked = await openConnections(client, name)
  for (const each of [name, `${name}_south`]) await client.query(`drop database if exists ${each} with (force)`)
  if (leaked.length > 0) throw new Error(`connections were left open on ${name}:\n${leaked.join('\n')}`)
}

function serverUrl(): string {
  const url = process.env.TILLBOOK_TEST_SERVER
  if (!url) throw new Error('no test server: the run needs test/support/global.ts')
  return url
}

/** Servers notice a closed connection later than the client, hence the short wait. */
async function openConnections(client: pg.Pool, name: string): Promise<string[]> {
  let open: string[] = []
  await until(
    async () => {
      const { rows } = await client.query<{ line: string }>(
        `select coalesce(application_name, '') || ': ' || left(query, 200) as line from pg_stat_activity where datname = $1 and backend_type = 'client backend'`,
        [name],
      )
      open = rows.map(({ line }) => line)
      return open.length === 0
    },
    { timeout_ms: 1_000 },
  ).catch(() => {})
  return open
}
