import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Books } from './books.ts'
import type { Child } from './child.ts'
import { type Costing, costingOf } from './cost.ts'
import { administer } from './database.ts'
import type { Environment } from './environment.ts'
import { watchMemory } from './memory.ts'
import { isSelected, type Options } from './options.ts'
import { sendPaced } from './paced.ts'
import { compare, type Line, lowerIsBetter } from './report.ts'
import { measureInTurns, type Side } from './rounds.ts'
import { createSaleRequests } from './sale-requests.ts'
import {
  closeWebhookShops,
  createWebhookShops,
  queueDeliveries,
  untilRecorded,
  type WebhookShop,
} from './webhook-shop.ts'

const THROUGHPUT = 'webhooks-throughput'
const LATENCY = 'webhooks-latency'
const DEAD = 'webhooks-dead'
const HANGING = 'webhooks-hanging'
const HANGING_MEMORY = 'webhooks-hanging-memory'
const HANGING_SOCKETS = 'webhooks-hanging-sockets'

export const WEBHOOK_BENCHMARKS: readonly string[] = [
  THROUGHPUT,
  LATENCY,
  DEAD,
  HANGING,
  HANGING_MEMORY,
  HANGING_SOCKETS,
]

/**
 * Targets: share of the rate of the HTTP client alone, milliseconds, and ratio to the figure without a dead endpoint.
 */
const THROUGHPUT_TARGET = 0.3
const LATENCY_TARGET_MS = 10
const DEAD_TARGET = 2

const P95 = { unit: 'ms (p95)', target: null }

/** Deliveries per second of a round. */
const BACKLOG_PER_SECOND = 2_000
/** Concurrent requests of the service to one endpoint. */
const POSTERS = 32
const EVENTS_PER_SECOND = 100
/** With ten endpoints each: 200 deliveries a second. */
const EVENTS_PER_SECOND_OF_TEN = 20
/** 1,000 endpoints, each on its own server, of which 100 never answer; 200 deliveries a second. */
const SHOPS = 20
const ANSWERING_OF_SHOP = 45
const HANGING_OF_SHOP = 5
const EVENTS_PER_SECOND_OF_SHOPS = 4
/** MiB of the service, and connections to receivers: 512 idle ones, and as many attempts. */
const MEMORY_TARGET_MIB = 200
const SOCKETS_TARGET = 1_024

/** Received sale, and its time in milliseconds since 1970. */
type Arrival = readonly [sale: string, at: number]

/**
 * Deliveries of webhooks, compared with the HTTP client posting the same bodies to the same receiver without a
 * database.
 */
export async function benchWebhooks(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!WEBHOOK_BENCHMARKS.some((name) => isSelected(options, name))) return []
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const bench = { environment, options, books, receiver, body: await sampleBody(environment, receiver, books) }
  const lines: Line[] = []
  for (const [name, measure] of [
    [THROUGHPUT, benchThroughput],
    [LATENCY, benchLatency],
    [DEAD, benchDead],
  ] as const) {
    if (isSelected(options, name)) lines.push(await measure(bench))
  }
  if (isSelected(options, HANGING)) lines.push(...(await benchHanging(bench)))
  return lines
}

interface Bench {
  readonly environment: Environment
  readonly options: Options
  readonly books: Books
  readonly receiver: Child
  /** Body of a delivery of a sale. */
  readonly body: string
}

async function benchThroughput({ environment, options, receiver, body }: Bench): Promise<Line> {
  const url = `${receiver.url}/hooks/1`
  const { database } = environment
  const costing = await costingOf(environment.service, database, 'delivery')
  return withShop(environment, [url], async (shop) => {
    const service: Side = {
      name: 'service',
      async measure(seconds) {
        const count = BACKLOG_PER_SECOND * seconds
        const deliver = async (announce: () => Promise<number>) => {
          const began = await announce()
          const lastAt = lastOf(await untilTaken(receiver, count))
          await untilRecorded(database.url, shop)
          return (count * 1000) / (lastAt - began)
        }
        return queueDeliveries(database.url, shop, { body, count }, (announce) =>
          costing.round(
            () => deliver(announce),
            () => count,
          ),
        )
      },
    }
    const client: Side = {
      name: 'undici',
      isFloor: true,
      async measure(seconds) {
        const count = BACKLOG_PER_SECOND * seconds
        const began = performance.timeOrigin + performance.now()
        await post(url, body, count)
        const lastAt = lastOf(await untilTaken(receiver, count))
        return (count * 1000) / (lastAt - began)
      },
    }
    const figures = await measureInTurns([service, client], options)
    const line = compare(
      figures,
      { value: 'service', floor: 'undici' },
      { name: THROUGHPUT, unit: 'deliveries/s', target: THROUGHPUT_TARGET },
    )
    return { ...line, cost: costing.cost() }
  })
}

