import { updateItem } from '#commands/catalog/items.ts'
import { updateCustomer } from '#commands/people/customers.ts'
import { cancelSale } from '#commands/sales/cancel-sale.ts'
import { registerSale, SaleInput } from '#commands/sales/register-sale.ts'
import { withCompanyAsOf } from '#integrity/audit/as-of.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { getItem, searchItems } from '#queries/catalog/items.ts'
import { receivableListing, searchAccounts, sumAccounts } from '#queries/finance/accounts.ts'
import { customerListing, getCustomer, listPersonsByName } from '#queries/people.ts'
import { getSale, getSaleTraces, listLatestSales } from '#queries/sales/sales.ts'
import type { Core } from '#service/core.ts'
import type { Books } from './books.ts'
import { type CostLine, costOf, countOwn, type Gauge, gaugeOf, middleOf } from './cost.ts'
import { administer, type BenchDatabase, withOwnDatabase } from './database.ts'
import type { Environment } from './environment.ts'
import { fill } from './history.ts'
import { isNamed, type Options } from './options.ts'
import type { Line } from './report.ts'
import { median, spread } from './rounds.ts'
import { saleBody } from './sale-requests.ts'
import { seedSales } from './seed-sales.ts'
import { createShops, run, type Shop, withCore } from './shop.ts'

const EVENTS = 1_000_000
/** Events of customers with accounts, before the first sale. */
const EARLY_EVENTS = 40_000
/** Events per week of a shop with a million events a year. */
const WEEK_EVENTS = 20_000
const BATCH = 400

const RECORD = 'as-of-record'
const WEEK = 'as-of-week'
const FIRST_DAY = 'as-of-first-day'
export const AS_OF_BENCHMARKS: readonly string[] = [RECORD, WEEK, FIRST_DAY]

/** Milliseconds, for the slowest kind of page. */
const TARGETS = { [RECORD]: 100, [WEEK]: 500, [FIRST_DAY]: 5_000 } as const

/** As-of reads of a company with 1,000,000 events. Filling it takes minutes, so it must be named. */
export async function benchAsOf({ database }: Environment, options: Options, _books: Books): Promise<Line[]> {
  if (!isNamed(options, AS_OF_BENCHMARKS)) return []
  // A database of its own, because a rebuild covers all ledgers of a database.
  return withOwnDatabase(database, async (url, ownerUrl) => {
    const [shop] = await createShops(url, 1)
    if (!shop) throw new Error('there is no shop to look back at')
    await withCore(url, (core) => grow(core, { url, ownerUrl }, shop))
    const gauge = await gaugeOf(countOwn(url), url)
    return withCore(url, (core) => lookBack({ core, gauge, options }, shop))
  })
}

interface Looking {
  readonly core: Core
  readonly gauge: Gauge
  readonly options: Options
}

async function lookBack(looking: Looking, shop: Shop): Promise<Line[]> {
  const { core } = looking
  const { rows } = await core.pool.query<{ revision: number }>('select revision from ledgers where company_id = $1', [
    shop.companyId,
  ])
  const revision = rows[0]?.revision ?? 0
  const week = revision - WEEK_EVENTS
  const ids = { sale: await idAt(core, shop, 'sales', week), customer: await idAt(core, shop, 'customers', week) }
  const record: Page[] = [
    [
      'sale',
      (past) =>
        Promise.all([getSale(past.pool, shop.companyId, ids.sale), getSaleTraces(past.pool, shop.companyId, ids.sale)]),
    ],
    ['item', (past) => getItem(past.pool, shop.companyId, shop.items[0]?.id ?? 0)],
    ['customer', (past) => getCustomer(past.pool, shop.companyId, ids.customer)],
  ]
  return [
    await slowest(looking, shop, RECORD, week, record),
    await slowest(looking, shop, WEEK, week, PAGES),
    await slowest(looking, shop, FIRST_DAY, 1_000, PAGES),
  ]
}

interface Past {
  readonly pool: Core['pool']
  readonly companyId: number
  readonly timezone: string
  readonly today: string
}

type Page = readonly [name: string, show: (past: Past) => Promise<unknown>]

const LIMIT = { limit: 50 }
const PAGES: readonly Page[] = [
  ['sales', ({ pool, companyId, timezone }) => listLatestSales(pool, companyId, { ...LIMIT, timezone })],
  ['items', ({ pool, companyId }) => searchItems(pool, companyId, LIMIT)],
  ['customers', ({ pool, companyId }) => listPersonsByName(pool, customerListing, companyId, LIMIT)],
  [
    'accounts',
    async ({ pool, companyId, today }) => [
      await searchAccounts(pool, receivableListing, companyId, LIMIT, today),
      await sumAccounts(pool, receivableListing, companyId, {}, today),
    ],
  ],
]

