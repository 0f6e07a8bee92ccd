import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { MASTER_KEY } from '../test/support/master-key.ts'
import { ROOT } from './child.ts'
import { administer } from './database.ts'
import { COMPANIES, type Environment, QUOTAS } from './environment.ts'
import { generate } from './load.ts'
import type { Options } from './options.ts'
import { meterOf } from './processor.ts'
import type { Line } from './report.ts'
import { median, spread, WARM_UP_ROUNDS } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import { CONNECTIONS } from './sales.ts'
import type { Shop } from './shop.ts'

const NAME = 'sales-64-against'
export const AGAINST_BENCHMARK = NAME

/** Highest accepted ratio of the costs of two versions. */
const TARGET = 1.03

/** Microseconds per sale. */
interface Cost {
  readonly service_us: number
  readonly postgres_us: number
  /** Wall time with the callers of the rate measurement: its inverse is the rate. */
  readonly clock_us: number
}

/**
 * Processor time of a sale (service and Postgres) of this checkout compared with that of the one in `--against
 * DIRECTORY` (with installed packages): each on its own database of the same server, in short alternating rounds,
 * compared round by round. On a busy machine a sale costs up to twice as much, for both alike. Postgres serves both, so
 * only one sells at a time.
 */
export async function benchAgainst({ database, start }: Environment, options: Options): Promise<Line[]> {
  if (options.only !== NAME) return []
  if (!options.against) throw new Error(`${NAME} needs --against DIRECTORY, another checkout`)
  const directories = [ROOT, resolve(options.against)]
  const names = directories.map((_, index) => `tillbook_against_${index}_${Date.now()}`)
  try {
    const sides: ((seconds: number) => Promise<Cost>)[] = []
    for (const [index, directory] of directories.entries()) {
      const [url, ownerUrl] = [database.url, database.ownerUrl].map((each) => new URL(`/${names[index]}`, each).href)
      if (!url || !ownerUrl) throw new Error('a database has no address')
      await administer(database.ownerUrl, (client) => client.query(`create database ${names[index]}`))
      const shops = await createShopsBy(directory, url, ownerUrl)
      const env = { DATABASE_URL: url, MASTER_KEY, LOG_LEVEL: 'warn', ...QUOTAS }
      const service = await start('dist/src/main.js', env, { ready: '/health/ready', cwd: directory })
      const meter = await meterOf([service], [url])
      if (!meter) throw new Error('the processor time of these processes cannot be told')
      const next = createSaleRequests(shops)
      sides.push(async (seconds) => {
        const load = { url: service.url, connections: CONNECTIONS, seconds, status: 201, next }
        const startedAt = performance.now()
        const { value, service_us, postgres_us } = await meter.measure(() => generate(load))
        const clock_us = (performance.now() - startedAt) * 1_000
        const sales = value.answered
        return { service_us: service_us / sales, postgres_us: postgres_us / sales, clock_us: clock_us / sales }
      })
    }
    return [compared(await measurePairs(sides as [Side, Side], options))]
  } finally {
    await Promise.all(names.map((name) => drop(database.ownerUrl, name)))
  }
}

type Side = (seconds: number) => Promise<Cost>
type Pair = readonly [here: Cost, there: Cost]

async function measurePairs([here, there]: [Side, Side], { rounds, seconds }: Options): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let round = 0; round < WARM_UP_ROUNDS + rounds; round++) {
    if (round % 2 === 0) pairs.push([await here(seconds), await there(seconds)])
    else {
      const former = await there(seconds)
      pairs.push([await here(seconds), former])
    }
  }
  return pairs.slice(WARM_UP_ROUNDS)
}

const both = ({ service_us, postgres_us }: Cost): number => service_us + postgres_us

function compared(pairs: readonly Pair[]): Line {
  const ratiosOf = (of: (cost: Cost) => number) => pairs.map(([here, there]) => of(here) / of(there))
  const middleOf = (of: (cost: Cost) => number) => pairs.map(([here]) => of(here))
  for (const [what, of] of [
    ['service', (cost: Cost) => cost.service_us],
    ['Postgres', (cost: Cost) => cost.postgres_us],
    ['both', both],
    ['by the clock', (cost: Cost) => cost.clock_us],
  ] as const) {
    const ratios = ratiosOf(of).sort((a, b) => a - b)
    const [low, high] = [0.25, 0.75].map((share) => ratios[Math.floor(share * ratios.length)] ?? Number.NaN)
    const there = Math.round(median(pairs.map(([, cost]) => of(cost))))
    console.log(
      `${NAME}: ${what} ${Math.round(median(middleOf(of)))} µs, there ${there} µs; by round ${median(ratios).toFixed(3)} times, ` +
        `half of the rounds ${low?.toFixed(3)} to ${high?.toFixed(3)}`,
    )
  }
  return {
    name: NAME,
    value: median(middleOf(both)),
    unit: 'µs a sale',
    floor: median(pairs.map(([, there]) => both(there))),
    ratio: Math.round(1_000 * median(ratiosOf(both))) / 1_000,
    target: TARGET,
    higher_is_better: false,
    against: 'the other checkout',
    spreads: [spread(middleOf(both)), spread(pairs.map(([, there]) => both(there)))],
  }
}

/** Migrates and fills a database with the code of a checkout, which also compiles its service. */
async function createShopsBy(directory: string, url: string, ownerUrl: string): Promise<Shop[]> {
  const run = promisify(execFile)
  await run(process.execPath, ['tools/compiled.cjs'], { cwd: directory })
  const program = `
    import { createPool } from '#postgres/pool.ts'
    import { migrateAsOwner } from '#postgres/migrate.ts'
    import { createShops } from './bench/shop.ts'
    const pool = createPool(${JSON.stringify(url)}, { max: 1 })
    await migrateAsOwner({ pool, databaseUrl: ${JSON.stringify(url)}, ownerUrl: ${JSON.stringify(ownerUrl)} }, { log() {} })
    await pool.end()
    console.log(JSON.stringify(await createShops(${JSON.stringify(url)}, ${COMPANIES})))`
  const options = { cwd: directory, maxBuffer: 64 * 1_048_576 }
  const { stdout } = await run(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], options)
  return JSON.parse(stdout) as Shop[]
}

async function drop(ownerUrl: string, name: string): Promise<void> {
  await administer(ownerUrl, (client) => client.query(`drop database if exists ${name} with (force)`))
}