/** From the response to the arrival; negative if the delivery arrives first. */
async function benchLatency(bench: Bench): Promise<Line> {
  const { environment, options, receiver, body } = bench
  const url = `${receiver.url}/hooks/1`
  return withShop(environment, [url], async (shop) => {
    const client: Side = {
      name: 'undici',
      isFloor: true,
      async measure(seconds) {
        const postedAt = await post(url, body, EVENTS_PER_SECOND * seconds, EVENTS_PER_SECOND)
        return p95(await untilTaken(receiver, EVENTS_PER_SECOND * seconds), postedAt)
      },
    }
    const costing = await costingOf(environment.service, environment.database, 'sale and delivery')
    const selling = sellingSide('service', bench, [shop], EVENTS_PER_SECOND, { costing })
    const figures = await measureInTurns([selling, client], options)
    const line = lowerIsBetter(figures, { value: 'service', floor: 'undici' }, { name: LATENCY, ...P95 })
    return { ...line, target: shareOf(LATENCY_TARGET_MS, line), cost: costing.cost() }
  })
}

/** Ten responding endpoints, compared with nine of them and a dead one. */
async function benchDead(bench: Bench): Promise<Line> {
  const { environment, options, receiver } = bench
  const healthy = (count: number) => Array.from({ length: count }, (_, index) => `${receiver.url}/hooks/${index + 1}`)
  return withShop(environment, healthy(10), (sound) =>
    withShop(environment, [...healthy(9), `${receiver.url}/dead/1`], async (impaired) => {
      const costing = await costingOf(environment.service, environment.database, 'delivery, sale and all')
      const sides = [
        sellingSide('9 and a dead one', bench, [impaired], EVENTS_PER_SECOND_OF_TEN, { receivers: 9, costing }),
        sellingSide('10 that answer', bench, [sound], EVENTS_PER_SECOND_OF_TEN, { receivers: 10, isFloor: true }),
      ]
      const figures = await measureInTurns(sides, options)
      const line = lowerIsBetter(
        figures,
        { value: '9 and a dead one', floor: '10 that answer' },
        { name: DEAD, ...P95 },
      )
      return { ...line, target: DEAD_TARGET, cost: costing.cost() }
    }),
  )
}

/** 900 responding endpoints beside 100 dead ones, compared with the 900 alone. */
async function benchHanging(bench: Bench): Promise<Line[]> {
  const { environment, options, receiver } = bench
  const { port } = new URL(receiver.url)
  // All of 127.0.0.0/8 is this machine.
  const urls = (shop: number, path: string, count: number) =>
    Array.from(
      { length: count },
      (_, index) => `http://127.${path === 'dead' ? 2 : 1}.${shop}.${index + 1}:${port}/${path}/${index}`,
    )
  const answering = (shop: number) => urls(shop, 'hooks', ANSWERING_OF_SHOP)
  const all = (shop: number) => [...answering(shop), ...urls(shop, 'dead', HANGING_OF_SHOP)]
  return withShops(
    environment,
    Array.from({ length: SHOPS }, (_, shop) => answering(shop)),
    (sound) =>
      withShops(
        environment,
        Array.from({ length: SHOPS }, (_, shop) => all(shop)),
        async (impaired) => {
          const [value, floor] = ['100 of 1,000 hang', '900 that answer']
          const receivers = ANSWERING_OF_SHOP
          const sides = [
            sellingSide(value, bench, impaired, EVENTS_PER_SECOND_OF_SHOPS, { receivers }),
            sellingSide(floor, bench, sound, EVENTS_PER_SECOND_OF_SHOPS, { receivers, isFloor: true }),
          ]
          const { value: figures, peak_mib } = await watchMemory(environment.service.url, () =>
            measureInTurns(sides, options),
          )
          const line = lowerIsBetter(figures, { value, floor }, { name: HANGING, ...P95 })
          return [
            { ...line, target: DEAD_TARGET },
            atMost(HANGING_MEMORY, peak_mib, 'MiB', MEMORY_TARGET_MIB),
            atMost(HANGING_SOCKETS, await mostConnections(receiver), 'connections', SOCKETS_TARGET),
          ]
        },
      ),
  )
}

const atMost = (name: string, value: number, unit: string, most: number): Line => ({
  name,
  value,
  unit,
  floor: most,
  ratio: Math.round((1_000 * value) / most) / 1_000,
  target: 1,
  higher_is_better: false,
  against: 'what it may have',
  spreads: [],
})

async function mostConnections(receiver: Child): Promise<number> {
  return Number(await (await fetch(`${receiver.url}/connections`)).text())
}

interface Selling {
  readonly receivers?: number
  readonly costing?: Costing
  readonly isFloor?: boolean
}

