import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import { growTree, ledgerLog } from '#integrity/proofs/trees.ts'
import { type Asked, type Caller, callsOf, send } from './calls.ts'
import type { Child } from './child.ts'
import { type Company, callerOf } from './companies.ts'
import { administer, walOf } from './database.ts'
import type { Cost, Measured, Time } from './model/model.ts'
import { CALLED, type Kind, perKind } from './model/workload.ts'
import { median } from './rounds.ts'
import { withCore } from './shop.ts'
import type { Stage, StagedShard } from './stage.ts'

/** Concurrent calls of a busy service. */
export const CROWD = 32
const IDLE_SECONDS = 6
/** Rounds until V8 has compiled the code of a kind of call. */
const WARM_UP = 2

/** Round of one kind, per call. */
interface Round extends Time {
  readonly calls: number
  readonly perSecond: number
  readonly walBytes: number
}

export interface Running {
  readonly kind: Asked
  readonly seconds: number
  /** Concurrent connections, each sending its next call after a response; or a steady rate, regardless of responses. */
  readonly pace: { readonly connections: number } | { readonly perSecond: number }
}

let runs = 0

/** Sends calls of one kind for some seconds, of all companies in turn. @throws if one is refused */
export async function runCalls(
  stage: Stage,
  companies: readonly Company[],
  { kind, seconds, pace }: Running,
): Promise<Round> {
  const dispatcher = new Agent({ connections: 'connections' in pace ? pace.connections : null, pipelining: 1 })
  const run = `${Date.now().toString(36)}-${++runs}`
  const callers: Caller[] = companies.map(callerOf)
  let calls = 0
  const call = async () => {
    const place = calls++
    const since = new Date(Date.now() - 2_000).toISOString()
    for (const each of callsOf(kind, callers[place % callers.length] as Caller, `${run}-${place}`, since)) {
      const { status, code } = await send(stage.service.url, each, dispatcher)
      if (status !== each.status) throw new Error(`${each.path} was answered ${status}: ${code}`)
    }
  }
  try {
    const before = await walOfAll(stage)
    const began = performance.now()
    const { service_us, postgres_us } = await stage.meter.measure(() =>
      'connections' in pace
        ? callAgain(call, pace.connections, began + seconds * 1_000)
        : callSteadily(call, pace.perSecond, seconds * pace.perSecond),
    )
    const took_seconds = (performance.now() - began) / 1_000
    return {
      calls,
      perSecond: calls / took_seconds,
      service_us: service_us / calls,
      postgres_us: postgres_us / calls,
      walBytes: ((await walOfAll(stage)) - before) / calls,
    }
  } finally {
    await dispatcher.destroy()
  }
}

async function callAgain(call: () => Promise<void>, connections: number, until: number): Promise<void> {
  const caller = async () => {
    while (performance.now() < until) await call()
  }
  await Promise.all(Array.from({ length: connections }, caller))
}

async function callSteadily(call: () => Promise<void>, perSecond: number, count: number): Promise<void> {
  const began = performance.now()
  const answers: Promise<void>[] = []
  for (let sent = 0; sent < count; sent++) {
    const wait_ms = began + (sent * 1_000) / perSecond - performance.now()
    if (wait_ms > 1) await pause(wait_ms)
    answers.push(call())
  }
  await Promise.all(answers)
}

async function walOfAll({ shards }: Stage): Promise<number> {
  const bytes = await Promise.all(shards.map(({ database }) => walOf(database.url)))
  return bytes.reduce((sum, each) => sum + each, 0)
}

/** Stage with one shard. */
interface Priced extends Stage {
  /** Companies with a webhook at `receiver`, and those without. */
  readonly told: readonly Company[]
  readonly untold: readonly Company[]
  readonly receiver: Child
}

/** Costs of each kind of call alone and under load, and of an idle second: the input of the model. */
export async function measureCosts(
  stage: Priced,
  { rounds, seconds, of }: { readonly rounds: number; readonly seconds: number; readonly of: string },
): Promise<Measured> {
  const [{ database }] = stage.shards as [StagedShard]
  // First, because Postgres cleans up for a while after work.
  const quiet = await idle(stage)
  // Early, because both grow with the ledgers, which are those of new companies.
  const background = await priceBackground(stage)
  const all = new Map<string, Round[]>()
  const sizes: Sizes[] = []
  let sales = 0
  for (const kind of CALLED)
    await runCalls(stage, stage.untold, { kind, seconds: WARM_UP * seconds, pace: { connections: CROWD } })
  await deliveries(stage, CROWD, seconds)
  for (let round = 0; round < rounds; round++) {
    for (const connections of [CROWD, 1]) {
      for (const kind of CALLED) {
        const isSized = kind === 'sale' && connections === CROWD
        if (isSized) sizes.push(await sizesOf(database.url))
        const measured = await runCalls(stage, stage.untold, { kind, seconds, pace: { connections } })
        if (isSized) {
          sizes.push(await sizesOf(database.url))
          sales += measured.calls
        }
        remember(all, `${kind} ${connections}`, measured)
      }
      remember(all, `delivery ${connections}`, await deliveries(stage, connections, seconds))
    }
  }
  const middle = (name: string, figure: (round: Round) => number) => median((all.get(name) ?? []).map(figure))
  const time = (name: string): Time => ({
    service_us: Math.round(middle(name, (round) => round.service_us)),
    postgres_us: Math.round(middle(name, (round) => round.postgres_us)),
  })
  const grown = (figure: (size: Sizes) => number) =>
    Math.round(sizes.reduce((sum, size, place) => sum + (place % 2 === 0 ? -1 : 1) * figure(size), 0) / sales)
  return {
    of,
    costs: perKind((kind) =>
      kind === 'growth' || kind === 'check'
        ? background[kind]
        : costOf(kind, time, (name) => middle(name, (round) => round.perSecond)),
    ),
    idle: quiet,
    bytesASale: grown(({ kept }) => kept),
    passingBytesASale: grown(({ passing }) => passing),
    walBytesASale: Math.round(middle(`sale ${CROWD}`, (round) => round.walBytes)),
  }
}

