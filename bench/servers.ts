import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '#postgres/embedded.ts'
import { MASTER_KEY } from '../test/support/master-key.ts'
import type { Counting } from './cost.ts'
import { type Addresses, asAfterADay, type BenchDatabase, startDatabase, withOwnDatabase } from './database.ts'
import { installFloor } from './floor-install.ts'
import type { Options } from './options.ts'
import { createShops, type Shop } from './shop.ts'

const compiled = createRequire(import.meta.url)('../tools/compiled.cjs') as {
  build(): void
  compile(programs: readonly string[]): void
}

export const ROOT = fileURLToPath(new URL('../', import.meta.url))
export const execute = promisify(execFile)

const PROGRAMS = ['counts', 'floor-a', 'floor-others', 'rebuild-round', 'webhook-receiver']

/** Server in a separate process, which counts its work if it has a database. */
export interface Child extends Counting {
  readonly url: string
  stop(): Promise<void>
}

interface Starting {
  readonly nodeOptions?: readonly string[]
  /** Path that answers 200 once the server may be measured. */
  readonly ready?: string
  /** Directory of another checkout to run. */
  readonly cwd?: string
}

const [READY_TIMEOUT_MS, STOP_TIMEOUT_MS, POLL_MS] = [60_000, 20_000, 25]
/** Printed part of the output of a program that does not start. */
const SHOWN_CHARACTERS = 20_000

/** Starts a compiled program that listens on PORT and waits until it is ready. */
async function startChild(program: string, env: Record<string, string>, how: Starting): Promise<Child> {
  const { nodeOptions = [], ready = '/health/live', cwd = ROOT } = how
  const port = await freePort(null)
  const { PATH = '', HOME = '' } = process.env
  // A separate directory for its database.
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'tillbook-bench-'))
  const { DATABASE_URL } = env
  const counting = DATABASE_URL ? [`--import=${join(ROOT, 'dist/bench/counts.js')}`] : []
  const COUNTED_PORT = DATABASE_URL ? new URL(DATABASE_URL).port : ''
  const child = spawn(process.execPath, [...nodeOptions, ...counting, program], {
    cwd,
    env: { PATH, HOME, NODE_ENV: 'production', DATA_DIR, COUNTED_PORT, MASTER_KEY, ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-SHOWN_CHARACTERS)
    })
  const url = `http://127.0.0.1:${port}`
  try {
    await untilReady(child, `${url}${ready}`)
  } catch (error) {
    child.kill('SIGKILL')
    throw new Error(`${program} does not start:\n${output}`, { cause: error })
  }
  void once(child, 'exit').then(() => rm(DATA_DIR, { recursive: true, force: true }))
  return { url, pid: child.pid as number, roundTrips: () => roundTripsOf(child), stop: () => stop(child) }
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS
  while (Date.now() < deadline) {
    if (hasEnded(child)) throw new Error('it has ended')
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    await pause(POLL_MS)
  }
  throw new Error('it does not become ready')
}

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await ended
  clearTimeout(timer)
}

async function roundTripsOf(child: ChildProcess): Promise<number> {
  child.send('count')
  const [count] = (await once(child, 'message')) as [number]
  return count
}

/** Companies of the sales benchmarks; one more follows, for lists. */
export const COMPANIES = 64

/** Environment of the benchmarks: one Postgres, and each server in a separate process. */
export interface Environment {
  readonly database: BenchDatabase
  /** EventStoreDB of the ledgers of its companies, if they are not in Postgres. */
  readonly eventStoreUrl: string | undefined
  readonly shops: readonly Shop[]
  /** Shop of the service only. */
  readonly listShop: Shop
  readonly service: Child
  readonly floorA: Child
  /** Starts another server; it is stopped with the environment. */
  start(program: string, env: Record<string, string>, how?: Starting): Promise<Child>
}

/** Settings of a measured service: quotas that refuse no call, but still count every call. */
export const SETTINGS = {
  LOG_LEVEL: 'warn',
  WEBHOOK_ALLOW_PRIVATE: 'true',
  QUOTA_PER_MINUTE: '1000000',
  QUOTA_PER_DAY: '1000000000',
  QUOTA_BYTES_PER_DAY: '1000000000000000',
  SYNC_QUOTA_PER_MINUTE: '1000000',
  PANEL_QUOTA_PER_SESSION: '1000000',
  PANEL_QUOTA_PER_USER: '1000000',
  PANEL_QUOTA_PER_COMPANY: '1000000',
}

