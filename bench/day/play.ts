import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type Asked, callsOf, type Outcome, send } from '../calls.ts'
import { type Company, callerOf } from '../companies.ts'
import { HABITS, KINDS, type Kind } from '../model/workload.ts'
import { callsOfMinute, type Day, placesOfSizes } from './schedule.ts'
import { Tally } from './tally.ts'

/** A part of a day, as it is played. */
export interface Play {
  readonly url: string
  readonly companies: readonly Company[]
  readonly day: Day
  /** Minutes of the day: the first, and the one after the last. */
  readonly from: number
  readonly to: number
  /** Seconds that a minute of the day takes. */
  readonly minute_seconds: number
  /** Of the server that is told of sales. */
  readonly receiverUrl: string
}

/** What was heard, by kind; of deliveries how long after the sale was sent they came. */
export interface Heard {
  readonly tallies: Readonly<Record<Kind, Tally>>
  /** Calls that were not made, because too many were under way. */
  readonly unsent: number
  /** Most pages that were open and followed at a time. */
  readonly followed: number
}

/** So many calls under way at most: a service that has stopped answering is not called more and more. */
const UNDER_WAY = 2_000
const CONNECTIONS = 400
const TAKE_MS = 1_000
/** No delivery takes longer than a day that is played. */
const LONGEST_MS = 3_600_000
/** Between two looks of an open page, as a browser takes to show one. */
const LOOK_MS = 1_000

/** Plays minutes of a day; calls come when their time has come, whatever became of those before. */
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
    // What was sold last is still to be delivered.
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

/** The requests of a call, one after the other, as long as they are answered; how long each took. */
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

/** Pages that stay open and are fetched anew when the ledger has moved. */
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

/** Counts deliveries as they come; a sale's id begins with when it was sent. */
async function takeDeliveries(url: string, tally: Tally, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const arrivals = (await (await fetch(`${url}/taken`)).json()) as [sale: string, at: number][]
    for (const [sale, at] of arrivals) {
      const sentAt = Number.parseInt(sale.split('-')[0] ?? '', 36)
      const took_ms = at - sentAt
      // Of a till's sale nothing but that it came.
      tally.answered(took_ms >= 0 && took_ms < LONGEST_MS ? took_ms : null)
    }
    await pause(TAKE_MS, undefined, { signal }).catch(() => {})
  }
}
