import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { growTrees } from '#integrity/trees.ts'
import { costOf, gaugeOf, perOperation } from './cost.ts'
import { type Addresses, administer, checkpoint, vacuum } from './database.ts'
import { type Call, open, sendPaced } from './load.ts'
import { isNamed, type Options } from './options.ts'
import { bounded, type Line } from './report.ts'
import { batch, changedProducts, list, names, panelPage, poll, postSale, upload } from './requests.ts'
import { percentile } from './rounds.ts'
import { type Checkout, type Environment, execute, ROOT, runVerb, withCheckout } from './servers.ts'
import { fillLedger, type Shop, withCore } from './shop.ts'

const COMPANIES = 64
/** Events of one of them: enough work for a rebuild and a dump. */
const HISTORY = 40_000

/** Targets of the 99th percentile; doubled during disturbances. */
const TARGETS_MS = { sale: 25, read: 20 } as const
const JUDGED = ['sale', 'read'] as const
const DISTURBED = 2

/** Share of the maximum rate. */
const LOADED = 0.6
const RAMP = { from: 80, factor: 1.25, to: 4_000, seconds: 4 }
/** A rate is too high if less than this share is answered in time, or half of the sales take longer. */
const KEPT_UP = 0.93
const SLOW_MS = 50
/** Enough for some hundred sales per phase. */
const PHASE_SECONDS = 15
const WARM_UP_SECONDS = 8
/** Between two disturbances: shorter than the interval of any of them in production. */
const PAUSE_MS = 3_000

/** Shares of all requests of many companies, in percent. */
export const SHARES = { read: 70, sale: 20, bulk: 5, page: 5 } as const
type Kind = keyof typeof SHARES
const KINDS = Object.keys(SHARES) as Kind[]
/** Sales per upload and customers per batch: what a till or an integrator collects in some minutes. */
const BULK = 20

/** Kinds in an order that has the shares in each hundred, spread evenly. */
export function kindsInOrder(): readonly Kind[] {
  const places = KINDS.flatMap((kind) =>
    Array.from({ length: SHARES[kind] }, (_, number) => ({ kind, at: (number + 0.5) / SHARES[kind] })),
  )
  return places.sort((a, b) => a.at - b.at).map(({ kind }) => kind)
}

const HOT = 'ledger.events, ops.ledgers, ops.idempotent_answers, read.sales, read.catalog_items, read.receivables'

/** Background work beside the calls. */
const DISTURBANCES: Readonly<Record<string, (database: Addresses) => Promise<unknown>>> = {
  // Immediate; a scheduled checkpoint is spread over minutes.
  checkpoint,
  // With the cost limits of autovacuum.
  vacuum: ({ ownerUrl }) =>
    administer(ownerUrl, async (client) => {
      await client.query('set vacuum_cost_delay = 2')
      await client.query(`vacuum (analyze) ${HOT}`)
    }),
  rebuild: ({ url, ownerUrl }) => runVerb({ directory: ROOT, database: { url, ownerUrl } }, ['projections', 'rebuild']),
  // Like pg_dump at the lowest priority, as documented for operators; pg_dump itself refuses newer servers, and the
  // embedded server has none.
  async dump({ ownerUrl }) {
    const { rows } = await administer(ownerUrl, (client) =>
      client.query<{ copy: string }>(
        `select format('copy %s to stdout', c.oid::regclass) as copy
         from pg_class c join pg_namespace n on n.oid = relnamespace
         where relkind = 'r' and nspname not in ('pg_catalog', 'information_schema')`,
      ),
    )
    const script = ['begin isolation level repeatable read, read only', ...rows.map(({ copy }) => copy), 'commit']
    const dump = 'set -o pipefail; psql "$0" --quiet --set ON_ERROR_STOP=1 --command "$1" | gzip > /dev/null'
    await execute('nice', ['-n', '19', 'bash', '-c', dump, ownerUrl, script.join(';\n')])
  },
}

const nameOf = (kind: string, phase: string) => `mixed-${kind}${phase}`
export const MIXED_BENCHMARKS: readonly string[] = ['', ...Object.keys(DISTURBANCES).map((name) => `-${name}`)].flatMap(
  (phase) => JUDGED.map((kind) => nameOf(kind, phase)),
)

/**
 * 64 companies that read, sell, upload, follow pages and receive webhooks, at 60 % of the maximum rate: latency of each
 * kind of call, alone and during a checkpoint, a vacuum, a rebuild and a dump.
 */
export async function benchMixed(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, MIXED_BENCHMARKS)) return []
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const hooksOf = (place: number) => [`${receiver.url}/hooks/${place}`]
  return withCheckout(environment, { companies: COMPANIES, hooksOf }, async (checkout) => {
    const { database, service, shops } = checkout
    await withCore(database.url, async (core) => {
      await fillLedger(core, (shops[0] as Shop).companyId, HISTORY)
      await growTrees(core, {
        onError(error) {
          throw error
        },
      })
    })
    const followers = await Promise.all(shops.map((shop) => followPage(service.url, shop)))
    try {
      const send = sender(checkout)
      await vacuum(database)
      const perSecond = Math.floor(LOADED * (await highestRate(send)))
      // As on any other day: tables that grew are analyzed, and files of the log are there.
      await vacuum(database)
      await checkpoint(database)
      return await measurePhases(checkout, send, perSecond)
    } finally {
      for (const socket of followers) socket.destroy()
    }
  })
}

