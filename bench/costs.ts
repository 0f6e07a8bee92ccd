import { setTimeout as pause } from 'node:timers/promises'
import { growTree, ledgerLog } from '#integrity/trees.ts'
import { type Costing, costingOf, meterOf } from './cost.ts'
import { type Call, generate, loadSide, sendPaced } from './load.ts'
import { isNamed, isSelected, type Options } from './options.ts'
import { bounded, type Line } from './report.ts'
import * as requests from './requests.ts'
import { measureInTurns, median, type Side } from './rounds.ts'
import { type Checkout, type Child, type Environment, withCheckout } from './servers.ts'
import { type Shop, withCore } from './shop.ts'
import { untilTaken } from './webhooks.ts'

/** Concurrent calls of a busy service, which share statements and commits; and a single one. */
const CROWDS = [1, 32] as const
/** Half of them receive a webhook of each sale. */
const COMPANIES = 64
const SALES_OF_UPLOAD = 3

const name = requests.names('custos')

/** Requests of each kind of call, sent one after the other: those on which `npm run plan` is based. */
const KINDS: Readonly<Record<string, (shop: Shop) => readonly Call[]>> = {
  sale: (shop) => [requests.postSale(shop, name())],
  upload: (shop) => [requests.upload(shop, name(), SALES_OF_UPLOAD)],
  opening: (shop) => [requests.sync(shop, 'status'), requests.sync(shop, 'config'), requests.changedProducts(shop)],
  poll: (shop) => [requests.poll(shop)],
  page: ({ cookie }) => [requests.panelPage(cookie, '/vendas')],
  report: (shop) => [requests.summary(shop), requests.list(shop, `limit=${requests.LIMIT}`)],
}
const DELIVERED = 'sale-delivered'
const [TREE, IDLE] = ['costs-tree', 'costs-idle']
const nameOf = (kind: string, crowd: number) => `costs-${kind}-${crowd}`
export const COST_BENCHMARKS: readonly string[] = [
  ...[...Object.keys(KINDS), DELIVERED].flatMap((kind) => CROWDS.map((crowd) => nameOf(kind, crowd))),
  TREE,
  IDLE,
]

/**
 * Processor time, round trips and log of each kind of call, alone and among 32: an upload of three sales, a till at its
 * opening, a poll, a page of the panel, a month's summary and list, a sale with its delivery; the growth of a ledger's
 * tree by one sale; and an idle second of a process.
 */
export async function benchCosts(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, COST_BENCHMARKS)) return []
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const hooksOf = (place: number) => (place % 2 === 0 ? [`${receiver.url}/hooks/${place}`] : [])
  return withCheckout(environment, { companies: COMPANIES, hooksOf }, async (checkout) => {
    const { service, database } = checkout
    const lines: Line[] = []
    for (const [name, per, sideOf] of sidesOf(checkout, receiver)) {
      if (!isSelected(options, name)) continue
      const costing = await costingOf(service, database, per)
      await measureInTurns([sideOf(costing)], options)
      const cost = costing.cost()
      lines.push({ ...line(name, cost ? cost.service_us + cost.postgres_us : Number.NaN), cost })
    }
    if (isSelected(options, TREE)) lines.push(line(TREE, await timeOfTree(checkout, options)))
    return lines
  })
}

type Priced = readonly [name: string, per: string, sideOf: (costing: Costing) => Side]

function sidesOf({ service, shops }: Checkout, receiver: Child): Priced[] {
  const { url } = service
  const [hooked, others] = [0, 1].map((rest) => shops.filter((_, place) => place % 2 === rest)) as [Shop[], Shop[]]
  const calling = (kind: string, connections: number): Priced => {
    const calls = KINDS[kind] as (shop: Shop) => readonly Call[]
    const [nextShop, left] = [requests.inTurn(others), [] as Call[]]
    const next = () => {
      if (left.length === 0) left.push(...calls(nextShop()))
      return left.shift() as Call
    }
    const load = { name: kind, url, connections, next, each: 1 / calls(nextShop()).length }
    return [nameOf(kind, connections), kind, (costing) => loadSide({ ...load, costing })]
  }
  const delivered = (connections: number): Priced => {
    const next = requests.createSales(hooked)
    const sell = async (seconds: number) => {
      const { answered } = await generate({ url, connections, seconds, next })
      await untilTaken(receiver, answered)
      return answered
    }
    return [nameOf(DELIVERED, connections), 'sale and delivery', (costing) => timed(costing, sell)]
  }
  const idle = async (seconds: number) => {
    await pause(seconds * 1_000)
    return seconds
  }
  return [
    // First, because Postgres cleans up for a while after work.
    [IDLE, 'idle second', (costing) => timed(costing, idle)],
    ...CROWDS.flatMap((crowd) => [...Object.keys(KINDS).map((kind) => calling(kind, crowd)), delivered(crowd)]),
  ]
}

/** Side whose work returns the number of its operations. */
const timed = (costing: Costing, work: (seconds: number) => Promise<number>): Side => ({
  name: '',
  measure: (seconds) =>
    costing.round(
      () => work(seconds),
      (count) => count,
    ),
})

const line = (name: string, value: number): Line => {
  const unjudged = { floor: null, ratio: null, target: null, against: '' }
  return { ...bounded({ name, value, unit: 'µs' }, 1), ...unjudged }
}

/** Growth of each company's tree by one sale, by this process: its processor time and that of Postgres. */
async function timeOfTree({ service, database, shops }: Checkout, { rounds }: Options): Promise<number> {
  const meter = await meterOf(service, database.url)
  const next = requests.createSales(shops)
  return withCore(database.url, async ({ pool, store }) => {
    const growAll = async () => {
      for (const { companyId } of shops) await growTree(pool, ledgerLog(store, companyId))
    }
    await growAll()
    const times: number[] = []
    for (let round = 0; round < rounds; round++) {
      await sendPaced({ url: service.url, perSecond: shops.length, seconds: 1, next })
      const own = process.cpuUsage()
      const spent = await meter?.(growAll)
      const { user, system } = process.cpuUsage(own)
      times.push((user + system + (spent?.postgres_us ?? 0)) / shops.length)
    }
    return median(times)
  })
}
