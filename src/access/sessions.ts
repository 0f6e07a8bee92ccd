import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import { hasAccessOn, type Role, type RolePermissions, seesPersons, toRolePermissions } from '#domain/rights.ts'
import type { SessionHolder } from './company-users.ts'
import { DATABASE_CLOCK, revokeSurplusSql, PANEL_TOKENS as TOKENS } from './credentials.ts'
import {
  createPanelGate,
  createSessionLookup,
  type Ending,
  endOpenSessions,
  type FoundSession,
  IDLE_HOURS,
  listOpenSessions,
  liveSession,
  type OpenSession,
  PANEL_LIMITS,
  type PanelLimits,
  type SessionsOf,
} from './open-sessions.ts'

/** Maximum lifetime of a session. */
const LONGEST_DAYS = 7

/** Maximum number of a user's live sessions; above it the longest unused are revoked. */
export const LIVE_SESSIONS_OF_USER = 20

/** Stored length of a user agent. */
const LONGEST_USER_AGENT = 200

const CSRF_LABEL = 'tillbook panel csrf'

/** A logged-in user of the panel at the time of the request, and the company's day. */
export interface PanelSession extends Calendar {
  readonly sessionHash: Buffer
  /** Token in each form of this session; the token of another session is refused. */
  readonly csrfToken: string
  readonly userId: number
  readonly userName: string
  readonly email: string
  readonly role: Role
  /** Permissions of the role in this company. */
  readonly permissions: RolePermissions
  /** Whether names, documents and contacts of persons are visible (PANEL-83). */
  readonly seesPersonalData: boolean
  /** The user's generation when the session began. */
  readonly generation: number
  /** The person's generation. */
  readonly personGeneration: number
  readonly companyId: number
  readonly companyName: string
  readonly logoUrl: string | null
  /** `#rrggbb`, or null. */
  readonly brandColor: string | null
  /** UTC; the session ends then even if it is in use. */
  readonly expiresAt: string
  /** User agent at the login; null if the browser sent none. */
  readonly userAgent: string | null
  /** `api` is the add-on: without it, requests with the company's keys get 402. */
  readonly plan: 'basic' | 'api'
  /** Whether this is a test company; every page shows it. */
  readonly isTest: boolean
  /** Postgres's clock: UTC, milliseconds, `Z`. */
  readonly now: string
  /** The company's time, for its day and the dates of its records. Access limits use the real time. */
  readonly companysTime: string
}

/** Value of the cookie, returned once. */
export interface IssuedSession {
  readonly token: string
  /** UTC; the session ends then even if it is in use. */
  readonly expiresAt: string
}

/** A panel request with a live session. `retryAfter` in seconds if it exceeds the limit, else null. */
export interface AdmittedSession {
  readonly session: PanelSession
  readonly retryAfter: number | null
}

/** Sessions of the panel. Postgres stores their hashes, so that an end takes effect at once in every process. */
export interface Sessions {
  /** The session ends after 7 days, or earlier at `until`. */
  issue(holder: SessionHolder, userAgent?: string | null, until?: string | null): Promise<IssuedSession>
  /**
   * Atomically replaces a live session by one for another company of the same person. It has the person's generation
   * and the expiry of the old session. Null if the old one has ended.
   */
  exchange(session: PanelSession, next: NextHolder): Promise<IssuedSession | null>
  /** Finds a live session and records its use; null if there is none. */
  find(token: string): Promise<PanelSession | null>
  /** As `find`, and counts a panel request in the same statement. @throws Unavailable */
  admit(token: string): Promise<AdmittedSession | null>
  /** Whether the session is live. Does not count as use, so that an idle page keeps no session alive. */
  isLive(token: string): Promise<boolean>
  /** @returns whether it was live. */
  revoke(session: Pick<PanelSession, 'sessionHash'>): Promise<boolean>
  /** Sessions of a user, most recently used first (PANEL-203). */
  list(of: SessionsOf): Promise<OpenSession[]>
  /** Ends sessions of a user, at once in every process. Returns the hashes of those that were open. */
  end(of: SessionsOf, ending: Ending): Promise<Buffer[]>
}

/** Holder of the session after an exchange; the person's generation comes from the old session. */
export type NextHolder = Omit<SessionHolder, 'personGeneration'>

