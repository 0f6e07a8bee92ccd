import { Agent } from 'undici'
import { refreshSalesRollups } from '#projections/refresh-sales-rollups.ts'
import { callsOf, send } from './calls.ts'
import { callerOf } from './companies.ts'
import { administer, type BenchDatabase, vacuum } from './database.ts'
import type { Environment } from './environment.ts'
import { isNamed, type Options } from './options.ts'
import type { Line } from './report.ts'
import { median, spread } from './rounds.ts'
import { withCore } from './shop.ts'
import { type StagedShard, withStage } from './stage.ts'

const SALES = 1_000_000
const DAYS = 365
const ITEMS = 2_000
const TARGET_MS = 300

const isoDay = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)
const PERIODS = {
  hoje: '?periodo=hoje',
  '7': '?periodo=7',
  '30': '?periodo=30',
  mes: '?periodo=mes',
  '90': `?periodo=intervalo&de=${isoDay(89)}&ate=${isoDay(0)}`,
  '365': `?periodo=intervalo&de=${isoDay(364)}&ate=${isoDay(0)}`,
} as const

const nameOf = (period: string) => `start-page-${period}`
export const START_PAGE_BENCHMARKS: readonly string[] = Object.keys(PERIODS).map(nameOf)

/**
 * Start page of the panel for a company with a million sales in a year, each of three of 2,000 products: the whole
 * page, per period.
 */
export async function benchStartPage(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, START_PAGE_BENCHMARKS)) return []
  return withStage(environment, { shards: 1, companiesOfShard: 1 }, async ({ service, shards, meter }) => {
    const { database, companies } = shards[0] as StagedShard
    const caller = callerOf(companies[0] as StagedShard['companies'][number])
    const dispatcher = new Agent()
    try {
      for (const call of callsOf('sale', caller, 'pattern', isoDay(1))) await send(service.url, call, dispatcher)
      await repeatSale(database)
      const begun = performance.now()
      await withCore(database.url, (core) => refreshSalesRollups(core.pool, companies[0]?.companyId as number))
      console.log(`start-page: sums of ${SALES} sales took ${Math.round((performance.now() - begun) / 1000)} s, once`)
      await vacuum(database)
      const lines: Line[] = []
      for (const [period, path] of Object.entries(PERIODS)) {
        const call = {
          method: 'GET',
          path: `/painel/${path}`,
          headers: { cookie: caller.cookie },
          status: 200,
        } as const
        const times: number[] = []
        const { service_us, postgres_us } = await meter.measure(async () => {
          for (let round = 0; round < options.rounds; round++) {
            const { status, code, took_ms } = await send(service.url, call, dispatcher)
            if (status !== 200) throw new Error(`${path} was answered ${status} ${code}`)
            times.push(took_ms)
          }
        })
        const each = (us: number) => Math.round(us / options.rounds / 1000)
        console.log(
          `start-page: ${period} costs ${each(service_us)} ms of the service and ${each(postgres_us)} of Postgres`,
        )
        lines.push(lineOf(nameOf(period), times))
      }
      return lines
    } finally {
      await dispatcher.close()
    }
  })
}

function lineOf(name: string, times: readonly number[]): Line {
  const value = Math.round(median(times))
  const ratio = Math.round((value / TARGET_MS) * 1000) / 1000
  const judged = { floor: TARGET_MS, ratio, target: 1, higher_is_better: false, against: 'what it may take' }
  return { name, value, unit: 'ms', ...judged, spreads: [spread(times)], cost: null }
}

/** Copies one sale with other times and products: rows only, because current pages read no events. */
async function repeatSale({ ownerUrl }: BenchDatabase): Promise<void> {
  await administer(ownerUrl, async (client) => {
    await client.query(`set search_path to read; create temporary table pattern as select * from sales limit 1;
      create temporary table product as select * from catalog_items limit 1;
      update product set doc = doc::jsonb || '{"name": "Produto"}', external_id = null, sku = null, barcode = null`)
    const columns = (table: string, changed: Readonly<Record<string, string>>) =>
      client
        .query<{ name: string }>(
          `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped order by attnum`,
          [`read.${table}`],
        )
        .then(({ rows }) => rows.map(({ name }) => changed[name] ?? `p.${name}`).join(', '))
    const products = await columns('catalog_items', { id: 'n', sort_key: `'produto ' || n`, search: `'produto ' || n` })
    await client.query(
      `insert into read.catalog_items select ${products} from product p, generate_series(1000, $1::integer) n`,
      [ITEMS + 1000],
    )
    const stocks = await columns('item_stocks', { id: 'n' })
    await client.query(
      `insert into read.item_stocks select ${stocks} from (select * from item_stocks limit 1) p, generate_series(1000, $1::integer) n`,
      [ITEMS + 1000],
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
    await client.query(`insert into read.sales select ${sales} from pattern p, generate_series(1, $1::integer) n`, [
      SALES,
    ])
  })
}
