import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import type { Books } from './books.ts'
import { type Costing, costingOf } from './cost.ts'
import { administer } from './database.ts'
import { sendPaced } from './load.ts'
import { isSelected, type Options } from './options.ts'
import { bounded, compare, compareTimes, type Line } from './report.ts'
import { createSales } from './requests.ts'
import { measureInTurns, median, percentile, type Side } from './rounds.ts'
import type { Child, Environment } from './servers.ts'
import { closeHooks, createShops, type Shop } from './shop.ts'

const THROUGHPUT = 'webhooks-throughput'
const LATENCY = 'webhooks-latency'
const DEAD = 'webhooks-dead'
const HANGING = 'webhooks-hanging'
export const WEBHOOK_BENCHMARKS: readonly string[] = [THROUGHPUT, LATENCY, DEAD, HANGING]

/** Share of the rate of the HTTP client alone, longest time, and ratio to the figure without dead endpoints. */
const THROUGHPUT_TARGET = 0.3
const LONGEST_MS = 10
const DEAD_TARGET = 2

const P95 = 'ms (p95)'

/** Deliveries per second of a round. */
const BACKLOG_PER_SECOND = 2_000
/** Concurrent requests of the service to one endpoint. */
const POSTERS = 32
const EVENTS_PER_SECOND = 100

/** Endpoints of each shop, each on its own server, of which some never answer; 200 deliveries a second. */
interface Impaired {
  readonly name: string
  readonly shops: number
  readonly answering: number
  readonly dead: number
  readonly perSecond: number
}
const IMPAIRED: readonly Impaired[] = [
  { name: DEAD, shops: 1, answering: 9, dead: 1, perSecond: 20 },
  { name: HANGING, shops: 20, answering: 45, dead: 5, perSecond: 4 },
]

/** Received sale, and its time in milliseconds since 1970. */
type Arrival = readonly [sale: string, at: number]

interface Bench {
  readonly environment: Environment
  readonly options: Options
  readonly books: Books
  readonly receiver: Child
}

/**
 * Deliveries of webhooks, compared with the HTTP client posting the same bodies to the same receiver without a
 * database.
 */
export async function benchWebhooks(environment: Environment, options: Options, books: Books): Promise<Line[]> {
  if (!WEBHOOK_BENCHMARKS.some((name) => isSelected(options, name))) return []
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const bench = { environment, options, books, receiver }
  const lines: Line[] = []
  if (isSelected(options, THROUGHPUT)) lines.push(await benchThroughput(bench))
  if (isSelected(options, LATENCY)) lines.push(await benchLatency(bench))
  for (const impaired of IMPAIRED)
    if (isSelected(options, impaired.name)) lines.push(await benchImpaired(bench, impaired))
  return lines
}

