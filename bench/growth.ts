import { encodeCursor } from '#queries/cursor.ts'
import { saleListing } from '#queries/sales/sales.ts'
import type { Books } from './books.ts'
import { type Costing, costingOf } from './cost.ts'
import { administer } from './database.ts'
import type { Environment } from './environment.ts'
import { generate, type Load } from './load.ts'
import { watchMemory } from './memory.ts'
import { isNamed, type Options } from './options.ts'
import { type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import { CONNECTIONS } from './sales.ts'
import { LIMIT, listRequest } from './sales-list.ts'
import { seedSales } from './seed-sales.ts'
import { createShops, type Shop, withCore } from './shop.ts'

const SMALL = 10_000
const LARGE = 1_000_000
const SALES = 'growth-sales'
const PAGES = 'growth-late-pages'
const MEMORY = 'growth-memory'
export const GROWTH_BENCHMARKS: readonly string[] = [SALES, PAGES, MEMORY]

/** Ratio to the figure of the small company, and MiB of the service. */
const TARGET = 1.25
const MEMORY_TARGET_MIB = 200

/** Company with the ids of its sales. */
interface Grown {
  readonly name: string
  readonly shop: Shop
  readonly ids: readonly number[]
}

/** A company with 1,000,000 sales compared with one with 10,000. Filling them takes minutes, so it must be named. */
export async function benchGrowth(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isNamed(options, GROWTH_BENCHMARKS)) return []
  const { service, database } = environment
  const companies = await grow(database.url, books)
  // Autovacuum would do this within minutes, and disturb the measurement.
  await administer(database.ownerUrl, async (client) => {
    await client.query('vacuum (analyze) read.sales, ledger.events')
    await client.query('checkpoint')
  })
  const costings = [await costingOf(service, database, 'sale'), await costingOf(service, database, 'page')] as const
  const { value: lines, peak_mib } = await watchMemory(service.url, async () => [
    await compareTimes(SALES, companies, options, costings[0], ({ shop }) => sellingLoad(service.url, shop, books)),
    await compareTimes(PAGES, companies, options, costings[1], (grown) => pagingLoad(service.url, grown)),
  ])
  return [...lines, memoryLine(peak_mib)]
}

async function grow(databaseUrl: string, books: Books): Promise<Grown[]> {
  const shops = await createShops(databaseUrl, 2)
  return withCore(databaseUrl, async (core) => {
    const companies: Grown[] = []
    for (const [index, sales] of [SMALL, LARGE].entries()) {
      const shop = shops[index] as Shop
      const start = performance.now()
      const ids = await seedSales(core, databaseUrl, shop, sales)
      books.acknowledgeUploaded(sales)
      console.log(`${sales} sales are there after ${Math.round((performance.now() - start) / 1000)} s`)
      const { verification } = await core.verifier.verify(shop.companyId, null)
      if (!verification.valid) throw new Error(`the ledger is broken: ${JSON.stringify(verification)}`)
      companies.push({ name: `${sales} sales`, shop, ids })
    }
    return companies
  })
}

type Loading = Pick<Load, 'url' | 'status' | 'next'> & { readonly acknowledge?: (answered: number) => void }

/** Time per request at full load, in microseconds. */
async function compareTimes(
  name: string,
  companies: readonly Grown[],
  options: Options,
  costing: Costing,
  loadOf: (grown: Grown) => Loading,
): Promise<Line> {
  const [small, large] = companies as [Grown, Grown]
  const sides = [large, small].map((grown): Side => {
    const { acknowledge, ...load } = loadOf(grown)
    return {
      name: grown.name,
      isFloor: grown === small,
      async measure(seconds) {
        const send = () => generate({ ...load, connections: CONNECTIONS, seconds })
        const { answered, perSecond } =
          grown === large ? await costing.round(send, (sent) => sent.answered) : await send()
        acknowledge?.(answered)
        return 1_000_000 / perSecond
      },
    }
  })
  const figures = await measureInTurns(sides, options)
  const result = { name, unit: 'µs a request', target: TARGET }
  const line = lowerIsBetter(figures, { value: large.name, floor: small.name }, result)
  return { ...line, cost: costing.cost() }
}

const sellingLoad = (url: string, shop: Shop, books: Books): Loading => ({
  url,
  status: 201,
  next: createSaleRequests([shop]),
  acknowledge: (answered) => books.acknowledge('service', answered),
})

/** Pages of the last sales, all different, so that none is cached. */
function pagingLoad(url: string, { shop, ids }: Grown): Loading {
  const scope = { companyId: shop.companyId, resource: saleListing.resource, filters: {} }
  let count = 0
  return {
    url,
    status: 200,
    next() {
      count += 1
      const before = ids.at(-LIMIT - 1 - (count % (SMALL / 2))) as number
      return listRequest(shop.key, `cursor=${encodeCursor(scope, [before])}`)
    },
  }
}

const memoryLine = (peak_mib: number): Line => ({
  name: MEMORY,
  value: peak_mib,
  unit: 'MiB',
  floor: MEMORY_TARGET_MIB,
  ratio: Math.round((peak_mib / MEMORY_TARGET_MIB) * 1000) / 1000,
  target: 1,
  higher_is_better: false,
  against: 'what it may have',
  spreads: [],
})