function costOf(
  kind: Exclude<Kind, 'growth' | 'check'>,
  time: (name: string) => Time,
  rate: (name: string) => number,
): Cost {
  const [alone, crowded] = [time(`${kind} 1`), time(`${kind} ${CROWD}`)]
  const own = kind === 'delivery' ? minus(alone, time('sale 1')) : alone
  const ownCrowded = kind === 'delivery' ? minus(crowded, time(`sale ${CROWD}`)) : crowded
  return { alone: own, crowded: ownCrowded, crowd: CROWD, alone_ms: Math.round(10_000 / rate(`${kind} 1`)) / 10 }
}

const minus = (left: Time, right: Time): Time => ({
  service_us: Math.max(0, left.service_us - right.service_us),
  postgres_us: Math.max(0, left.postgres_us - right.postgres_us),
})

function remember(all: Map<string, Round[]>, name: string, round: Round): void {
  all.set(name, [...(all.get(name) ?? []), round])
}

/**
 * Background work of the projector per company, done by this process: growth of its tree by one sale, and the check of
 * its tables.
 */
async function priceBackground(stage: Priced): Promise<Record<'growth' | 'check', Cost>> {
  const [{ database }] = stage.shards as [StagedShard]
  return withCore(database.url, async (core) => {
    const growAll = () => each(stage.untold, ({ companyId }) => growTree(core.pool, ledgerLog(core.store, companyId)))
    const checkAll = () => each(stage.untold, ({ companyId }) => core.verifyTables(companyId))
    await Promise.all([growAll(), checkAll()])
    // One sale per company: as many calls as companies.
    const perSecond = stage.untold.length
    await runCalls(stage, stage.untold, { kind: 'sale', seconds: 1, pace: { perSecond } })
    return { growth: await priced(stage, growAll), check: await priced(stage, checkAll) }
  })
}

async function each(companies: readonly Company[], work: (company: Company) => Promise<unknown>): Promise<number> {
  for (const company of companies) await work(company)
  return companies.length
}

/** Postgres is that of the stage; the rest runs in this process. */
async function priced({ meter }: Stage, work: () => Promise<number>): Promise<Cost> {
  const [began, own] = [performance.now(), process.cpuUsage()]
  const { value, postgres_us } = await meter.measure(work)
  const { user, system } = process.cpuUsage(own)
  const time = { service_us: Math.round((user + system) / value), postgres_us: Math.round(postgres_us / value) }
  const alone_ms = Math.round((10 * (performance.now() - began)) / value) / 10
  return { alone: time, crowded: time, crowd: 1, alone_ms }
}

const PATIENCE_MS = 60_000

/** Sales with one delivery each, until all are delivered. */
async function deliveries(stage: Priced, connections: number, seconds: number): Promise<Round> {
  const { service_us, postgres_us, value } = await stage.meter.measure(async () => {
    const round = await runCalls(stage, stage.told, { kind: 'sale', seconds, pace: { connections } })
    const deadline = performance.now() + PATIENCE_MS
    for (let arrived = 0; arrived < round.calls; ) {
      if (performance.now() > deadline) throw new Error(`${arrived} of ${round.calls} deliveries came`)
      await pause(20)
      arrived += ((await (await fetch(`${stage.receiver.url}/taken`)).json()) as unknown[]).length
    }
    return round
  })
  return { ...value, service_us: service_us / value.calls, postgres_us: postgres_us / value.calls }
}

async function idle({ meter }: Stage): Promise<Time> {
  const { service_us, postgres_us } = await meter.measure(() => pause(IDLE_SECONDS * 1_000))
  return { service_us: Math.round(service_us / IDLE_SECONDS), postgres_us: Math.round(postgres_us / IDLE_SECONDS) }
}

/** Sizes of tables with their indexes, in bytes. */
interface Sizes {
  readonly kept: number
  readonly passing: number
}

async function sizesOf(databaseUrl: string): Promise<Sizes> {
  const { rows } = await administer(databaseUrl, (client) =>
    client.query<{ kept: string; passing: string }>(
      `select coalesce(sum(pg_total_relation_size(c.oid)) filter (where n.nspname <> 'ops'), 0) as kept,
         coalesce(sum(pg_total_relation_size(c.oid)) filter (where n.nspname = 'ops'), 0) as passing
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and (n.nspname in ('ops', 'ledger') or n.nspname like 'read%')`,
    ),
  )
  return { kept: Number(rows[0]?.kept), passing: Number(rows[0]?.passing) }
}
