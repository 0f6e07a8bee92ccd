import { createEventStoreDb } from '#ledger/stores/eventstoredb.ts'
import type { Core } from '#service/core.ts'
import { MASTER_KEY } from '../test/support/master-key.ts'
import { BATCH_BENCHMARK, benchBatch } from './batch.ts'
import { Books } from './books.ts'
import { administer, asAfterADay, withOwnDatabase } from './database.ts'
import { COMPANIES, type Environment, QUOTAS } from './environment.ts'
import { installFloor } from './floor-a/install.ts'
import { fill } from './history.ts'
import { isSelected, type Options } from './options.ts'
import { measureRebuilds } from './rebuild.ts'
import type { Line } from './report.ts'
import { benchSales, SALES_BENCHMARKS } from './sales.ts'
import { createShops, withCore } from './shop.ts'
import { benchUpload, UPLOAD_BENCHMARK } from './upload.ts'

/** Relative to floor A, which stores its events in Postgres. */
const TARGETS: Readonly<Record<string, number>> = { 'sales-64': 2 }
const SUFFIX = '-eventstoredb'
/** Events that a rebuild reads besides the sales, and their companies. */
const EVENTS = 20_000
const FILLED = 4
const REBUILD = `rebuild${SUFFIX}`
const BENCHMARKS = [
  { names: SALES_BENCHMARKS, bench: benchSales },
  { names: [UPLOAD_BENCHMARK], bench: benchUpload },
  { names: [BATCH_BENCHMARK], bench: benchBatch },
]
export const EVENT_STORE_BENCHMARKS: readonly string[] = [
  ...BENCHMARKS.flatMap(({ names }) => names.map((name) => `${name}${SUFFIX}`)),
  REBUILD,
]

/**
 * The same with ledgers in the EventStoreDB of EVENTSTORE_URL, on a separate database: cost of a sale, an upload and a
 * batch, and
 * a rebuild of their events. The processor time of EventStoreDB is not measured.
 *
 * @throws if the store already contains ledgers, which would distort the figures
 */
export async function benchEventStore(environment: Environment, options: Options): Promise<Line[]> {
  const { EVENTSTORE_URL } = process.env
  if (!EVENT_STORE_BENCHMARKS.some((name) => isSelected(options, name))) return []
  if (!EVENTSTORE_URL) {
    if (options.only?.endsWith(SUFFIX)) throw new Error(`${options.only} needs EVENTSTORE_URL, an empty EventStoreDB`)
    return []
  }
  await assertEmpty(EVENTSTORE_URL)
  return withOwnDatabase(environment.database, async (url, ownerUrl) => {
    const { database, start } = environment
    const shops = await createShops(url, COMPANIES, EVENTSTORE_URL)
    await installFloor(url, shops)
    await asAfterADay({ url, ownerUrl })
    const env = { DATABASE_URL: url, MASTER_KEY, LOG_LEVEL: 'warn', ...QUOTAS }
    const nodeOptions = ['--enable-source-maps']
    const service = await start('dist/src/main.js', { ...env, EVENTSTORE_URL }, { nodeOptions, ready: '/health/ready' })
    const floorA = await start('dist/bench/floor-a.js', env)
    const own = { ...environment, database: { ...database, url, ownerUrl }, shops, service, floorA }
    const books = new Books()
    const lines: Line[] = []
    for (const { names, bench } of BENCHMARKS) {
      const selected = names.filter((name) => isSelected(options, `${name}${SUFFIX}`))
      const found = selected.length > 0 ? await bench(own, { ...options, only: onlyOf(options) }, books) : []
      lines.push(
        ...found.map((line) => ({ ...line, name: `${line.name}${SUFFIX}`, target: TARGETS[line.name] ?? null })),
      )
    }
    await service.stop()
    await books.check(own.database, { outside: true })
    if (isSelected(options, REBUILD)) {
      const filled = shops.slice(0, FILLED)
      const fillAll = async (core: Core) => {
        for (const { companyId } of filled) await fill(core, companyId, EVENTS / FILLED)
      }
      await withCore(url, fillAll, EVENTSTORE_URL)
      const order = { databaseUrl: url, eventStoreUrl: EVENTSTORE_URL, ends: await endsOf(url) }
      lines.push(await measureRebuilds(REBUILD, order, options))
    }
    await floorA.stop()
    return lines
  })
}

/** Name of the benchmark as for Postgres. */
const onlyOf = ({ only }: Options): string | null => only?.replace(SUFFIX, '') ?? null

async function assertEmpty(url: string): Promise<void> {
  const store = createEventStoreDb(url)
  try {
    for await (const stream of store.streams()) {
      throw new Error(
        `EVENTSTORE_URL has ledgers already (${stream}): benchmarks need an EventStoreDB that is thrown away`,
      )
    }
  } finally {
    await store.close()
  }
}

async function endsOf(url: string): Promise<{ companyId: number; revision: number }[]> {
  const { rows } = await administer(url, (client) =>
    client.query<{ company: string; revision: string }>('select company_id as company, revision from ops.ledgers'),
  )
  return rows.map(({ company, revision }) => ({ companyId: Number(company), revision: Number(revision) }))
}
