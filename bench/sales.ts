import { isDeepStrictEqual } from 'node:util'
import type { Books } from './books.ts'
import type { Child } from './child.ts'
import { administer } from './database.ts'
import type { Environment } from './environment.ts'
import { type FloorB, findPgbench, prepareFloorB } from './floor-b.ts'
import { withIdleClients } from './idle.ts'
import { generate } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { type Meter, meterOf } from './processor.ts'
import { compare, type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, median, type Side, WARM_UP_ROUNDS } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import type { Shop } from './shop.ts'

/** Each waits for its answer before it sends the next sale. */
export const CONNECTIONS = 32
const IDLE_CLIENTS = 200
const UNIT = 'sales/s'

/** Each name, how many companies, whether idle clients are connected, and what issue and design ask for. */
const CASES = [
  { name: 'sales-64', companies: 64, idle: false, target: 2.5, targetOfB: 0.6 },
  { name: 'sales-64-idle', companies: 64, idle: true, target: 2.5, targetOfB: null },
  { name: 'sales-1', companies: 1, idle: false, target: 5, targetOfB: null },
  { name: 'sales-1-idle', companies: 1, idle: true, target: 5, targetOfB: null },
] as const
type Case = (typeof CASES)[number]

export const SALES_BENCHMARKS: readonly string[] = CASES.map(({ name }) => name)

/** Processor time of a sale, service and Postgres together: holds on a busy machine too. */
const processorOf = ({ name }: Case) => `${name}-processor`

/** POST /sales against a hand-written handler (floor A) and against pgbench with the same statements (floor B). */
export async function benchSales(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const selected = CASES.filter(({ name }) => isSelected(options, name))
  const lines: Line[] = []
  if (selected.length > 0) await assertSameAnswers(environment, books)
  for (const each of selected) lines.push(...(await benchCase(each, environment, options, books)))
  return lines
}

async function benchCase(each: Case, environment: Environment, options: Options, books: Books): Promise<Line[]> {
  const { service, floorA } = environment
  const shops = environment.shops.slice(0, each.companies)
  const costs = new Map<string, Cost[]>()
  const side = async (name: string, child: Child, acknowledge: (sales: number) => void) => {
    costs.set(name, [])
    const meter = await meterOf([child], [environment.database.url])
    return httpSide({ name, url: child.url, meter, costs: costs.get(name) as Cost[] }, each, shops, acknowledge)
  }
  const sides: Side[] = [
    await side('service', service, (sales) => books.acknowledge('service', sales)),
    await side('floor A', floorA, (sales) => books.acknowledge('floor', sales)),
  ]
  const floorB = each.targetOfB === null ? null : await startFloorB(environment, shops)
  if (floorB) sides.push(pgbenchSide(floorB, books))
  const figures = await measureInTurns(sides, options)
  await floorB?.stop()
  const lines = [
    compare(figures, { value: 'service', floor: 'floor A' }, { name: each.name, unit: UNIT, target: each.target }),
  ]
  if (each.targetOfB !== null) {
    const result = { name: `${each.name}-pgbench`, unit: UNIT, target: each.targetOfB }
    lines.push(compare(figures, { value: 'service', floor: 'pgbench' }, result))
  }
  lines.push(...processorLines(processorOf(each), costs))
  return lines
}

/** Microseconds of a sale in a round. */
interface Cost {
  readonly server: number
  readonly postgres: number
}

/** The rounds after the warm-up, as those of the rates. */
function processorLines(name: string, costs: ReadonlyMap<string, readonly Cost[]>): Line[] {
  const measured = new Map([...costs].map(([side, rounds]) => [side, rounds.slice(WARM_UP_ROUNDS)]))
  if ([...measured.values()].some((rounds) => rounds.length === 0)) return []
  for (const [side, rounds] of measured) {
    const told = (of: (cost: Cost) => number) => {
      const values = rounds.map(of)
      return `${Math.round(median(values))} µs (${Math.round(Math.min(...values))}–${Math.round(Math.max(...values))})`
    }
    console.log(`${name}: ${side} ${told(({ server }) => server)}, its Postgres ${told(({ postgres }) => postgres)}`)
  }
  const sums = new Map([...measured].map(([side, rounds]) => [side, rounds.map((cost) => cost.server + cost.postgres)]))
  const result = { name, unit: 'µs a sale', target: null }
  return [lowerIsBetter(sums, { value: 'service', floor: 'floor A' }, result)]
}

interface Measured {
  readonly name: string
  readonly url: string
  readonly meter: Meter | null
  readonly costs: Cost[]
}

function httpSide(
  { name, url, meter, costs }: Measured,
  { idle }: Case,
  shops: readonly Shop[],
  acknowledge: (sales: number) => void,
): Side {
  const next = createSaleRequests(shops)
  const send = (seconds: number) => generate({ url, connections: CONNECTIONS, seconds, status: 201, next })
  const load = async (seconds: number) => {
    const measured = meter ? await meter.measure(() => send(seconds)) : null
    const { answered, perSecond } = measured?.value ?? (await send(seconds))
    acknowledge(answered)
    if (measured) costs.push({ server: measured.service_us / answered, postgres: measured.postgres_us / answered })
    return perSecond
  }
  return {
    name,
    measure: (seconds) => (idle ? withIdleClients(url, IDLE_CLIENTS, () => load(seconds)) : load(seconds)),
  }
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
  const version = await findPgbench()
  if (version === null) {
    console.log('pgbench is not in PATH (Debian: postgresql-contrib), so floor B is left out')
    return null
  }
  // The sale that was made to compare the answers is the pattern of what pgbench writes.
  const { rows } = await administer(database.url, (client) =>
    client.query<{ event: string; sale: string }>(
      `select e.envelope::text as event, s.doc::text as sale
       from floor.events e join floor.sales s on s.id = (e.envelope->'data'->>'id')::bigint limit 1`,
    ),
  )
  const [{ event, sale }] = rows as [{ event: string; sale: string }]
  return prepareFloorB(database.url, shops, event, sale)
}

/** Whoever does less is faster: service and floor A must answer the same sale with the same record. */
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