/** `onError` receives failures to record the last use, which happens in the background. */
export function createSessions(
  pool: Pool,
  onError: (error: unknown) => void,
  limits: PanelLimits = PANEL_LIMITS,
): Sessions {
  const gate = createPanelGate(pool, limits)
  /** Hashes with a write of the last use in progress: requests of one page arrive together. */
  const noting = new Set<string>()

  async function note(hash: Buffer): Promise<void> {
    const id = hash.toString('base64')
    if (noting.has(id)) return
    noting.add(id)
    try {
      await pool.query({ ...NOTE, values: [hash] })
    } catch (error) {
      onError(error)
    } finally {
      noting.delete(id)
    }
  }

  const look = createSessionLookup(pool)

  /** Converts the row of a token and records the use. */
  function used(token: string, sessionHash: Buffer, live: LiveSession): PanelSession {
    const { isSeenLate, terms, adjustedRoles, ...found } = live
    if (isSeenLate) void note(sessionHash)
    const permissions = toRolePermissions(found.role, adjustedRoles)
    return {
      sessionHash,
      csrfToken: deriveCsrfToken(token),
      ...found,
      permissions,
      seesPersonalData: seesPersons(terms),
    }
  }

  /** Null if no row was stored. */
  async function store(
    holder: SessionHolder,
    statement: { name: string; text: string },
    more: readonly unknown[],
  ): Promise<IssuedSession | null> {
    const { userId, companyId, generation } = holder
    const token = TOKENS.make()
    const hash = TOKENS.hashOf(token) as Buffer
    const values = [hash, userId, companyId, generation, LIVE_SESSIONS_OF_USER - 1, ...more]
    const { rows } = await pool.query<{ expires_at: string }>({ ...statement, values })
    return rows[0] ? { token, expiresAt: rows[0].expires_at } : null
  }

  return {
    async issue(holder, userAgent = null, until = null) {
      const agent = userAgent?.slice(0, LONGEST_USER_AGENT) ?? null
      const issued = await store(holder, ISSUE, [LONGEST_DAYS, holder.personGeneration, agent, until])
      if (!issued) throw new Error('no session was stored')
      return issued
    },
    exchange: ({ sessionHash, personGeneration }, next) =>
      store({ ...next, personGeneration }, EXCHANGE, [sessionHash, IDLE_HOURS]),
    async find(token) {
      const hash = TOKENS.hashOf(token)
      const found = hash && (await look(hash))
      const live = found && liveOf(found)
      return live ? used(token, hash as Buffer, live) : null
    },
    async admit(token) {
      const hash = TOKENS.hashOf(token)
      const call = hash && (await gate.admit(hash))
      const live = call && liveOf(call.found)
      return live ? { session: used(token, hash as Buffer, live), retryAfter: call.retryAfter } : null
    },
    async isLive(token) {
      const hash = TOKENS.hashOf(token)
      const found = hash && (await look(hash))
      return found !== null && liveOf(found) !== null
    },
    async revoke({ sessionHash }) {
      const { rows } = await pool.query<{ was_live: boolean }>({ ...REVOKE, values: [sessionHash, IDLE_HOURS] })
      return rows[0]?.was_live ?? false
    },
    list: (of) => listOpenSessions(pool, of, IDLE_HOURS),
    end: (of, ending) => endOpenSessions(pool, of, ending),
  }
}

type LiveSession = FoundSession & Calendar

/** Null after the last day of the user's access, which also ends open pages. */
function liveOf(found: FoundSession): LiveSession | null {
  if (!hasAccessOn(found.terms, dateInZone(found.now, found.timezone))) return null
  return { ...found, today: dateInZone(found.companysTime, found.timezone) }
}

/** Derived from the session's secret token: a page of another site cannot know it. */
export const deriveCsrfToken = (token: string): string =>
  createHmac('sha256', token).update(CSRF_LABEL).digest('base64url')

/** Compares a form's token with the session's in constant time. */
export function csrfMatches({ csrfToken }: Pick<PanelSession, 'csrfToken'>, given: unknown): boolean {
  if (typeof given !== 'string') return false
  const [expected, sent] = [Buffer.from(csrfToken), Buffer.from(given)]
  return expected.length === sent.length && timingSafeEqual(expected, sent)
}

const INSERT = `insert into ops.sessions (hash, user_id, company_id, generation, person_generation, created_at, last_seen_at, expires_at, user_agent)`

const ISSUE = {
  name: 'issue_session',
  text: `with ${DATABASE_CLOCK}, ${revokeSurplusSql('ops.sessions', 'last_seen_at')}
         ${INSERT} select $1, $2, $3, $4, $7, now, now, least(now + make_interval(days => $6), $9::timestamptz), $8 from clock returning expires_at`,
}

/** A concurrent exchange or revocation waits for the row lock and then finds the session revoked. */
const EXCHANGE = {
  name: 'exchange_session',
  text: `with ${DATABASE_CLOCK}, asking as materialized (
           select clock.now, s.person_generation, s.expires_at, s.user_agent from clock
           ${liveSession('s.hash = $6', '$7')}
           for update of s
         ), ended as (
           update ops.sessions set revoked_at = asking.now, user_agent = null from asking where hash = $6
         ), ${revokeSurplusSql('ops.sessions', 'last_seen_at', 'asking')}
         ${INSERT} select $1, $2, $3, $4, person_generation, now, now, expires_at, user_agent from asking returning expires_at`,
}

/** At most once a minute, over all processes. */
const NOTE = {
  name: 'note_session',
  text: `update ops.sessions set last_seen_at = clock_timestamp()
         where hash = $1 and last_seen_at < clock_timestamp() - interval '1 minute'`,
}

const REVOKE = {
  name: 'revoke_session',
  text: `with ${DATABASE_CLOCK}, ended as (
           update ops.sessions set revoked_at = clock.now, user_agent = null from clock where hash = $1 and revoked_at is null returning hash
         )
         select exists (select from clock ${liveSession('s.hash = $1', '$2')}) as was_live from ended`,
}
