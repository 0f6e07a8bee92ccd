import { createSessions } from '#access/sessions.ts'
import type { Books } from './books.ts'
import { administer, withOwnDatabase } from './database.ts'
import { type Environment, PANEL_QUOTAS } from './environment.ts'
import { isSelected, type Options } from './options.ts'
import type { Line } from './report.ts'
import { saleBody } from './sale-requests.ts'
import { createShops, type Shop, withCore } from './shop.ts'
import { offlineSale } from './upload.ts'

const WRITES = 'neighbour-writes'
const READS = 'neighbour-reads'
export const NEIGHBOUR_BENCHMARKS: readonly string[] = [WRITES, READS]

/** Concurrent uploaders of company A, each without pauses. */
const UPLOADERS = 10
const SALES = 1_000
const BATCHES = 14
const CUSTOMERS = 500
const AS_OF_READERS = 20
/** Different uploads and batches; the others are repetitions. */
const BODIES = 20

/** Highest accepted latency of B, as a multiple of that alone or in additional ms. */
const TIMES_LONGER = 3
const LONGER_MS = 150

/** Until A's ledger is long enough for costly as-of reads, and V8 has compiled the code. */
const WARM_UP_SECONDS = 10
const SECONDS = 20

interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer<ArrayBuffer>
}

/** Responses by status, and their latencies (ms). */
interface Heard {
  readonly statuses: Map<number, number>
  readonly times_ms: number[]
}

/**
 * POST /sales and GETs of company B, sequential, alone and then beside a company A that saturates the service: B is
 * never refused, and waits at most three times as long as alone, or 150 ms longer (95th percentile).
 */
export async function benchNeighbour(
  { database, start }: Environment,
  options: Options,
  _books: Books,
): Promise<Line[]> {
  if (!NEIGHBOUR_BENCHMARKS.some((name) => isSelected(options, name))) return []
  return withOwnDatabase(database, async (url) => {
    const [a, b] = (await createShops(url, 2)) as [Shop, Shop]
    const cookie = await logIn(url, a)
    const service = await start('dist/src/main.js', { DATABASE_URL: url, LOG_LEVEL: 'warn', ...QUOTAS }, READY)
    const calls = callsOf(b)
    await listen(service.url, calls, 3)
    const alone = await listen(service.url, calls, SECONDS)
    const attack = attackBy(service.url, a, cookie)
    await listen(service.url, calls, WARM_UP_SECONDS)
    const beside = await listen(service.url, calls, SECONDS)
    await attack.stop()
    for (const [what, heard] of attack.heard) console.log(`A's ${what}: ${told(heard)}`)
    for (const kind of ['POST', 'GET'] as const) {
      console.log(`B's ${kind}s alone: ${told(alone[kind])}; beside A: ${told(beside[kind])}`)
    }
    await service.stop()
    return [lineOf(WRITES, alone.POST, beside.POST), lineOf(READS, alone.GET, beside.GET)]
  })
}

const QUOTAS = {
  QUOTA_PER_MINUTE: '1000000',
  QUOTA_PER_DAY: '1000000000',
  SYNC_QUOTA_PER_MINUTE: '1000000',
  ...PANEL_QUOTAS,
}
const READY = { ready: '/health/ready' }

