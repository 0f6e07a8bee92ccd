import { expect } from 'chai'
import { freePort } from '#postgres/embedded.ts'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Service, startService } from '../support/process.ts'
import { administer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { type Cutter, type Fate, startCutter } from './cutter.ts'
import type { Dice } from './dice.ts'
import { scenario } from './scenario.ts'
import { type Drama, play, type Surroundings, startSurroundings } from './stage.ts'

/** Maximum number of open connections per part of a process, by application name. */
const NORMAL: Readonly<Record<string, number>> = {
  tillbook: 8 + 3,
  'tillbook gate': 2,
  'tillbook webhooks': 3,
  'tillbook listener': 1,
  'tillbook live': 1,
}

const CUTS = 20
/** The COMMIT bytes of both the simple and the extended protocol. */
const COMMIT = 'commit\0'

describe('cut connections [OPS-8]', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let surroundings: Surroundings
  let toPostgres: Cutter
  let toService: Cutter
  let service: Service | undefined

  before(async () => {
    surroundings = await startSurroundings()
    const { hostname, port: postgresPort } = new URL(database.url)
    toPostgres = await startCutter(hostname, Number(postgresPort))
    const proxied = new URL(database.url)
    proxied.host = `127.0.0.1:${toPostgres.port}`
    const port = await freePort(null)
    service = await startService(
      { ...surroundings.env, DATABASE_URL: proxied.href, PORT: String(port) },
      { timeout_ms: 120_000 },
    )
    toService = await startCutter('127.0.0.1', port)
  })
  afterEach(() => {
    toPostgres.fateOf = () => 'pass'
    toService.fateOf = () => 'pass'
  })
  after(async () => {
    const code = await service?.stop()
    await Promise.all([toPostgres?.close(), toService?.close()])
    await surroundings.close()
    expect(code).to.equal(0)
  })

  const drama = (dice: Dice): Drama => ({
    surroundings,
    dice,
    databaseUrl: database.url,
    baseUrl: () => `http://127.0.0.1:${toService.port}`,
    directUrl: () => service?.url ?? '',
  })
  const fateful = (dice: Dice, probability: number, fates: readonly Fate[]): Fate =>
    dice.chance(probability) ? dice.pick(fates) : 'pass'

  /** A cut leaks no connection, neither at Postgres nor in a pool. */
  async function expectNormalConnections(): Promise<void> {
    const url = service?.url ?? ''
    await until(
      async () => {
        const { text } = await send(`${url}/metrics`, 'GET')
        const lines = [
          ...text.matchAll(/^tillbook_postgres_connections\{pool="(\w+)",state="(busy|waiting)"\} (\d+)$/gm),
        ]
        return lines.length > 0 && lines.every(([, , , count]) => count === '0')
      },
      { timeout_ms: 60_000, what: 'the return of all connections to their pools' },
    )
    await until(
      () =>
        administer(database.ownerUrl, async (client) => {
          const { rows } = await client.query<{ name: string; open: string }>(
            `select application_name as name, count(*) as open from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid() group by 1`,
          )
          return rows.length > 0 && rows.every(({ name, open }) => Number(open) <= (NORMAL[name] ?? 0))
        }),
      { timeout_ms: 60_000, what: 'the normal number of connections' },
    )
  }

  scenario('to Postgres, repeatedly and all at once: no write is lost and no connection is leaked', async (dice) => {
    const before = toPostgres.cuts()
    await play(drama(dice), async (moment) => {
      for (let cut = 0; cut < CUTS; cut++) {
        await moment(dice.between(1, 10))
        toPostgres.cutAll()
      }
    })
    expect(toPostgres.cuts() - before).to.be.at.least(CUTS)
    await expectNormalConnections()
  })

  scenario('to Postgres, around COMMIT: the outcome is settled', async (dice) => {
    const faults = dice.fork()
    let commits = 0
    await play(drama(dice), async (moment) => {
      toPostgres.fateOf = (piece) => {
        if (!piece.includes(COMMIT)) return 'pass'
        commits += 1
        return fateful(faults, 0.3, ['cut', 'lose', 'lose', 'half'])
      }
      await moment(dice.between(100, 200))
      toPostgres.fateOf = () => 'pass'
    })
    expect(commits).to.be.above(0)
    await expectNormalConnections()
  })

  scenario('to clients, before and after the work of a request: retries repeat nothing', async (dice) => {
    const faults = dice.fork()
    const { caller } = await play(drama(dice), async (moment) => {
      toService.fateOf = () => fateful(faults, 0.2, ['cut', 'lose', 'half'])
      await moment(dice.between(100, 200))
      toService.fateOf = () => 'pass'
    })
    expect(caller.unknown()).to.be.above(0)
  })
})