async function benchThroughput(bench: Bench): Promise<Line> {
  const { environment, options, receiver } = bench
  const url = `${receiver.url}/hooks/1`
  const { database } = environment
  const costing = await costingOf(environment.service, database, 'delivery')
  return withShops(
    bench,
    1,
    () => [url],
    async (shops) => {
      const shop = shops[0] as Shop
      const body = await sampleBody(bench, shop)
      const service: Side = {
        name: 'service',
        async measure(seconds) {
          const count = BACKLOG_PER_SECOND * seconds
          const deliver = async (announce: () => Promise<number>) => {
            const began = await announce()
            const lastAt = lastOf(await untilTaken(receiver, count))
            await untilRecorded(database.url, shop)
            return (count * 1_000) / (lastAt - began)
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
        async measure(seconds) {
          const count = BACKLOG_PER_SECOND * seconds
          const began = performance.timeOrigin + performance.now()
          await post(url, body, count)
          return (count * 1_000) / (lastOf(await untilTaken(receiver, count)) - began)
        },
      }
      const figures = await measureInTurns([service, client], options)
      const compared = {
        name: THROUGHPUT,
        unit: 'deliveries/s',
        target: THROUGHPUT_TARGET,
        value: 'service',
        floor: 'undici',
      }
      return { ...compare(figures, compared), cost: costing.cost() }
    },
  )
}

/** From the response to the arrival; nothing if the delivery arrives first. */
async function benchLatency(bench: Bench): Promise<Line> {
  const { service, database } = bench.environment
  return withShops(
    bench,
    1,
    () => [`${bench.receiver.url}/hooks/1`],
    async (shops) => {
      const costing = await costingOf(service, database, 'sale and delivery')
      const side = sellingSide('service', bench, shops, EVENTS_PER_SECOND, { costing })
      const times = (await measureInTurns([side], bench.options)).get('service') ?? []
      return bounded({ name: LATENCY, value: median(times), unit: P95, cost: costing.cost() }, LONGEST_MS)
    },
  )
}

/** Delivery times at the endpoints that answer, beside dead ones, compared with those of shops without dead ones. */
async function benchImpaired(bench: Bench, { name, shops, answering, dead, perSecond }: Impaired): Promise<Line> {
  const { environment, options, receiver } = bench
  const { port } = new URL(receiver.url)
  // All of 127.0.0.0/8 is this machine.
  const urls = (net: number, path: string, count: number) => (shop: number) =>
    Array.from({ length: count }, (_, index) => `http://127.${net}.${shop}.${index + 1}:${port}/${path}/${index}`)
  const [healthy, hanging] = [urls(1, 'hooks', answering), urls(2, 'dead', dead)]
  const all = (shop: number) => [...healthy(shop), ...hanging(shop)]
  return withShops(bench, shops, healthy, (sound) =>
    withShops(bench, shops, all, async (impaired) => {
      const costing = await costingOf(environment.service, environment.database, 'delivery, sale and all')
      const [value, floor] = [`with ${shops * dead} dead endpoints`, 'without them']
      const sides = [
        sellingSide(value, bench, impaired, perSecond, { receivers: answering, costing }),
        sellingSide(floor, bench, sound, perSecond, { receivers: answering }),
      ]
      const figures = await measureInTurns(sides, options)
      const compared = { name, unit: P95, target: DEAD_TARGET, value, floor }
      return compareTimes(figures, { ...compared, cost: costing.cost() })
    }),
  )
}

interface Selling {
  readonly receivers?: number
  readonly costing?: Costing
}

/** Sells at a steady rate and measures the delivery times at the responding endpoints. */
function sellingSide(
  name: string,
  { environment, books, receiver }: Bench,
  shops: readonly Shop[],
  perSecond: number,
  { receivers = 1, costing }: Selling = {},
): Side {
  const next = createSales(shops)
  const sell = async (seconds: number) => {
    const soldAt = new Map<string, number>()
    const onAnswer = ({ text }: { readonly text: string }, { at }: { readonly at: number }) =>
      soldAt.set(saleOf(text), at)
    const { answered } = await sendPaced({ url: environment.service.url, perSecond, seconds, next, onAnswer })
    books.acknowledge('service', answered)
    return { soldAt, arrivals: await untilTaken(receiver, answered * receivers) }
  }
  return {
    name,
    async measure(seconds) {
      const sold = () => sell(seconds)
      const { soldAt, arrivals } = costing ? await costing.round(sold, (each) => each.arrivals.length) : await sold()
      return p95(arrivals, soldAt)
    },
  }
}

/** Body of a delivery of a sale. */
async function sampleBody({ environment, receiver, books }: Bench, shop: Shop): Promise<string> {
  const { service, database } = environment
  const sold = await sendPaced({ url: service.url, perSecond: 1, seconds: 1, next: createSales([shop]) })
  books.acknowledge('service', sold.answered)
  await untilTaken(receiver, sold.answered)
  const { rows } = await administer(database.url, (client) =>
    client.query<{ body: string }>('select body from ops.webhook_messages where company_id = $1', [shop.companyId]),
  )
  return (rows[0] as { body: string }).body
}

/** Shops with endpoints, which are disabled afterwards. */
async function withShops<T>(
  { environment: { database, eventStoreUrl } }: Bench,
  count: number,
  hooksOf: (place: number) => readonly string[],
  work: (shops: readonly Shop[]) => Promise<T>,
): Promise<T> {
  const shops = await createShops(database.url, count, { hooksOf, eventStoreUrl })
  return work(shops).finally(() => closeHooks({ url: database.url, eventStoreUrl }, shops))
}

/** Last used revision; far above those of the ledger's own events. */
let queued = 1_000_000_000

/**
 * Queues `count` deliveries for each endpoint, as events would. They are invisible before `work` announces them, which
 * returns the time of that, in milliseconds since 1970.
 */
async function queueDeliveries<T>(
  databaseUrl: string,
  shop: Shop,
  { body, count }: { readonly body: string; readonly count: number },
  work: (announce: () => Promise<number>) => Promise<T>,
): Promise<T> {
  return administer(databaseUrl, async (client) => {
    await client.query('begin')
    await client.query(
      `with message as (
         insert into ops.webhook_messages (company_id, id, revision, event, body, created_at)
         select $1, gen_random_uuid(), revision, 'sale.completed', $3, now() from generate_series($4::bigint, $5::bigint) as revision
         returning id, revision)
       insert into ops.webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence, replay, status,
         attempts, tries, next_attempt_at, created_at)
       select $1, gen_random_uuid(), address, message.id, 'sale.completed', revision, revision, false, 'pending', '[]', 0, now(), now()
       from message, unnest($2::bigint[]) as address`,
      [shop.companyId, shop.webhookIds, body, queued + 1, queued + count],
    )
    queued += count
    return work(async () => {
      await client.query('commit')
      const at = performance.timeOrigin + performance.now()
      await client.query(`select pg_notify('webhook_deliveries', '')`)
      return at
    })
  })
}

const POLL_MS = 10

/** Waits until no delivery of a shop is under way: results are recorded after arrivals. */
async function untilRecorded(databaseUrl: string, { companyId }: Shop): Promise<void> {
  const pending = `select from ops.webhook_deliveries where company_id = $1 and status = 'pending' limit 1`
  await administer(databaseUrl, async (client) => {
    while ((await client.query(pending, [companyId])).rowCount !== 0) await pause(POLL_MS)
  })
}

/** Posts like deliveries to one endpoint, concurrently. */
async function post(url: string, body: string, count: number): Promise<void> {
  const agent = new Agent({ pipelining: 1 })
  const { origin, pathname: path } = new URL(url)
  const headers = { 'content-type': 'application/json' }
  let sent = 0
  const poster = async () => {
    while (sent < count) {
      const own = body.replace(saleOf(body), `venda-${++sent}`)
      const answer = await agent.request({ origin, path, method: 'POST', headers, body: own })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: POSTERS }, poster))
  await agent.close()
}

const saleOf = (text: string): string => /"external_id":"([^"]+)"/.exec(text)?.[1] ?? ''

const PATIENCE_MS = 60_000

/** Waits until the receiver has this number of requests since the last call. */
export async function untilTaken(receiver: Child, count: number): Promise<Arrival[]> {
  const arrivals: Arrival[] = []
  const deadline = performance.now() + PATIENCE_MS
  while (arrivals.length < count) {
    if (performance.now() > deadline) throw new Error(`${arrivals.length} of ${count} deliveries came`)
    await pause(2 * POLL_MS)
    arrivals.push(...((await (await fetch(`${receiver.url}/taken`)).json()) as Arrival[]))
  }
  if (arrivals.length > count) throw new Error(`${arrivals.length} deliveries came, but only ${count} were to be made`)
  return arrivals
}

const lastOf = (arrivals: readonly Arrival[]): number => Math.max(...arrivals.map(([, at]) => at))

/** 95th percentile of the delivery times, in milliseconds. */
const p95 = (arrivals: readonly Arrival[], beganAt: ReadonlyMap<string, number>): number =>
  percentile(
    arrivals.map(([sale, at]) => Math.max(0, at - (beganAt.get(sale) ?? Number.NaN))),
    0.95,
  )
