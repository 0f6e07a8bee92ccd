import type { Pool } from 'pg'
import type { Calendar } from '#domain/instant.ts'
import type { AccessTerms, AdjustedRoles, Role } from '#domain/rights.ts'
import { coalesce } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'
import { companysTimeSql } from '#projections/companies.ts'
import { DATABASE_CLOCK } from './credentials.ts'

/** A live session. */
export interface OpenSession {
  /** Identifies the session among those of its user; it is no credential. */
  readonly id: string
  readonly created_at: string
  /** Accurate to a minute. */
  readonly last_seen_at: string
  /** User agent at the login; null if the browser sent none. */
  readonly user_agent: string | null
}

/** A user of a company. */
export interface SessionsOf {
  readonly companyId: number
  readonly userId: number
}

/** SQL that follows `clock` in a FROM clause: live sessions `s` with their user `u` and person `p`. */
export const liveSession = (which: string, idleHours: string): string =>
  `join ops.sessions s on ${which} and s.revoked_at is null and s.expires_at > clock.now
           and s.last_seen_at > clock.now - make_interval(hours => ${idleHours})
         join users u on u.company_id = s.company_id and u.id = s.user_id and u.generation = s.generation
         join ops.persons p on p.email = u.doc->>'email' and p.generation = s.person_generation`

const LIST = {
  name: 'open_sessions',
  text: `with ${DATABASE_CLOCK}
         select encode(s.hash, 'hex') as id, s.created_at, s.last_seen_at, s.user_agent from clock
         ${liveSession('s.company_id = $1 and s.user_id = $2', '$3')}
         order by s.last_seen_at desc, s.hash`,
}

const END = `update ops.sessions set revoked_at = clock_timestamp(), user_agent = null
             where company_id = $1 and user_id = $2 and revoked_at is null`
const END_ONE = { name: 'end_open_session', text: `${END} and hash = $3 returning hash` }
const END_OTHERS = { name: 'end_open_sessions', text: `${END} and hash <> $3 returning hash` }

/** Most recently used first. */
export async function listOpenSessions(pool: Pool, of: SessionsOf, idleHours: number): Promise<OpenSession[]> {
  const { rows } = await pool.query<OpenSession>({ ...LIST, values: [of.companyId, of.userId, idleHours] })
  return rows
}

/** Sessions to end: one by its id, or all but one. */
export type Ending = { readonly id: string } | { readonly allBut: Buffer | null }

/** Ends sessions of this user only, whatever the id. Returns their hashes. */
export async function endOpenSessions(pool: Pool, of: SessionsOf, ending: Ending): Promise<Buffer[]> {
  const [statement, hash] =
    'id' in ending ? [END_ONE, Buffer.from(ending.id, 'hex')] : [END_OTHERS, ending.allBut ?? Buffer.alloc(0)]
  const { rows } = await pool.query<{ hash: Buffer }>({ ...statement, values: [of.companyId, of.userId, hash] })
  return rows.map((row) => row.hash)
}

/** A session ends after this many hours without use. */
export const IDLE_HOURS = 12

/** A live session with its user and company. */
export interface FoundSession extends Omit<Calendar, 'today'> {
  readonly userId: number
  readonly userName: string
  readonly email: string
  readonly role: Role
  readonly terms: AccessTerms
  readonly generation: number
  readonly personGeneration: number
  readonly companyId: number
  readonly expiresAt: string
  readonly userAgent: string | null
  readonly companyName: string
  readonly logoUrl: string | null
  readonly brandColor: string | null
  /** Roles that the company has adjusted. */
  readonly adjustedRoles: AdjustedRoles
  readonly plan: 'basic' | 'api'
  readonly isTest: boolean
  readonly now: string
  readonly companysTime: string
  readonly isSeenLate: boolean
}

/** SQL that selects the live session of a hash. Both parameters are SQL; `clock` comes from CLOCK. */
const findSession = (hash: string, idleHours: string): string => `
  select s.user_id as "userId", u.doc->>'name' as "userName", u.doc->>'email' as email, u.doc->>'role' as role, u.doc as terms, u.generation, p.generation as "personGeneration",
         s.company_id as "companyId", s.expires_at as "expiresAt", s.user_agent as "userAgent", c.doc->>'name' as "companyName", c.doc->>'logo_url' as "logoUrl", c.doc->>'brand_color' as "brandColor", c.roles as "adjustedRoles", c.plan, c.timezone, c.is_test as "isTest", clock.now, ${companysTimeSql('clock.now')} as "companysTime",
         s.last_seen_at < clock.now - interval '1 minute' as "isSeenLate"
  from clock
  ${liveSession(`s.hash = ${hash}`, idleHours)}
  join companies c on c.company_id = s.company_id`

interface Waiting {
  readonly hash: Buffer
  readonly resolve: (found: FoundSession | null) => void
  readonly reject: (error: unknown) => void
}

/** Of a statement. */
const MOST_SESSIONS = 1_000

/** Looks sessions up in ticks: those of all open pages of the process share a few statements. */
export function createSessionLookup(pool: Pool): (hash: Buffer) => Promise<FoundSession | null> {
  const waiting: Waiting[] = []
  const ticks = coalesce(async () => {
    const asked = waiting.splice(0, MOST_SESSIONS)
    if (waiting.length > 0) ticks.ask()
    try {
      const values = [asked.map(({ hash }) => hash), IDLE_HOURS]
      const { rows } = await pool.query<FoundSession & { position: number }>({ ...LOOK, values })
      const found = new Map(rows.map(({ position, ...session }) => [position, session]))
      for (const [place, { resolve }] of asked.entries()) resolve(found.get(place + 1) ?? null)
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  })
  return (hash) =>
    new Promise((resolve, reject) => {
      waiting.push({ hash, resolve, reject })
      ticks.ask()
    })
}

/** A separate lookup per hash keeps the plan independent of the statistics of new tables. */
const LOOK = {
  name: 'find_session',
  text: `with ${DATABASE_CLOCK}
         select asked.position::int as position, f.* from unnest($1::bytea[]) with ordinality as asked (hash, position)
         cross join lateral (${findSession('asked.hash', '$2')} offset 0) f`,
}

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
