import type { Socket } from 'node:net'
import { growTrees } from '#integrity/proofs/tree-growth.ts'
import type { Company } from './companies.ts'
import { callerOf } from './companies.ts'
import { costOf, gaugeOf, middleOf } from './cost.ts'
import { checkpoint, vacuum } from './database.ts'
import type { Environment } from './environment.ts'
import { open } from './load.ts'
import { DISTURBANCES, disturb } from './mixed/disturbances.ts'
import { KINDS, type Kind } from './mixed/mix.ts'
import { type Heard, sendMix } from './mixed/send.ts'
import { isNamed, type Options } from './options.ts'
import type { Line } from './report.ts'
import { seedSales } from './seed-sales.ts'
import { withCore } from './shop.ts'
import { type Stage, type StagedShard, withStage } from './stage.ts'

const COMPANIES = 64
/** Enough work for a rebuild and a dump. */
const HISTORY = 40_000

/** Targets of the 99th percentile; doubled during disturbances. */
const TARGETS_MS = { sale: 25, read: 20 } as const
type Judged = keyof typeof TARGETS_MS
const DISTURBED = 2

const PHASES = ['', ...DISTURBANCES.map(({ name }) => `-${name}`)]
const nameOf = (kind: Judged, phase: string) => `mixed-${kind}${phase}`
export const MIXED_BENCHMARKS: readonly string[] = PHASES.flatMap((phase) =>
  (Object.keys(TARGETS_MS) as Judged[]).map((kind) => nameOf(kind, phase)),
)

/** Share of the maximum rate. */
const LOADED = 0.6
const RAMP = { from: 80, factor: 1.25, to: 4_000, seconds: 4 }
/** A rate is too high if less than this share is answered in time, or half of the sales take longer. */
const KEPT_UP = 0.93
const SLOW_MS = 50
/** Enough for some hundred sales per phase. */
const PHASE_SECONDS = 15
const WARM_UP_SECONDS = 8

/**
 * 64 companies that read, sell, upload, follow pages and receive webhooks, at 60 % of the maximum rate: latency of each
 * kind of call, alone and during a checkpoint, a vacuum, a rebuild and a dump.
 */
export async function benchMixed(environment: Environment, options: Options): Promise<Line[]> {
  if (!isNamed(options, MIXED_BENCHMARKS)) return []
  const receiver = await environment.start('dist/bench/webhook-receiver.js', {})
  const webhookOf = (place: number) => `${receiver.url}/hooks/${place}`
  return withStage(environment, { shards: 1, companiesOfShard: COMPANIES, webhookOf }, async (stage) => {
    const { database, companies } = stage.shards[0] as StagedShard
    await withCore(database.url, async (core) => {
      await seedSales(core, database.url, historian(companies), HISTORY)
      await growTrees(core, { onError: fail })
    })
    await vacuum(database)
    const followers = await Promise.all(companies.map((company) => follow(stage.service.url, company)))
    try {
      const perSecond = Math.floor(LOADED * (await mostOf(stage, companies)))
      // As on any other day: tables that grew are analyzed, and files of the log are there.
      await vacuum(database)
      await checkpoint(database)
      const lines = await playPhases(stage, companies, perSecond)
      console.log(
        `mixed: ${followers.reduce((sum, { heard }) => sum + heard(), 0)} times a page was told to look again`,
      )
      return lines
    } finally {
      for (const { socket } of followers) socket.destroy()
    }
  })
}

function fail(error: unknown): never {
  throw error
}

function historian(companies: readonly Company[]) {
  const company = companies[0] as Company
  return { ...callerOf(company), companyId: company.companyId }
}