/** Results at a steady rate. */
interface Heard {
  readonly times_ms: Readonly<Record<Kind, number[]>>
  /** Answers that refused, as `kind: status`. */
  readonly refusals: readonly string[]
  readonly perSecond: number
}

type Send = (perSecond: number, seconds: number) => Promise<Heard>

/** Sends the mix of calls of all companies in turn, regardless of responses. */
function sender({ service, shops }: Checkout): Send {
  const [order, name] = [kindsInOrder(), names('misto')]
  let number = 0
  return async (perSecond, seconds) => {
    const times_ms = { read: [], sale: [], bulk: [], page: [] } as Record<Kind, number[]>
    const refusals: string[] = []
    const kindOf = new Map<Call, Kind>()
    const next = () => {
      number += 1
      const kind = order[number % order.length] as Kind
      const call = callOf(kind, shops[(number * 7) % shops.length] as Shop, number, name())
      kindOf.set(call, kind)
      return call
    }
    const sent = await sendPaced({
      url: service.url,
      perSecond,
      seconds,
      next,
      isTolerant: true,
      onAnswer(call, { status, took_ms }) {
        const kind = kindOf.get(call) as Kind
        if (status === call.status) times_ms[kind].push(took_ms)
        else refusals.push(`${kind}: ${status}`)
      },
    })
    return { times_ms, refusals, perSecond: sent.perSecond }
  }
}

/** Request of this kind; names are used once. */
export function callOf(kind: Kind, shop: Shop, number: number, name: string): Call {
  switch (kind) {
    case 'sale':
      return postSale(shop, name)
    case 'page':
      return panelPage(shop.cookie, '/vendas')
    case 'bulk':
      return number % 2 === 0 ? upload(shop, name, BULK) : batch(shop, name, BULK)
    case 'read':
      return [list(shop, 'limit=50'), poll(shop), changedProducts(shop)][number % 3] as Call
  }
}

/** Highest rate of a ramp with which the service keeps up. */
async function highestRate(send: Send): Promise<number> {
  await send(RAMP.from, WARM_UP_SECONDS)
  let highest = 0
  for (let rate = RAMP.from; rate <= RAMP.to; rate *= RAMP.factor) {
    const { times_ms, refusals, perSecond } = await send(rate, RAMP.seconds)
    const p50 = percentile(times_ms.sale, 0.5)
    const answered = `${Math.round(perSecond)}/s answered, a sale ${p50.toFixed(0)} ms (p50)`
    console.log(`mixed: ${Math.round(rate)}/s sent, ${answered}`)
    if (refusals.length > 0 || perSecond < KEPT_UP * rate || p50 > SLOW_MS) break
    highest = rate
  }
  if (highest === 0) throw new Error(`the service does not keep up with ${RAMP.from} requests a second`)
  return highest
}

async function measurePhases({ service, database }: Checkout, send: Send, perSecond: number): Promise<Line[]> {
  await send(perSecond, WARM_UP_SECONDS)
  const gauge = await gaugeOf(service, database.url)
  const { value: quiet, spent } = await gauge(() => send(perSecond, PHASE_SECONDS))
  print(`at ${perSecond}/s`, quiet)
  const cost = spent && costOf('call', [perOperation(perSecond * PHASE_SECONDS, spent)])
  const lines = judged(quiet, '', 1).map(
    (line): Line => ({ ...line, cost: line.name === nameOf('sale', '') ? cost : null }),
  )
  for (const [name, disturb] of Object.entries(DISTURBANCES)) {
    const heard = await beside(
      () => disturb(database),
      () => send(perSecond, PHASE_SECONDS),
    )
    print(name, heard)
    lines.push(...judged(heard, `-${name}`, DISTURBED))
  }
  return lines
}

/** Repeats a disturbance beside `work`, some seconds after each end. @throws if one of them fails */
async function beside<T>(disturb: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
  let isOver = false
  const repeated = async () => {
    while (!isOver) {
      await disturb()
      await pause(PAUSE_MS)
    }
  }
  const working = work().finally(() => {
    isOver = true
  })
  const [value] = await Promise.all([working, repeated()])
  return value
}

function print(phase: string, { times_ms, refusals }: Heard): void {
  for (const kind of KINDS) {
    const figures = [0.5, 0.95, 0.99].map((share) => `p${100 * share} ${percentile(times_ms[kind], share).toFixed(1)}`)
    console.log(
      `mixed, ${phase}: ${kind.padEnd(4)} ${String(times_ms[kind].length).padStart(5)}; ms: ${figures.join(', ')}`,
    )
  }
  if (refusals.length > 0) console.log(`mixed, ${phase}: refused ${refusals.join(', ')}`)
}

/** @throws if a call was refused */
function judged({ times_ms, refusals }: Heard, phase: string, times: number): Line[] {
  if (refusals.length > 0) throw new Error(`mixed${phase}: calls were refused, ${refusals[0]}`)
  return JUDGED.map((kind) =>
    bounded(
      { name: nameOf(kind, phase), value: percentile(times_ms[kind], 0.99), unit: 'ms (p99)' },
      TARGETS_MS[kind] * times,
    ),
  )
}

/** Open page of the panel that receives update messages. */
async function followPage(url: string, { cookie }: Shop): Promise<Socket> {
  const socket = await open(url)
  socket.resume()
  const head = ['Host: 127.0.0.1', 'Accept: text/event-stream', `Cookie: ${cookie}`]
  socket.write(`GET /painel/ao-vivo?desde=0 HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
  return socket
}
