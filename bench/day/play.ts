import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Asked, callsOf, type Outcome, send } from '../calls.ts'
import { type Company, callerOf } from '../companies.ts'
import { HABITS, KINDS, type Kind } from '../model/workload.ts'
import { callsOfMinute, type Day, placesOfSizes } from './schedule.ts'
import { Tally } from './tally.ts'

/** Part of a simulated day. */
export interface Play {
  readonly url: string
  readonly companies: readonly Company[]
  readonly day: Day
  /** Minutes of the day: the first, and the one after the last. */
  readonly from: number
  readonly to: number
  /** Real seconds per simulated minute. */
  readonly minute_seconds: number
  /** URL of the webhook receiver. */
  readonly receiverUrl: string
}

/** Response times by kind; for deliveries the time since the sale was sent. */
export interface Heard {
  readonly tallies: Readonly<Record<Kind, Tally>>
  /** Skipped calls, because too many were under way. */
  readonly unsent: number
  /** Maximum number of concurrently followed pages. */
  readonly followed: number
}

/** Limit of concurrent calls, for a service that has stopped responding. */
const UNDER_WAY = 2_000
const CONNECTIONS = 400
const TAKE_MS = 1_000
/** Longer than any delivery of a simulated day. */
const LONGEST_MS = 3_600_000
/** Pause between two refreshes of an open page, like a browser's. */
const LOOK_MS = 1_000

/** Plays minutes of a day; calls are sent at their time, regardless of earlier ones. */
export async function play(options: Play): Promise<Heard> {
  const tallies = Object.fromEntries(KINDS.map((kind) => [kind, new Tally()])) as Record<Kind, Tally>
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1 })
  const followers = createFollowers(options, agent, tallies.page)
  const places = placesOfSizes(options.day.companies)
  const underWay = new Set<Promise<void>>()
  let unsent = 0
  const ended = new AbortController()
  const taking = takeDeliveries(options.receiverUrl, tallies.delivery, ended.signal)
  const began = performance.now()
  let number = 0
  try {
    for (let minute = options.from; minute < options.to; minute++) {
      for (const { at, kind, company } of callsOfMinute(options.day, places, minute)) {
        const due_ms = (minute - options.from + at) * options.minute_seconds * 1_000
        const wait_ms = began + due_ms - performance.now()
        if (wait_ms > 1) await pause(wait_ms)
        const calling = options.companies[company] as Company
        if (underWay.size >= UNDER_WAY) unsent += 1
        else {
          const id = `${Math.round(performance.timeOrigin + performance.now()).toString(36)}-${++number}`
          const call = make(options.url, kind, calling, { id, agent, tally: tallies[kind] }).finally(() =>
            underWay.delete(call),
          )
          underWay.add(call)
          if (kind === 'page' && number % HABITS.pagesAVisit === 0) followers.follow(calling)
        }
      }
    }
    await Promise.all(underWay)
    // Waits for the deliveries of the last sales.
    await pause(2 * TAKE_MS)
    return { tallies, unsent, followed: followers.most() }
  } finally {
    ended.abort()
    await taking
    await followers.end()
    await agent.destroy()
  }
}

interface Making {
  readonly id: string
  readonly agent: Agent
  readonly tally: Tally
}

/** Sends the requests of a call sequentially until one fails, and records their times. */
async function make(url: string, kind: Asked, company: Company, { id, agent, tally }: Making): Promise<void> {
  const since = new Date(Date.now() - 60_000).toISOString()
  for (const call of callsOf(kind, callerOf(company), id, since)) {
    const outcome = await send(url, call, agent)
    note(tally, outcome, call.status)
    if (outcome.status !== call.status) return
  }
}

function note(tally: Tally, { status, code, took_ms }: Outcome, expected: number): void {
  if (status === expected) tally.answered(took_ms)
  else tally.refused(`${status} ${code}`)
}

/** Open pages that are fetched again when the ledger changes. */
function createFollowers({ url }: Play, agent: Agent, tally: Tally) {
  const streams = new Agent({ connections: null, pipelining: 1, bodyTimeout: 0, headersTimeout: 60_000 })
  const open = new Set<AbortController>()
  let most = 0
  async function stay(company: Company, ended: AbortController): Promise<void> {
    const headers = { cookie: company.cookie }
    const timer = setTimeout(() => ended.abort(), HABITS.followedMinutes * 60_000)
    try {
      const path = `${url}/painel/ao-vivo?desde=0`
      const { statusCode, body } = await request(path, { headers, dispatcher: streams, signal: ended.signal })
      if (statusCode !== 200) tally.refused(`${statusCode} follow`)
      for await (const chunk of body) {
        if (!String(chunk).includes('mudou')) continue
        await make(url, 'page', company, { id: '', agent, tally })
        await pause(LOOK_MS)
      }
    } catch (error) {
      if (!ended.signal.aborted) tally.refused(`0 follow: ${(error as Error).message}`)
    } finally {
      clearTimeout(timer)
      open.delete(ended)
    }
  }
  return {
    follow(company: Company) {
      const ended = new AbortController()
      open.add(ended)
      most = Math.max(most, open.size)
      void stay(company, ended)
    },
    most: () => most,
    async end() {
      for (const each of open) each.abort()
      await streams.destroy()
    },
  }
}

/** Counts deliveries; a sale's id begins with its send time. */
async function takeDeliveries(url: string, tally: Tally, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const arrivals = (await (await fetch(`${url}/taken`)).json()) as [sale: string, at: number][]
    for (const [sale, at] of arrivals) {
      const sentAt = Number.parseInt(sale.split('-')[0] ?? '', 36)
      const took_ms = at - sentAt
      // Till sales have no send time.
      tally.answered(took_ms >= 0 && took_ms < LONGEST_MS ? took_ms : null)
    }
    await pause(TAKE_MS, undefined, { signal }).catch(() => {})
  }
}
