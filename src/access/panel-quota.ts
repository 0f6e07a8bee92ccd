import type { Pool } from 'pg'
import { coalesce } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'
import { DATABASE_CLOCK } from './credentials.ts'
import { type FoundSession, findSession, IDLE_HOURS } from './find-session.ts'

/** Panel requests per minute: of a session, of all sessions of a user, of all users of a company. */
export interface PanelLimits {
  readonly ofSession: number
  readonly ofUser: number
  readonly ofCompany: number
}

export const PANEL_LIMITS: PanelLimits = { ofSession: 300, ofUser: 600, ofCompany: 1_200 }

/** A request with a live session. */
export interface PanelCall {
  readonly found: FoundSession
  /** Seconds until the next request can be admitted; null if this one is admitted. */
  readonly retryAfter: number | null
}

/** Looks up sessions and counts their requests exactly, over all processes. */
export interface PanelGate {
  /** Null if the hash has no live session. @throws Unavailable */
  admit(sessionHash: Buffer): Promise<PanelCall | null>
}

interface WaitingCall {
  readonly hash: Buffer
  readonly id: string
  readonly resolve: (call: PanelCall | null) => void
  readonly reject: (error: unknown) => void
}

/** Upper bound of the queue. Normal load empties it every tick; only a slow Postgres fills it. */
const WAITING_CALLS = 10_000

/** A session of the tick. */
interface CountedSession extends FoundSession {
  readonly position: number
  readonly hash: Buffer
  readonly requests: number
  readonly granted: number
  readonly retry_after: number | null
}

/** Looks up and counts in ticks, like api-authenticator.ts: one statement at a time for all queued requests. */
export function createPanelGate(pool: Pool, limits: PanelLimits, waitingCalls = WAITING_CALLS): PanelGate {
  let waiting: WaitingCall[] = []
  const ticks = coalesce(() => {
    const calls = waiting
    waiting = []
    return admitAll(pool, limits, calls)
  })
  return {
    admit: (hash) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingCalls) throw new Unavailable('panel: too many requests wait to be counted')
        waiting.push({ hash, id: hash.toString('latin1'), resolve, reject })
        ticks.ask()
      }),
  }
}

/** Runs one statement for all requests and resolves each in order of arrival; never rejects. */
async function admitAll(pool: Pool, limits: PanelLimits, calls: readonly WaitingCall[]): Promise<void> {
  try {
    const bySession = new Map<string, WaitingCall[]>()
    for (const call of calls) {
      const same = bySession.get(call.id)
      if (same) same.push(call)
      else bySession.set(call.id, [call])
    }
    const sessions = [...bySession.values()]
    const { rows } = await pool.query<CountedSession>({
      ...ADMIT,
      values: [
        sessions.map(([first]) => first?.hash),
        sessions.map(({ length }) => length),
        IDLE_HOURS,
        limits.ofSession,
        limits.ofUser,
        limits.ofCompany,
      ],
    })
    const counted = new Map(rows.map((row) => [row.position, row]))
    for (const [place, ofSession] of sessions.entries()) answer(ofSession, counted.get(place + 1))
  } catch (error) {
    for (const call of calls) call.reject(error)
  }
}

function answer(calls: readonly WaitingCall[], session: CountedSession | undefined): void {
  if (!session) {
    for (const call of calls) call.resolve(null)
    return
  }
  const { position, hash, requests, granted, retry_after, ...found } = session
  for (const [place, call] of calls.entries()) call.resolve({ found, retryAfter: place < granted ? null : retry_after })
}

/**
 * $1 hashes, $2 requests of each, $3 idle hours, $4 to $6 requests per minute of a session, a user, a company. A
 * separate lookup per hash keeps the plan independent of the statistics of new tables.
 */
const ADMIT = {
  name: 'admit_to_panel',
  text: `with ${DATABASE_CLOCK}, found as materialized (
           select sent.position::int as position, sent.hash, sent.requests, f.*
           from unnest($1::bytea[], $2::int[]) with ordinality as sent (hash, requests, position)
           cross join lateral (${findSession('sent.hash', '$3')} offset 0) f
         ), counted as materialized (
           select c.* from (
             select array_agg("companyId" order by "companyId", position) as companies, array_agg("userId" order by "companyId", position) as users,
               array_agg(hash order by "companyId", position) as hashes, array_agg(requests order by "companyId", position) as requests
             from found) a
           cross join lateral ops.count_panel_requests(a.companies, a.users, a.hashes, a.requests, $4, $5, $6) c
         )
         select f.*, c.granted, c.retry_after from found f join counted c on c.of_session = f.hash`,
}