/** Sells at a steady rate and measures the delivery times at the responding endpoints. */
function sellingSide(
  name: string,
  bench: Bench,
  shops: readonly WebhookShop[],
  perSecond: number,
  { receivers = 1, costing, isFloor = false }: Selling = {},
): Side {
  const { environment, books, receiver } = bench
  const next = createSaleRequests(shops)
  return {
    name,
    isFloor,
    async measure(seconds) {
      const sell = async () => {
        const answeredAt = await sendPaced({ url: environment.service.url, perSecond, seconds, status: 201, next })
        books.acknowledge('service', answeredAt.size)
        const soldAt = new Map([...answeredAt].map(([request, at]) => [saleOf(request), at]))
        return { soldAt, arrivals: await untilTaken(receiver, soldAt.size * receivers) }
      }
      const { soldAt, arrivals } = costing ? await costing.round(sell, told) : await sell()
      return p95(arrivals, soldAt)
    },
  }
}

const told = ({ arrivals }: { readonly arrivals: readonly Arrival[] }): number => arrivals.length

async function sampleBody(environment: Environment, receiver: Child, books: Books): Promise<string> {
  return withShop(environment, [`${receiver.url}/hooks/1`], async (shop) => {
    const sold = {
      url: environment.service.url,
      perSecond: 1,
      seconds: 1,
      status: 201,
      next: createSaleRequests([shop]),
    }
    books.acknowledge('service', (await sendPaced(sold)).size)
    await untilTaken(receiver, 1)
    const { rows } = await administer(environment.database.url, (client) =>
      client.query<{ body: string }>('select body from ops.webhook_messages where company_id = $1', [shop.companyId]),
    )
    return (rows[0] as { body: string }).body
  })
}

const withShop = <T>(
  environment: Environment,
  urls: readonly string[],
  work: (shop: WebhookShop) => Promise<T>,
): Promise<T> => withShops(environment, [urls], ([shop]) => work(shop as WebhookShop))

/** Shops with the given endpoints. */
async function withShops<T>(
  { database }: Environment,
  urls: readonly (readonly string[])[],
  work: (shops: readonly WebhookShop[]) => Promise<T>,
): Promise<T> {
  const shops = await createWebhookShops(database.url, urls)
  try {
    return await work(shops)
  } finally {
    await closeWebhookShops(database.url, shops)
  }
}

/** Posts like deliveries to one endpoint: concurrently, or at a steady rate. Returns the time of each post. */
async function post(url: string, body: string, count: number, perSecond?: number): Promise<Map<string, number>> {
  const agent = new Agent({ pipelining: 1 })
  const { origin, pathname: path } = new URL(url)
  const headers = { 'content-type': 'application/json' }
  const postedAt = new Map<string, number>()
  const began = performance.now()
  let sent = 0
  const poster = async () => {
    while (sent < count) {
      const wait_ms = perSecond === undefined ? 0 : began + (sent * 1000) / perSecond - performance.now()
      const own = body.replace(saleOf(body), `venda-${++sent}`)
      if (wait_ms > 0) await pause(wait_ms)
      postedAt.set(saleOf(own), performance.timeOrigin + performance.now())
      const answer = await agent.request({ origin, path, method: 'POST', headers, body: own })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: POSTERS }, poster))
  await agent.close()
  return postedAt
}

const saleOf = (text: string): string => /"external_id":"([^"]+)"/.exec(text)?.[1] ?? ''

const PATIENCE_MS = 60_000
const POLL_MS = 20

/** Waits until the receiver has this number of requests since the last call. */
async function untilTaken(receiver: Child, count: number): Promise<Arrival[]> {
  const arrivals: Arrival[] = []
  const deadline = performance.now() + PATIENCE_MS
  while (arrivals.length < count) {
    if (performance.now() > deadline) throw new Error(`${arrivals.length} of ${count} deliveries came`)
    await pause(POLL_MS)
    arrivals.push(...((await (await fetch(`${receiver.url}/taken`)).json()) as Arrival[]))
  }
  if (arrivals.length > count) throw new Error(`${arrivals.length} deliveries came, but only ${count} were to be made`)
  return arrivals
}

const lastOf = (arrivals: readonly Arrival[]): number => Math.max(...arrivals.map(([, at]) => at))

/** 95th percentile of the delivery times, in milliseconds. */
function p95(arrivals: readonly Arrival[], beganAt: ReadonlyMap<string, number>): number {
  const delays = arrivals.map(([sale, at]) => Math.max(0, at - (beganAt.get(sale) ?? Number.NaN))).sort((a, b) => a - b)
  return delays[Math.ceil(delays.length * 0.95) - 1] as number
}

/** Converts an absolute target to a ratio, because targets are compared with ratios. */
const shareOf = (target: number, { floor }: Line): number | null =>
  floor ? Math.round((target / floor) * 1000) / 1000 : null
