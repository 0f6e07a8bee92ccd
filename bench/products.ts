import type { Books } from './books.ts'
import { type Costing, costingOf } from './cost.ts'
import { administer } from './database.ts'
import type { Environment } from './environment.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createCatalog, STOCK } from './shop.ts'

const PRODUCTS = 50_000
export const PRODUCTS_BENCHMARK = `products-${PRODUCTS}`
/** Concurrent downloads. */
const CONNECTIONS = 4
const TARGET = 0.8

/** GET /sync/products of a company with 50,000 products, compared with a hand-written handler of the same products. */
export async function benchProducts(environment: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isSelected(options, PRODUCTS_BENCHMARK)) return []
  const { service, listShop, database } = environment
  const { token } = listShop
  await createCatalog(database.url, listShop, PRODUCTS)
  await administer(database.url, async (client) => {
    await client.query(COPY_TO_FLOOR, [listShop.companyId, STOCK])
    // The service's own table is not analyzed, because a catalog is often downloaded before autovacuum has done it.
    await client.query('analyze floor.catalog_items')
  })
  const floor = await environment.start('dist/bench/floor-products.js', {
    DATABASE_URL: database.url,
    COMPANY: String(listShop.companyId),
  })
  const costing = await costingOf(service, database, 'download')
  const handler = await costingOf(floor, database, 'download')
  const sides = [
    downloadSide('service', service.url, token, costing),
    downloadSide('handler', floor.url, token, handler),
  ]
  for (const { url } of [service, floor]) await checkDownload(url, token)
  const figures = await measureInTurns(sides, options)
  const result = { name: PRODUCTS_BENCHMARK, unit: 'downloads/s', target: TARGET }
  return [{ ...compare(figures, { value: 'service', floor: 'handler' }, result), cost: costing.cost() }]
}

// With the initial stock: the floor has sold none of it.
const COPY_TO_FLOOR = `
  insert into floor.catalog_items (company_id, id, external_id, name, price, stock, stock_updated_at, revision, changed_at)
  select company_id, id, external_id, name, price, $2::numeric, changed_at, revision, changed_at
  from read.catalog_items where company_id = $1`

async function checkDownload(url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/sync/products`, { headers: { Authorization: `Bearer ${token}` } })
  const { data } = (await response.json()) as { data?: unknown[] }
  if (data?.length !== PRODUCTS) throw new Error(`${response.status}: ${data?.length} products, not ${PRODUCTS}`)
}

function downloadSide(name: string, url: string, token: string, costing: Costing): Side {
  const request =
    'GET /api/sync/products HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n' +
    `Authorization: Bearer ${token}\r\n\r\n`
  return {
    name,
    isFloor: name !== 'service',
    async measure(seconds) {
      const { perSecond } = await costing.round(
        () => generate({ url, connections: CONNECTIONS, seconds, status: 200, next: () => request }),
        ({ answered }) => answered,
      )
      return perSecond
    },
  }
}