/** Compiled like `npm start`: the debugging code of tsx would distort the comparison. It is alive before it is ready. */
export const startService = (
  start: Environment['start'],
  env: Record<string, string>,
  how: Starting = {},
): Promise<Child> => start(programOf(how.cwd ?? ROOT), { ...SETTINGS, ...env }, { ready: '/health/ready', ...how })

/** What `npm start` runs in a checkout, which may have another name there. */
function programOf(directory: string): string {
  const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [program] = /dist\/\S+\.js/.exec(scripts.start) ?? []
  if (!program) throw new Error(`npm start of ${directory} names no compiled program`)
  return program
}

/** Runs `work` in a complete environment, and stops it afterwards, also on failures and signals. */
export async function withEnvironment(
  { node }: Options,
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
    await work(await prepare(node, stops))
  } finally {
    await stopAll()
    process.removeListener('SIGINT', interrupt).removeListener('SIGTERM', interrupt)
  }
}

async function prepare(nodeOptions: readonly string[], stops: (() => Promise<void>)[]): Promise<Environment> {
  compiled.build()
  compiled.compile(PROGRAMS.map((name) => `bench/${name}.ts`))
  const database = await startDatabase()
  stops.push(() => database.stop())
  const { EVENTSTORE_URL: eventStoreUrl } = process.env
  const shops = await createShops(database.url, COMPANIES + 1, { eventStoreUrl })
  const listShop = shops.pop() as Shop
  await installFloor(database.url, shops)
  await asAfterADay(database)
  const start: Environment['start'] = async (program, env, how = {}) => {
    const child = await startChild(program, env, how)
    stops.push(() => child.stop())
    return child
  }
  const ledgers: Record<string, string> = eventStoreUrl ? { EVENTSTORE_URL: eventStoreUrl } : {}
  const service = await startService(start, { DATABASE_URL: database.url, ...ledgers }, { nodeOptions })
  const floorA = await start('dist/bench/floor-a.js', { ...SETTINGS, DATABASE_URL: database.url })
  return { database, eventStoreUrl, shops, listShop, service, floorA, start }
}

/** A service of a checkout, with shops on a database of its own on the same Postgres. */
export interface Checkout {
  readonly directory: string
  readonly database: Addresses
  readonly service: Child
  readonly shops: readonly Shop[]
}

interface CheckoutOptions {
  readonly companies: number
  /** Checkout with installed packages; its code migrates and fills the database. */
  readonly directory?: string
  readonly hooksOf?: (place: number) => readonly string[]
}

/** Runs `work` beside the service of a checkout (this one by default), which is stopped afterwards. */
export function withCheckout<T>(
  { database: server, start }: Pick<Environment, 'database' | 'start'>,
  { companies, directory = ROOT, hooksOf }: CheckoutOptions,
  work: (checkout: Checkout) => Promise<T>,
): Promise<T> {
  const isOwn = directory === ROOT
  return withOwnDatabase(
    server,
    async (database) => {
      const shops = isOwn
        ? await createShops(database.url, companies, hooksOf && { hooksOf })
        : await createShopsBy(directory, database, companies)
      await asAfterADay(database)
      const service = await startService(start, { DATABASE_URL: database.url }, { cwd: directory })
      return work({ directory, database, service, shops }).finally(() => service.stop())
    },
    { isEmpty: !isOwn },
  )
}

/** Migrates and fills a database with the code of a checkout, which also compiles its service. */
async function createShopsBy(directory: string, { url, ownerUrl }: Addresses, companies: number): Promise<Shop[]> {
  await execute(process.execPath, ['tools/compiled.cjs'], { cwd: directory })
  const [databaseUrl, owner] = [url, ownerUrl].map((each) => JSON.stringify(each))
  const program = `
    import { createPool } from '#postgres/pool.ts'
    import { migrateAsOwner } from '#postgres/migrate.ts'
    import { createShops } from './bench/shop.ts'
    const pool = createPool(${databaseUrl}, { max: 1 })
    await migrateAsOwner({ pool, databaseUrl: ${databaseUrl}, ownerUrl: ${owner} }, { log() {} })
    await pool.end()
    console.log(JSON.stringify(await createShops(${databaseUrl}, ${companies})))`
  const options = { cwd: directory, maxBuffer: 64 * 1_048_576 }
  const { stdout } = await execute(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program], options)
  return JSON.parse(stdout) as Shop[]
}

/** Runs a verb of a checkout's command line on its database. */
export async function runVerb(
  { directory, database }: Pick<Checkout, 'directory' | 'database'>,
  verb: readonly string[],
): Promise<void> {
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, MASTER_KEY, DATABASE_URL: database.url, DATABASE_OWNER_URL: database.ownerUrl }
  await execute(process.execPath, ['dist/src/cli/main.js', ...verb], { cwd: directory, env })
}
