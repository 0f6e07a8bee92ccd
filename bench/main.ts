import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { AGAINST_BENCHMARK, benchAgainst } from './against.ts'
import { AS_OF_BENCHMARKS, benchAsOf } from './as-of.ts'
import { BATCH_BENCHMARK, benchBatch } from './batch.ts'
import { Books } from './books.ts'
import { benchDay, DAY_BENCHMARKS } from './day.ts'
import { benchDirectory, DIRECTORY_BENCHMARKS } from './directory.ts'
import { withEnvironment } from './environment.ts'
import { benchEventStore, EVENT_STORE_BENCHMARKS } from './event-store.ts'
import { STATEMENT_TIMES } from './flame/postgres.ts'
import { startFlame } from './flame.ts'
import { benchGrowth, GROWTH_BENCHMARKS } from './growth.ts'
import { benchListWhileWritten, LIST_WHILE_WRITTEN_BENCHMARK } from './list-while-written.ts'
import { benchMixed, MIXED_BENCHMARKS } from './mixed.ts'
import { benchNeighbour, NEIGHBOUR_BENCHMARKS } from './neighbour.ts'
import { isSelected, type Options, readOptions } from './options.ts'
import { benchProducts, PRODUCTS_BENCHMARK } from './products.ts'
import { benchProof, PROOF_BENCHMARKS } from './proof.ts'
import { benchRebuild, REBUILD_BENCHMARK } from './rebuild.ts'
import { costTableOf, type Line, tableOf, toResult } from './report.ts'
import { benchSales, SALES_BENCHMARKS } from './sales.ts'
import { benchSalesList, SALES_LIST_BENCHMARKS } from './sales-list.ts'
import { benchScale, SCALE_BENCHMARKS } from './scale.ts'
import { benchStartPage, START_PAGE_BENCHMARKS } from './start-page.ts'
import { benchStream, STREAM_BENCHMARKS } from './stream.ts'
import { benchUpload, UPLOAD_BENCHMARK } from './upload.ts'
import { benchWebhooks, WEBHOOK_BENCHMARKS } from './webhooks.ts'

/**
 * `npm run bench`: figures of the service, each beside a floor measured in the same run on the same Postgres.
 * It fails if a response is wrong or a sale is lost; a missed target is only reported, because machines differ.
 */

const NAMES = [
  ...SALES_BENCHMARKS,
  AGAINST_BENCHMARK,
  UPLOAD_BENCHMARK,
  BATCH_BENCHMARK,
  ...SALES_LIST_BENCHMARKS,
  LIST_WHILE_WRITTEN_BENCHMARK,
  PRODUCTS_BENCHMARK,
  ...AS_OF_BENCHMARKS,
  REBUILD_BENCHMARK,
  ...EVENT_STORE_BENCHMARKS,
  ...WEBHOOK_BENCHMARKS,
  ...NEIGHBOUR_BENCHMARKS,
  ...GROWTH_BENCHMARKS,
  ...PROOF_BENCHMARKS,
  ...SCALE_BENCHMARKS,
  ...DIRECTORY_BENCHMARKS,
  ...STREAM_BENCHMARKS,
  ...START_PAGE_BENCHMARKS,
  ...DAY_BENCHMARKS,
  ...MIXED_BENCHMARKS,
]
const BENCHMARKS = [
  benchSales,
  benchAgainst,
  benchUpload,
  benchBatch,
  benchSalesList,
  benchListWhileWritten,
  benchProducts,
  benchAsOf,
  benchRebuild,
  benchEventStore,
  benchWebhooks,
  benchNeighbour,
  benchGrowth,
  benchProof,
  benchScale,
  benchDirectory,
  benchStream,
  benchStartPage,
  benchDay,
  benchMixed,
]

try {
  await main(readOptions(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  if (error instanceof Error && error.cause) console.error(error.cause)
  process.exitCode = 1
}

async function main(options: Options): Promise<void> {
  if (!NAMES.some((name) => isSelected(options, name))) {
    throw new Error(`no benchmark is called ${options.only}; there are ${NAMES.join(', ')}`)
  }
  const lines: Line[] = []
  const flame = options.flame ? await startFlame(options.profile) : null
  const watched = { profile: flame?.directory ?? options.profile, settings: flame ? STATEMENT_TIMES : {} }
  await withEnvironment(watched, async (environment) => {
    console.log(`${environment.database.description}; ${availableParallelism()} cores, Node ${process.version}`)
    const tellPostgres = await flame?.watch(environment.database)
    const books = new Books()
    try {
      for (const bench of BENCHMARKS) lines.push(...(await bench(environment, options, books)))
    } finally {
      print(lines)
    }
    await tellPostgres?.()
    if (options.json) await writeFile(options.json, `${JSON.stringify({ results: lines.map(toResult) }, null, 2)}\n`)
    await books.check(environment.database)
  })
  await flame?.tellService()
}

function print(lines: readonly Line[]): void {
  console.log(`\n${tableOf(lines)}\n`)
  const costs = costTableOf(lines)
  if (costs) console.log(`${costs}\n`)
}