/** Session cookie of the company's user for the panel. */
async function logIn(url: string, { companyId }: Shop): Promise<string> {
  const [user] = await administer(url, async (client) => {
    const { rows } = await client.query<{ id: string }>('select id from read.users where company_id = $1', [companyId])
    return rows
  })
  const userId = Number(user?.id)
  return withCore(url, async ({ pool }) => {
    const { token } = await createSessions(pool, () => {}).issue({
      userId,
      companyId,
      generation: 0,
      personGeneration: 0,
    })
    return `tillbook=${token}`
  })
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Calls of B, in turn. */
function callsOf(shop: Shop): () => Call {
  const authorization = `Bearer ${shop.key}`
  let count = 0
  return () => {
    count += 1
    if (count % 3 === 1) {
      const body = Buffer.from(JSON.stringify(saleBody(shop, `b-${count}`)))
      const headers = { ...JSON_TYPE, authorization, 'idempotency-key': `b-${count}` }
      return { method: 'POST', path: '/api/v1/sales', headers, body }
    }
    const path = count % 3 === 2 ? '/api/v1/sales?limit=50' : '/api/v1/me'
    return { method: 'GET', path, headers: { authorization } }
  }
}

/** Sends sequential calls for some seconds. */
async function listen(url: string, next: () => Call, seconds: number): Promise<Record<Call['method'], Heard>> {
  const heard = { GET: heardNothing(), POST: heardNothing() }
  const end = performance.now() + seconds * 1000
  while (performance.now() < end) {
    const call = next()
    await send(url, call, heard[call.method])
  }
  return heard
}

interface Attack {
  readonly heard: ReadonlyMap<string, Heard>
  stop(): Promise<void>
}

/** All load of company A, until it is stopped. */
function attackBy(url: string, shop: Shop, cookie: string): Attack {
  const heard = new Map<string, Heard>()
  let isOver = false
  const repeat = (what: string, connections: number, next: (count: number) => Call) => {
    const own = heardNothing()
    heard.set(what, own)
    let count = 0
    return Array.from({ length: connections }, async () => {
      while (!isOver) await send(url, next(count++), own)
    })
  }
  const uploads = Array.from({ length: BODIES }, (_, upload) => ({
    sales: Array.from({ length: SALES }, (_, place) => offlineSale(shop, `a-${upload}-${place}`)),
  })).map((body) => Buffer.from(JSON.stringify(body)))
  const batches = Array.from({ length: BODIES }, (_, batch) => ({
    items: Array.from({ length: CUSTOMERS }, (_, place) => ({
      external_id: `c-${batch}-${place}`,
      name: `Cliente ${batch} ${place}`,
      email: `cliente${place}@exemplo.com.br`,
    })),
  })).map((body) => Buffer.from(JSON.stringify(body)))
  const post = (path: string, token: string, bodies: readonly Buffer<ArrayBuffer>[]) => (count: number) => {
    const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` }
    return { method: 'POST' as const, path, headers, body: bodies[count % bodies.length] as Buffer<ArrayBuffer> }
  }
  const done = [
    ...repeat('uploads', UPLOADERS, post('/api/sync/sales', shop.token, uploads)),
    ...repeat('batches', BATCHES, post('/api/v1/customers/batch', shop.key, batches)),
    ...repeat('pages of the past', AS_OF_READERS, () => ({
      method: 'GET',
      path: `/painel/vendas?em=${shop.items.length}`,
      headers: { cookie },
    })),
  ]
  return {
    heard,
    async stop() {
      isOver = true
      await Promise.all(done)
    },
  }
}

const heardNothing = (): Heard => ({ statuses: new Map(), times_ms: [] })

async function send(url: string, { path, ...call }: Call, { statuses, times_ms }: Heard): Promise<void> {
  const began = performance.now()
  const { status } = await fetch(`${url}${path}`, { ...call, redirect: 'manual' }).then(async (response) => {
    await response.arrayBuffer()
    return response
  })
  times_ms.push(performance.now() - began)
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
}

function percentile({ times_ms }: Heard, share: number): number {
  const sorted = times_ms.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function told(heard: Heard): string {
  const statuses = [...heard.statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
  return `${statuses}; p50 ${Math.round(percentile(heard, 0.5))} ms, p95 ${Math.round(percentile(heard, 0.95))} ms`
}

/** @throws if B was refused */
function lineOf(name: string, alone: Heard, beside: Heard): Line {
  const refused = [...beside.statuses.keys()].filter((status) => status >= 400)
  if (refused.length > 0) throw new Error(`${name}: the neighbour was answered ${refused.join(', ')}`)
  const [floor, value] = [percentile(alone, 0.95), percentile(beside, 0.95)]
  return {
    name,
    value,
    unit: 'ms (p95)',
    floor,
    ratio: value / floor,
    target: Math.max(TIMES_LONGER, (floor + LONGER_MS) / floor),
    higher_is_better: false,
    against: 'alone',
    spreads: [],
  }
}
