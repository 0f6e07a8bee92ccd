import type { Books } from './books.ts'
import { costingOf } from './cost.ts'
import { administer } from './database.ts'
import { type Loading, loadSide } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { batch, createSales, inTurn, names, sync, upload } from './requests.ts'
import { measureInTurns } from './rounds.ts'
import { CONNECTIONS } from './sales.ts'
import type { Environment } from './servers.ts'
import { createCatalog, STOCK } from './shop.ts'

const SALES = 1_000
const CUSTOMERS = 500
const PRODUCTS = 50_000
export const UPLOAD_BENCHMARK = `upload-${SALES}`
export const BATCH_BENCHMARK = `batch-${CUSTOMERS}`
export const PRODUCTS_BENCHMARK = `products-${PRODUCTS}`

/** Concurrent uploads of tills, batches of integrators, and downloads; uploads and batches of different companies. */
const TILLS = 2
const INTEGRATORS = 4
const DOWNLOADS = 4

/** Measures the service and a floor by turns, with the costs of the service. */
async function beside(
  { service, database }: Environment,
  options: Options,
  result: { readonly name: string; readonly unit: string; readonly per: string; readonly target: number },
  own: Omit<Loading, 'name' | 'url'>,
  floor: Loading,
): Promise<Line[]> {
  const { per, ...compared } = result
  const costing = await costingOf(service, database, per)
  const sides = [loadSide({ ...own, name: 'service', url: service.url, costing }), loadSide(floor)]
  const figures = await measureInTurns(sides, options)
  return [{ ...compare(figures, { ...compared, value: 'service', floor: floor.name }), cost: costing.cost() }]
}

/**
 * POST /api/sync/sales with 1,000 offline sales of 3 items, compared with floor A, which registers one sale per request
 * on many connections and over all companies, its fastest mode.
 */
export async function benchUpload(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!isSelected(options, UPLOAD_BENCHMARK)) return []
  const { floorA, shops } = environment
  const [name, next] = [names('pdv'), inTurn(shops)]
  const own = {
    connections: TILLS,
    next: () => upload(next(), name(), SALES),
    each: SALES,
    // The check of the books finds refused sales.
    acknowledge: (sales: number) => books.acknowledgeUploaded(sales),
  }
  const floor = {
    name: 'floor A',
    url: floorA.url,
    connections: CONNECTIONS,
    next: createSales(shops),
    acknowledge: (sales: number) => books.acknowledge('floor', sales),
  }
  const result = { name: UPLOAD_BENCHMARK, unit: 'sales/s', per: 'sale', target: 8 }
  return beside(environment, options, result, own, floor)
}

/**
 * POST /customers/batch with 500 new customers, compared with a hand-written handler that upserts them in one
 * statement.
 */
export async function benchBatch(environment: Environment, options: Options): Promise<Line[]> {
  if (!isSelected(options, BATCH_BENCHMARK)) return []
  const { shops, database } = environment
  const { url } = await environment.start('dist/bench/floor-others.js', { DATABASE_URL: database.url })
  const batches = (prefix: string) => {
    const [name, next] = [names(prefix), inTurn(shops)]
    return { connections: INTEGRATORS, each: CUSTOMERS, next: () => batch(next(), name(), CUSTOMERS) }
  }
  const result = { name: BATCH_BENCHMARK, unit: 'customers/s', per: 'customer', target: 0.2 }
  return beside(environment, options, result, batches('c'), { ...batches('f'), name: 'handler', url })
}

/** GET /sync/products of a company with 50,000 products, compared with a hand-written handler of the same products. */
export async function benchProducts(environment: Environment, options: Options): Promise<Line[]> {
  if (!isSelected(options, PRODUCTS_BENCHMARK)) return []
  const { service, listShop, database, eventStoreUrl } = environment
  await createCatalog({ url: database.url, eventStoreUrl }, listShop, PRODUCTS)
  await administer(database.url, async (client) => {
    await client.query(COPY_TO_FLOOR, [listShop.companyId, STOCK])
    // The service's own table is not analyzed, because a catalog is often downloaded before autovacuum has done it.
    await client.query('analyze floor.catalog_items')
  })
  const env = { DATABASE_URL: database.url, COMPANY: String(listShop.companyId) }
  const { url } = await environment.start('dist/bench/floor-others.js', env)
  for (const each of [service.url, url]) await assertDownload(each, listShop.token)
  const downloads = { connections: DOWNLOADS, next: () => sync(listShop, 'products') }
  const result = { name: PRODUCTS_BENCHMARK, unit: 'downloads/s', per: 'download', target: 0.8 }
  return beside(environment, options, result, downloads, { ...downloads, name: 'handler', url })
}

// With the initial stock: the floor has sold none of it.
const COPY_TO_FLOOR = `
  insert into floor.catalog_items (company_id, id, external_id, name, price, stock, stock_updated_at, revision, changed_at)
  select company_id, id, external_id, name, price, $2::numeric, changed_at, revision, changed_at
  from read.catalog_items where company_id = $1`

async function assertDownload(url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/api/sync/products`, { headers: { Authorization: `Bearer ${token}` } })
  const { data } = (await response.json()) as { data?: unknown[] }
  if (data?.length !== PRODUCTS) throw new Error(`${response.status}: ${data?.length} products, not ${PRODUCTS}`)
}
