import { before } from 'mocha'
import { administer, onDatabase } from './server.ts'
import { until } from './wait.ts'

/** Cloned by every `useDatabase()`: copying a database is much faster than making its tables. */
export const TEMPLATES = { withReadModel: 'tillbook_template', withoutReadModel: 'tillbook_template_bare' }

let counter = 0

/**
 * A database of one's own for the tests of a `describe`, cloned from a template before them and dropped after them and
 * all their hooks. Every pool on it has to be closed by then: a connection left open fails the run, naming its last statement.
 * Suites whose read model is not the product's take the template without one.
 */
export function useDatabase(template: keyof typeof TEMPLATES = 'withReadModel'): { readonly url: string } {
  // The process id keeps runs apart that share one server.
  const name = `t_${process.pid}_${++counter}`
  let url: string | undefined

  before(`create database ${name}`, async function () {
    await administer(serverUrl(), (client) => client.query(`create database ${name} template ${TEMPLATES[template]}`))
    url = onDatabase(serverUrl(), name)
    // Hooks run in the order in which they were added: only one added now comes after those that close the tests' pools.
    this.test?.parent?.afterAll(`drop database ${name}`, () => dropDatabase(name))
  })

  return {
    get url() {
      if (!url) throw new Error('the database exists only while the tests run: read `url` in a hook or a test')
      return url
    },
  }
}

async function dropDatabase(name: string): Promise<void> {
  const leaked = await openConnections(name)
  await administer(serverUrl(), (client) => client.query(`drop database if exists ${name} with (force)`))
  if (leaked.length > 0) throw new Error(`connections were left open on ${name}:\n${leaked.join('\n')}`)
}

function serverUrl(): string {
  const url = process.env.TILLBOOK_TEST_SERVER
  if (!url) throw new Error('no test server: the run needs test/support/global.ts')
  return url
}

/** Servers notice a closed connection a moment later than the client, hence the short patience. */
async function openConnections(name: string): Promise<string[]> {
  let open: string[] = []
  await until(
    async () => {
      open = await administer(serverUrl(), async (client) => {
        const { rows } = await client.query<{ line: string }>(
          `select coalesce(application_name, '') || ': ' || left(query, 200) as line from pg_stat_activity where datname = $1`,
          [name],
        )
        return rows.map(({ line }) => line)
      })
      return open.length === 0
    },
    { timeout_ms: 1_000 },
  ).catch(() => {})
  return open
}
