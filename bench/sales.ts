import { isDeepStrictEqual } from 'node:util'
import type { Books } from './books.ts'
import type { Child } from './child.ts'
import { type Costing, type CostLine, costingOf } from './cost.ts'
import { administer } from './database.ts'
import type { Environment } from './environment.ts'
import { type FloorB, findPgbench, prepareFloorB } from './floor-b.ts'
import { withIdleClients } from './idle.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { compare, type Line } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import type { Shop } from './shop.ts'

/** Each connection waits for its response before the next sale. */
export const CONNECTIONS = 32
const IDLE_CLIENTS = 200
const UNIT = 'sales/s'

/** Name, number of companies, whether idle clients are connected, and target; idle clients may cost 5 %. */
const CASES = [
  { name: 'sales-64', companies: 64, idle: false, target: 3.2, targetOfB: 1.2 },
  { name: 'sales-64-idle', companies: 64, idle: true, target: 3.04, targetOfB: null },
  { name: 'sales-1', companies: 1, idle: false, target: 8, targetOfB: null },
  { name: 'sales-1-idle', companies: 1, idle: true, target: 7.6, targetOfB: null },
] as const
type Case = (typeof CASES)[number]

export const SALES_BENCHMARKS: readonly string[] = CASES.map(({ name }) => name)

/**
 * Processor time of a sale (service and Postgres), which is valid on a busy machine too. Its cost line is the floor's.
 */
const processorOf = ({ name }: Case) => `${name}-processor`

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
  const sides: Side[] = [
    httpSide('service', service, costing, each, shops, (sales) => books.acknowledge('service', sales)),
    httpSide('floor A', floorA, costingOfA, each, shops, (sales) => books.acknowledge('floor', sales)),
  ]
  const floorB = each.targetOfB === null || options.alone ? null : await startFloorB(environment, shops)
  if (floorB) sides.push(pgbenchSide(floorB, books))
  const figures = await measureInTurns(sides, options)
  await floorB?.stop()
  const [cost, costOfA] = [costing.cost(), costingOfA.cost()]
  const line = compare(
    figures,
    { value: 'service', floor: 'floor A' },
    { name: each.name, unit: UNIT, target: each.target },
  )
  const lines: Line[] = [{ ...line, cost }]
  if (each.targetOfB !== null) {
    const result = { name: `${each.name}-pgbench`, unit: UNIT, target: each.targetOfB }
    lines.push(compare(figures, { value: 'service', floor: 'pgbench' }, result))
  }
  if (cost && costOfA) lines.push(processorLine(processorOf(each), cost, costOfA))
  return lines
}

const bothOf = ({ service_us, postgres_us }: CostLine): number => service_us + postgres_us

function processorLine(name: string, cost: CostLine, costOfA: CostLine): Line {
  const [value, floor] = [bothOf(cost), bothOf(costOfA)]
  return {
    name,
    value,
    unit: 'µs a sale',
    floor,
    ratio: Math.round((1_000 * value) / floor) / 1_000,
    target: null,
    higher_is_better: false,
    against: 'floor A',
    spreads: [],
    cost: costOfA,
  }
}

function httpSide(
  name: string,
  { url }: Child,
  costing: Costing,
  { idle }: Case,
  shops: readonly Shop[],
  acknowledge: (sales: number) => void,
): Side {
  const next = createSaleRequests(shops)
  const load = async (seconds: number) => {
    const { answered, perSecond } = await costing.round(
      () => generate({ url, connections: CONNECTIONS, seconds, status: 201, next }),
      ({ answered }) => answered,
    )
    acknowledge(answered)
    return perSecond
  }
  return {
    name,
    isFloor: name !== 'service',
    measure: (seconds) => (idle ? withIdleClients(url, IDLE_CLIENTS, () => load(seconds)) : load(seconds)),
  }
}

function pgbenchSide(floorB: FloorB, books: Books): Side {
  return {
    name: 'pgbench',
    isFloor: true,
    async measure(seconds) {
      const { done, perSecond } = await floorB.run(CONNECTIONS, seconds)
      books.acknowledge('floor', done)
      return perSecond
    },
  }
}

async function startFloorB({ database }: Environment, shops: readonly Shop[]): Promise<FloorB | null> {
  const version = await findPgbench()
  if (version === null) {
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
  const [head = '', body = ''] = createSaleRequests(shops)().split('\r\n\r\n')
  const headers = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(': ') as [string, string])
  const post = async (url: string) => {
    const own = Object.fromEntries(
      headers.filter(([name]) => /^(content-type|authorization|idempotency-key)$/i.test(name)),
    )
    const response = await fetch(`${url}/api/v1/sales`, { method: 'POST', headers: own, body })
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
    const { data } = (await response.json()) as { data: Record<string, unknown> }
    return { ...data, id: null, created_at: null, updated_at: null }
  }
  const [own, floor] = [await post(service.url), await post(floorA.url)]
  books.acknowledge('service', 1)
  books.acknowledge('floor', 1)
  if (!isDeepStrictEqual(own, floor)) {
    throw new Error(`service and floor A answer differently:\n${JSON.stringify(own)}\n${JSON.stringify(floor)}`)
  }
}