async function grow(core: Core, { url, ownerUrl }: Pick<BenchDatabase, 'url' | 'ownerUrl'>, shop: Shop): Promise<void> {
  const start = performance.now()
  const early = await fill(core, shop.companyId, EARLY_EVENTS)
  const sales = EVENTS - WEEK_EVENTS - early
  const ids = await seedSales(core, url, shop, sales)
  const customers = await customersOf(core, shop)
  for (let done = 0; done < WEEK_EVENTS; done += BATCH) {
    const happened = Array.from({ length: BATCH }, (_, n) => lately(shop, done + n, ids, customers))
    await run(core, shop.companyId, happened)
  }
  await administer(ownerUrl, (client) => client.query('vacuum (analyze) read.sales, read.receivables, ledger.events'))
  const { rows } = await core.pool.query<{ revision: number; bytes: number }>(
    `select revision, pg_total_relation_size('read.row_pasts') as bytes from ledgers where company_id = $1`,
    [shop.companyId],
  )
  const { revision = 0, bytes = 0 } = rows[0] ?? {}
  const seconds = Math.round((performance.now() - start) / 1000)
  console.log(
    `${revision + 1} events are there after ${seconds} s; row_pasts has ${Math.round(bytes / revision)} bytes an event`,
  )
}

/** Events of the last week: mostly sales, and changes of old records. */
function lately(shop: Shop, n: number, sales: readonly number[], customers: readonly number[]): Invocation {
  const customer = customers[(n * 7) % customers.length] as number
  if (n % 20 === 1) return invoke(updateCustomer, { id: customer, changes: { name: `Cliente de hoje ${n}` } })
  if (n % 20 === 2) return invoke(cancelSale, { id: sales[n * 11] as number, reason: null } as never)
  if (n % 20 === 3) {
    const item = shop.items[n % shop.items.length]
    return invoke(updateItem, { id: item?.id ?? 0, changes: { name: `Produto de hoje ${n}` } } as never)
  }
  return invoke(registerSale, SaleInput.parse(saleBody(shop, `semana-${n}`)))
}

async function customersOf(core: Core, { companyId }: Shop): Promise<number[]> {
  const { rows } = await core.pool.query<{ id: number }>('select id from customers where company_id = $1', [companyId])
  return rows.map(({ id }) => id)
}

/** Id of a record that has changed since. */
async function idAt(core: Core, { companyId }: Shop, table: string, revision: number): Promise<number> {
  const { rows } = await core.pool.query<{ id: number }>(
    `select id from ${table} where company_id = $1 and revision > $2 and first_revision < $2 limit 1`,
    [companyId, revision],
  )
  if (!rows[0]) throw new Error(`nothing in ${table} has changed since revision ${revision}`)
  return rows[0].id
}

async function slowest(
  { core, gauge, options: { rounds } }: Looking,
  { companyId }: Shop,
  name: keyof typeof TARGETS,
  revision: number,
  pages: readonly Page[],
): Promise<Line> {
  const figures: { name: string; times: number[]; cost: CostLine | null }[] = []
  for (const [page, show] of pages) {
    const times: number[] = []
    const look = async () => {
      const start = performance.now()
      const done = await withCompanyAsOf(core, companyId, { revision }, async ({ pool, calendar }) => {
        return { shown: await show({ pool, companyId, ...calendar }) }
      })
      if (isRefusal(done)) throw new Error(JSON.stringify(done))
      times.push(performance.now() - start)
    }
    await look()
    const { spent } = await gauge(async () => {
      for (let round = 0; round < rounds; round++) await look()
    })
    const cost = spent && middleOf('page', [costOf('page', rounds, spent)])
    figures.push({ name: page, times: times.slice(1), cost })
  }
  for (const { name: page, times } of figures) console.log(`${name}: ${page} ${Math.round(median(times))} ms`)
  const [worst] = figures.sort((a, b) => median(b.times) - median(a.times))
  const times = worst?.times ?? []
  const value = Math.round(median(times))
  const target = TARGETS[name]
  return {
    name,
    value,
    unit: 'ms',
    floor: target,
    ratio: Math.round((value / target) * 1000) / 1000,
    target: 1,
    higher_is_better: false,
    against: 'what it may take',
    spreads: [spread(times)],
    cost: worst?.cost ?? null,
  }
}
