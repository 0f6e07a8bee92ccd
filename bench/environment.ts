import { createRequire } from 'node:module'
import { join } from 'node:path'
import { MASTER_KEY } from '../test/support/master-key.ts'
import { type Child, ROOT, startChild } from './child.ts'
import { asAfterADay, type BenchDatabase, startDatabase } from './database.ts'
import { ALLOCATIONS_FILE } from './flame/areas.ts'
import { allocationsIn } from './flame/service.ts'
import { installFloor } from './floor-a/install.ts'
import { createShops, type Shop } from './shop.ts'

const compiled = createRequire(import.meta.url)('../tools/compiled.cjs') as {
  build(): void
  compile(programs: readonly string[]): void
}

const PROGRAMS = [
  'cost/probe',
  'flame/sampler',
  'floor-a',
  'floor-batch',
  'floor-list',
  'floor-products',
  'rebuild-round',
  'webhook-receiver',
].map((name) => `bench/${name}.ts`)

/** Module that samples the allocations of the program loaded after it. */
const SAMPLER = join(ROOT, 'dist/bench/flame/sampler.js')

/** Companies of the sales benchmarks; one more follows, for lists. */
export const COMPANIES = 64

/** Environment of the benchmarks: one Postgres, and each server in a separate process. */
export interface Environment {
  readonly database: BenchDatabase
  readonly shops: readonly Shop[]
  /** Shop of the service only. */
  readonly listShop: Shop
  readonly service: Child
  readonly floorA: Child
  /** Starts another floor; it is stopped with the environment. */
  start(program: string, env: Record<string, string>, how?: Starting): Promise<Child>
}

export const PANEL_QUOTAS = {
  PANEL_QUOTA_PER_SESSION: '1000000',
  PANEL_QUOTA_PER_USER: '1000000',
  PANEL_QUOTA_PER_COMPANY: '1000000',
}

/** Quotas that refuse no call, but still count every call. */
export const QUOTAS = {
  QUOTA_PER_MINUTE: '1000000',
  QUOTA_PER_DAY: '1000000000',
  QUOTA_BYTES_PER_DAY: '1000000000000000',
  SYNC_QUOTA_PER_MINUTE: '1000000',
  ...PANEL_QUOTAS,
}

interface Watched {
  /** Directory for a profile of the service. */
  readonly profile: string | null
  /** Settings of the embedded Postgres. */
  readonly settings: Record<string, string>
}

/** Runs `work` in a complete environment, and stops it afterwards, also on failures and signals. */
export async function withEnvironment(
  { profile, settings }: Watched,
  work: (environment: Environment) => Promise<void>,
): Promise<void> {
  const stops: (() => Promise<void>)[] = []
  let stopping: Promise<void> | undefined
  const stopAll = () => {
    stopping ??= (async () => {
      for (const stop of stops.reverse()) await stop().catch((error: unknown) => console.error(error))
    })()
    return stopping
  }
  const interrupt = () => void stopAll().then(() => process.exit(130))
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt)
  try {
    await work(await prepare({ profile, settings }, stops))
  } finally {
    await stopAll()
    process.removeListener('SIGINT', interrupt).removeListener('SIGTERM', interrupt)
  }
}

async function prepare({ profile, settings }: Watched, stops: (() => Promise<void>)[]): Promise<Environment> {
  build()
  const database = await startDatabase(settings)
  stops.push(() => database.stop())
  const shops = await createShops(database.url, COMPANIES + 1)
  const listShop = shops.pop() as Shop
  await installFloor(database.url, shops)
  await asAfterADay(database)
  const start = async (program: string, env: Record<string, string>, how: Starting = {}) => {
    const { nodeOptions = [], ready = '/health/live', cwd = ROOT } = how
    const child = await startChild(program, { env: { MASTER_KEY, ...env }, nodeOptions, ready, cwd })
    stops.push(() => child.stop())
    return child
  }
  const env = { DATABASE_URL: database.url, LOG_LEVEL: 'warn', WEBHOOK_ALLOW_PRIVATE: 'true', ...QUOTAS }
  const profiling = profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--import=${SAMPLER}`] : []
  const profiled: Record<string, string> = profile ? { [ALLOCATIONS_FILE]: allocationsIn(profile) } : {}
  const service = await start(
    'dist/src/main.js',
    { ...env, ...profiled },
    {
      nodeOptions: profiling,
      // It is alive before it is ready.
      ready: '/health/ready',
    },
  )
  const floorA = await start('dist/bench/floor-a.js', env)
  return { database, shops, listShop, service, floorA, start }
}

interface Starting {
  readonly nodeOptions?: readonly string[]
  /** Path that answers 200 once the server may be measured. */
  readonly ready?: string
  /** Directory of another checkout to run. */
  readonly cwd?: string
}

/** Compiled like `npm start`: the debugging code of tsx would distort the comparison. */
function build(): void {
  compiled.build()
  compiled.compile(PROGRAMS)
}
