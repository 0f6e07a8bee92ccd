import { availableParallelism } from 'node:os'
import { AGAINST_BENCHMARKS, benchAgainst } from './against.ts'
import { Books } from './books.ts'
import * as bulk from './bulk.ts'
import { benchCosts, COST_BENCHMARKS } from './costs.ts'
import { benchLists, LIST_BENCHMARKS } from './lists.ts'
import { benchMixed, MIXED_BENCHMARKS } from './mixed.ts'
import { assertKnown, type Options, readOptions } from './options.ts'
import { benchRebuild, REBUILD_BENCHMARKS } from './rebuild.ts'
import { type Line, reportOf } from './report.ts'
import { benchSales, SALES_BENCHMARKS } from './sales.ts'
import { type Environment, withEnvironment } from './servers.ts'
import { benchStartPage, START_PAGE_BENCHMARKS } from './start-page.ts'
import { benchTools, TOOL_BENCHMARKS } from './tools.ts'
import { benchWebhooks, WEBHOOK_BENCHMARKS } from './webhooks.ts'

/**
 * `npm run bench`: figures of the service, each beside a floor measured in the same run on the same Postgres, or beside
 * those of another checkout. It fails if a response is wrong or a sale is lost; a missed target is only reported,
 * because machines differ.
 */

type Bench = (environment: Environment, options: Options, books: Books) => Promise<Line[]>

const BENCHMARKS: readonly (readonly [readonly string[], Bench])[] = [
  [SALES_BENCHMARKS, benchSales],
  [[bulk.UPLOAD_BENCHMARK], bulk.benchUpload],
  [[bulk.BATCH_BENCHMARK], bulk.benchBatch],
  [LIST_BENCHMARKS, benchLists],
  [[bulk.PRODUCTS_BENCHMARK], bulk.benchProducts],
  [REBUILD_BENCHMARKS, benchRebuild],
  [WEBHOOK_BENCHMARKS, benchWebhooks],
  [START_PAGE_BENCHMARKS, benchStartPage],
  [TOOL_BENCHMARKS, benchTools],
  [MIXED_BENCHMARKS, benchMixed],
  [COST_BENCHMARKS, benchCosts],
]

try {
  await main(readOptions(process.argv.slice(2)))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  if (error instanceof Error && error.cause) console.error(error.cause)
  process.exitCode = 1
}

async function main(options: Options): Promise<void> {
  const benchmarks: typeof BENCHMARKS = options.against === null ? BENCHMARKS : [[AGAINST_BENCHMARKS, benchAgainst]]
  if (options.against === null && options.only?.some((name) => name.endsWith('-against')))
    throw new Error(`${options.only.join(', ')} needs --against DIRECTORY, another checkout`)
  assertKnown(
    options,
    benchmarks.flatMap(([names]) => names),
  )
  const lines: Line[] = []
  await withEnvironment(options, async (environment) => {
    console.log(`${environment.database.description}; ${availableParallelism()} cores, Node ${process.version}`)
    const books = new Books()
    try {
      for (const [, bench] of benchmarks) lines.push(...(await bench(environment, options, books)))
    } finally {
      console.log(`\n${reportOf(lines)}\n`)
    }
    await books.check(environment)
  })
}
