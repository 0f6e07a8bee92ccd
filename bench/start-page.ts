import { setTimeout as pause } from 'node:timers/promises'
import { costingOf } from './cost.ts'
import { type Addresses, administer, vacuum } from './database.ts'
import { type Call, generate, type Load } from './load.ts'
import { isNamed, isSelected, type Options } from './options.ts'
import { bounded, type Line } from './report.ts'
import { createSales, panelPage } from './requests.ts'
import { measureInTurns, median, type Side, WARM_UP_ROUNDS } from './rounds.ts'
import { type Checkout, type Environment, runVerb, withCheckout } from './servers.ts'

const SALES = 1_000_000
const DAYS = 365
const ITEMS = 2_000
const LONGEST_MS = 300
const PAGES_OF_ROUND = 3

const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
const since = (days: number) => `?periodo=intervalo&de=${daysAgo(days)}&ate=${daysAgo(0)}`
const PERIODS: Readonly<Record<string, string>> = {
  hoje: '?periodo=hoje',
  '7': '?periodo=7',
  '30': '?periodo=30',
  mes: '?periodo=mes',
  '90': since(89),
  '365': since(364),
}

const nameOf = (period: string) => `start-page-${period}`
export const START_PAGE_BENCHMARKS: readonly string[] = Object.keys(PERIODS).map(nameOf)

/**
 * Start page of the panel for a company with a million sales in a year, each of three of 2,000 products: the whole
 * page, per period, one request after the other.
 */
export async function benchStartPage(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, START_PAGE_BENCHMARKS)) return []
  return withCheckout(environment, { companies: 1 }, async (checkout) => {
    const { url } = checkout.service
    const calls = await prepareStartPages(checkout, SALES)
    const lines: Line[] = []
    for (const [name, next] of calls) {
      if (!isSelected(options, name)) continue
      const costing = await costingOf(checkout.service, checkout.database, 'page')
      const times: number[] = []
      const side: Side = {
        name,
        async measure(requests) {
          const onAnswer: Load['onAnswer'] = (_, { took_ms }) => times.push(took_ms)
          const load = { url, connections: 1, seconds: 600, requests, next, onAnswer }
          return (
            await costing.round(
              () => generate(load),
              ({ answered }) => answered,
            )
          ).perSecond
        },
      }
      await measureInTurns([side], { ...options, seconds: PAGES_OF_ROUND })
      const value = median(times.slice(WARM_UP_ROUNDS * PAGES_OF_ROUND))
      lines.push(bounded({ name, value, unit: 'ms', cost: costing.cost() }, LONGEST_MS))
    }
    return lines
  })
}

/** Fills the first company of a checkout, logs its owner in, and returns the pages by the names of their benchmarks. */
export async function prepareStartPages(checkout: Checkout, sales: number): Promise<Map<string, () => Call>> {
  const { database, service, shops } = checkout
  const { companyId } = shops[0] as Checkout['shops'][number]
  const owner = { email: 'painel@bench.example', password: 'senha do painel do banco' }
  const flags = Object.entries({ company: companyId, name: 'Dona', role: 'owner', ...owner })
  await runVerb(checkout, ['user', 'create', ...flags.flatMap(([flag, value]) => [`--${flag}`, String(value)])])
  await generate({ url: service.url, connections: 1, seconds: 60, requests: 1, next: createSales(shops) })
  await repeatSale(database, sales)
  await vacuum(database)
  const cookie = await logIn(service.url, owner)
  const calls = new Map(
    Object.entries(PERIODS).map(([period, path]) => [nameOf(period), () => panelPage(cookie, `/${path}`)]),
  )
  const begun = performance.now()
  await untilSummed(checkout, companyId, panelPage(cookie, '/'))
  console.log(`start-page: sums of ${sales} sales took ${Math.round((performance.now() - begun) / 1_000)} s, once`)
  return calls
}

async function logIn(url: string, owner: Record<string, string>): Promise<string> {
  const form = { method: 'POST', body: new URLSearchParams(owner), redirect: 'manual' } as const
  const response = await fetch(`${url}/painel/entrar`, form)
  const cookie = response.headers
    .getSetCookie()
    .find((each) => each.startsWith('tillbook='))
    ?.split(';')[0]
  if (response.status !== 303 || cookie === undefined) throw new Error(`the login was answered ${response.status}`)
  return cookie
}

/** The first pages, and the projector meanwhile, add up all sales. */
async function untilSummed({ database, service }: Checkout, companyId: number, page: Call): Promise<void> {
  await administer(database.url, async (client) => {
    for (;;) {
      await generate({ url: service.url, connections: 1, seconds: 600, requests: 1, next: () => page })
      const { rowCount } = await client.query(
        `select from read.rollup_states where company_id = $1 and is_filled
         and widened_to >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC'`,
        [companyId],
      )
      if (rowCount === 1) return
      await pause(100)
    }
  })
}

/** Copies one sale with other times and products: rows only, because current pages read no events. */
async function repeatSale({ ownerUrl }: Addresses, count: number): Promise<void> {
  await administer(ownerUrl, async (client) => {
    await client.query(`set search_path to read; create temporary table pattern as select * from sales limit 1;
      create temporary table product as select * from catalog_items limit 1;
      update product set doc = doc::jsonb || '{"name": "Produto"}', external_id = null, sku = null, barcode = null`)
    const columns = async (table: string, changed: Readonly<Record<string, string>>) => {
      const { rows } = await client.query<{ name: string }>(
        `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
        [`read.${table}`],
      )
      return rows.map(({ name }) => changed[name] ?? `p.${name}`).join(', ')
    }
    const products = await columns('catalog_items', { id: 'n', sort_key: `'produto ' || n`, search: `'produto ' || n` })
    const numbers = `generate_series(1000, ${ITEMS + 1000}) n`
    await client.query(`insert into catalog_items select ${products} from product p, ${numbers}`)
    const stocks = await columns('item_stocks', { id: 'n' })
    await client.query(
      `insert into item_stocks select ${stocks} from (select * from item_stocks limit 1) p, ${numbers}`,
    )
    const at = `now() - make_interval(days => n % ${DAYS}, secs => (n * 7919::bigint % 43200)::float8)`
    const sales = await columns('sales', {
      id: 'p.id + n',
      external_id: 'null',
      actor: `'user/' || 1 + n % 5`,
      sold_at: at,
      changed_at: at,
      revision: 'n',
      doc: `jsonb_set(p.doc::jsonb, '{items}', (select jsonb_agg(line || jsonb_build_object('catalog_item_id', 1000 + (n * place * 104729::bigint + n / 7) % ${ITEMS}))
        from jsonb_array_elements(p.doc::jsonb -> 'items') with ordinality as lines (line, place)))::json`,
    })
    await client.query(`insert into sales select ${sales} from pattern p, generate_series(1, ${count}) n`)
    // Rows that nothing recorded: the sums begin anew.
    await client.query('delete from rollup_states')
  })
}