/** Highest rate of a ramp with which the service keeps up. */
async function mostOf({ service }: Stage, companies: readonly Company[]): Promise<number> {
  await sendMix(service.url, companies, { perSecond: RAMP.from, seconds: WARM_UP_SECONDS })
  let most = 0
  for (let perSecond = RAMP.from; perSecond <= RAMP.to; perSecond *= RAMP.factor) {
    const heard = await sendMix(service.url, companies, { perSecond, seconds: RAMP.seconds })
    const refused = KINDS.reduce((sum, kind) => sum + heard.tallies[kind].refusedCount, 0)
    const p50 = heard.tallies.sale.percentile(0.5)
    console.log(
      `mixed: ${Math.round(perSecond)}/s asked, ${Math.round(heard.perSecond)}/s answered, a sale ${p50.toFixed(0)} ms (p50)`,
    )
    if (refused > 0 || heard.perSecond < KEPT_UP * perSecond || p50 > SLOW_MS) break
    most = perSecond
  }
  if (most === 0) throw new Error(`the service does not keep up with ${RAMP.from} requests a second`)
  return most
}

async function playPhases(
  { service, shards }: Stage,
  companies: readonly Company[],
  perSecond: number,
): Promise<Line[]> {
  const { database } = shards[0] as StagedShard
  const send = (seconds: number) => sendMix(service.url, companies, { perSecond, seconds })
  await send(WARM_UP_SECONDS)
  const lines: Line[] = []
  const gauge = await gaugeOf(service, database.url)
  const { value: quiet, spent } = await gauge(() => send(PHASE_SECONDS))
  tell(`at ${perSecond}/s`, quiet)
  const cost = spent && middleOf('call', [costOf('call', perSecond * PHASE_SECONDS, spent)])
  lines.push(...judged(quiet, '', 1).map((line) => ({ ...line, cost: line.name === nameOf('sale', '') ? cost : null })))
  for (const disturbance of DISTURBANCES) {
    const { value, times } = await disturb(disturbance, database, () => send(PHASE_SECONDS))
    tell(`${disturbance.name} (${times} times)`, value)
    lines.push(...judged(value, `-${disturbance.name}`, DISTURBED))
  }
  return lines
}

const PERCENTILES = [0.5, 0.95, 0.99, 0.999]

function tell(what: string, { tallies }: Heard): void {
  for (const kind of KINDS) {
    const tally = tallies[kind]
    const figures = PERCENTILES.map((share) => `p${100 * share} ${tally.percentile(share).toFixed(1)}`)
    const refused = [...tally.refusals].map(([why, times]) => `; ${times} × ${why}`).join('')
    console.log(
      `mixed, ${what}: ${kind.padEnd(4)} ${String(tally.count).padStart(5)}; ms: ${figures.join(', ')}${refused}`,
    )
  }
}

/** @throws if a call was refused */
function judged({ tallies }: Heard, phase: string, times: number): Line[] {
  const refusals = KINDS.flatMap((kind: Kind) => [...tallies[kind].refusals.keys()])
  if (refusals.length > 0) throw new Error(`mixed${phase}: calls were answered ${refusals.join(', ')}`)
  return (Object.keys(TARGETS_MS) as Judged[]).map((kind) => {
    const value = tallies[kind].percentile(0.99)
    const floor = TARGETS_MS[kind] * times
    return {
      name: nameOf(kind, phase),
      value,
      unit: 'ms (p99)',
      floor,
      ratio: Math.round((1_000 * value) / floor) / 1_000,
      target: 1,
      higher_is_better: false,
      against: 'what it may take',
      spreads: [],
    }
  })
}

/** Open page of the panel that receives update messages. */
async function follow(url: string, { cookie }: Company): Promise<{ socket: Socket; heard: () => number }> {
  const socket = await open(url)
  let heard = 0
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('mudou')) heard += 1
  })
  socket.on('error', () => {})
  const head = ['Host: 127.0.0.1', 'Accept: text/event-stream', `Cookie: ${cookie}`]
  socket.write(`GET /painel/ao-vivo?desde=0 HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
  return { socket, heard: () => heard }
}
