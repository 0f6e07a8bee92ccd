import { isDeepStrictEqual } from 'node:util'
import type { Books } from './books.ts'
import { type Cost, type Costing, costingOf } from './cost.ts'
import { administer } from './database.ts'
import { type FloorB, hasPgbench, prepareFloorB } from './floor-b.ts'
import { loadSide, withIdleClients } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, compareTimes, type Line } from './report.ts'
import { createSales } from './requests.ts'
import { type Figures, measureInTurns, type Side } from './rounds.ts'
import type { Child, Environment } from './servers.ts'
import type { Shop } from './shop.ts'

/** Each connection waits for its response before the next sale. */
export const CONNECTIONS = 32
const IDLE_CLIENTS = 200
const UNIT = 'sales/s'

/** Name, number of companies, whether idle clients are connected, and target; idle clients may cost 5 %. */
const CASES = [
  { name: 'sales-64', companies: 64, isIdle: false, target: 3.2, targetOfB: 1.2 },
  { name: 'sales-64-idle', companies: 64, isIdle: true, target: 3.04, targetOfB: null },
  { name: 'sales-1', companies: 1, isIdle: false, target: 8, targetOfB: null },
  { name: 'sales-1-idle', companies: 1, isIdle: true, target: 7.6, targetOfB: null },
] as const
type Case = (typeof CASES)[number]

export const SALES_BENCHMARKS: readonly string[] = CASES.map(({ name }) => name)

/**
 * POST /sales compared with a hand-written handler (floor A) and with pgbench running the same statements (floor B).
 */
export async function benchSales(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const selected = CASES.filter(({ name }) => isSelected(options, name))
  const lines: Line[] = []
  if (selected.length > 0) await assertSameAnswers(environment, books)
  for (const each of selected) lines.push(...(await benchCase(each, environment, options, books)))
  return lines
}

async function benchCase(each: Case, environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const { service, floorA, database } = environment
  const shops = environment.shops.slice(0, each.companies)
  const costing = await costingOf(service, database, 'sale')
  const costingOfA = await costingOf(floorA, database, 'sale')
  const selling = (name: 'service' | 'floor A', { url }: Child, costing: Costing): Side => {
    const acknowledge = (sales: number) => books.acknowledge(name === 'service' ? 'service' : 'floor', sales)
    const load = { name, url, connections: CONNECTIONS, next: createSales(shops), costing, acknowledge }
    const { measure, ...side } = loadSide(load)
    if (!each.isIdle) return { ...side, measure }
    return { ...side, measure: (seconds) => withIdleClients(url, IDLE_CLIENTS, () => measure(seconds)) }
  }
  const sides = [selling('service', service, costing), selling('floor A', floorA, costingOfA)]
  const floorB = each.targetOfB === null ? null : await startFloorB(environment, shops)
  if (floorB) sides.push(pgbenchSide(floorB, books))
  const figures = await measureInTurns(sides, options)
  await floorB?.stop()
  const [cost, costOfA] = [costing.cost(), costingOfA.cost()]
  const { name, target, targetOfB } = each
  const lines: Line[] = [
    { ...compare(figures, { name, unit: UNIT, target, value: 'service', floor: 'floor A' }), cost },
  ]
  if (targetOfB !== null) {
    const compared = { name: `${name}-pgbench`, unit: UNIT, target: targetOfB, value: 'service', floor: 'pgbench' }
    lines.push(compare(figures, compared))
  }
  if (cost && costOfA) lines.push(processorLine(`${name}-processor`, cost, costOfA))
  return lines
}

/** Processor time of a sale (service and Postgres), which is valid on a busy machine too; with the floor's cost. */
function processorLine(name: string, cost: Cost, costOfA: Cost): Line {
  const [value, floor] = [cost, costOfA].map(({ service_us, postgres_us }) => [service_us + postgres_us])
  const figures = new Map(Object.entries({ service: value, 'floor A': floor })) as Figures
  const compared = { name, unit: 'µs a sale', target: null, value: 'service', floor: 'floor A' }
  return compareTimes(figures, { ...compared, cost: costOfA })
}

function pgbenchSide(floorB: FloorB, books: Books): Side {
  return {
    name: 'pgbench',
    async measure(seconds) {
      const { done, perSecond } = await floorB.run(CONNECTIONS, seconds)
      books.acknowledge('floor', done)
      return perSecond
    },
  }
}

async function startFloorB({ database }: Environment, shops: readonly Shop[]): Promise<FloorB | null> {
  if (!(await hasPgbench())) {
    console.log('pgbench is not in PATH (Debian: postgresql-contrib), so floor B is left out')
    return null
  }
  // The sale of the response comparison is the pattern for pgbench.
  const { rows } = await administer(database.url, (client) =>
    client.query<{ event: string; sale: string }>(
      `select e.envelope::text as event, s.doc::text as sale
       from floor.events e join floor.sales s on s.id = (e.envelope->'data'->>'id')::bigint limit 1`,
    ),
  )
  const [{ event, sale }] = rows as [{ event: string; sale: string }]
  return prepareFloorB(database.url, shops, event, sale)
}

/** Asserts that service and floor A answer the same sale with the same record, so that the comparison is fair. */
async function assertSameAnswers({ service, floorA, shops }: Environment, books: Books): Promise<void> {
  const [head = '', body = ''] = createSales(shops)().text.split('\r\n\r\n')
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(': ') as [string, string])
    .filter(([name]) => /^(content-type|authorization|idempotency-key)$/i.test(name))
  const post = async (url: string) => {
    const response = await fetch(`${url}/api/v1/sales`, { method: 'POST', headers, body })
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
    const { data } = (await response.json()) as { data: Record<string, unknown> }
    return { ...data, id: null, created_at: null, updated_at: null }
  }
  const [own, floor] = [await post(service.url), await post(floorA.url)]
  books.acknowledge('service', 1)
  books.acknowledge('floor', 1)
  if (!isDeepStrictEqual(own, floor))
    throw new Error(`service and floor A answer differently:\n${JSON.stringify(own)}\n${JSON.stringify(floor)}`)
}
