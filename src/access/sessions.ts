import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Pool } from 'pg'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import { isLetIn, type Role, seesPersons } from '#domain/roles.ts'
import { assertAcceptsWrites, assertOnThisShard } from '#ledger/migration-state.ts'
import { acceptsWrites, isNotMigrating } from '#postgres/migration-condition.ts'
import { deleteInBatches } from '#postgres/purge.ts'
import type { NewKey } from './api-keys.ts'
import { type FoundSession, findSession, IDLE_HOURS } from './find-session.ts'
import type { Invitations } from './invitations.ts'
import type { Login } from './login.ts'
import { DATABASE_CLOCK, revokedSurplus, PANEL_TOKENS as TOKENS } from './opaque-token.ts'
import {
  type Ending,
  endOpenSessions,
  listOpenSessions,
  liveSession,
  type OpenSession,
  type SessionsOf,
} from './open-sessions.ts'
import { createPanelGate, PANEL_LIMITS, type PanelLimits } from './panel-quota.ts'
import type { PasswordLinks } from './password-links.ts'
import type { RegisterLogin, SessionHolder } from './people.ts'

/** A session ends after so many days at the latest. */
const LONGEST_DAYS = 7

/** A user's sessions beyond these: the longest unused ones are revoked. */
export const LIVE_SESSIONS_OF_USER = 20
/** Ended sessions are kept for a while, to be looked into when somebody asks. */
const ENDED_RETENTION_DAYS = 7

/** Characters that are kept of how a browser names itself. */
const LONGEST_USER_AGENT = 200

const CSRF_LABEL = 'tillbook panel csrf'

/** Whoever is logged in to the panel, as of the call, and the day of the company. */
export interface PanelSession extends Calendar {
  readonly sessionHash: Buffer
  /** What each form of this session carries; no other session's fits. */
  readonly csrfToken: string
  readonly userId: number
  readonly userName: string
  readonly email: string
  readonly role: Role
  /** Names, documents and contacts of persons are shown (PANEL-83). */
  readonly isToldPersons: boolean
  /** Of the user when the session began. */
  readonly generation: number
  /** Of the person. */
  readonly personGeneration: number
  readonly companyId: number
  readonly companyName: string
  /** UTC; the session ends then, however much it is used. */
  readonly expiresAt: string
  /** As the browser named itself at the login; null where it did not. */
  readonly userAgent: string | null
  /** `api` is the add-on: without it the company's keys get 402. */
  readonly plan: 'basic' | 'api'
  /** Whether the company is a test company, which every page says. */
  readonly isTest: boolean
  /** Postgres's clock: UTC, milliseconds, `Z`. */
  readonly now: string
  /** The company's own time, by which its day is told and what happens is dated; whoever has access has it by everybody's. */
  readonly companysTime: string
}

/** What the cookie gets, once. */
export interface IssuedSession {
  readonly token: string
  /** UTC; the session ends then, however much it is used. */
  readonly expiresAt: string
}

/** A call of the panel by a live session; `retryAfter` in seconds where it is one too many, else null (PANEL-302). */
export interface AdmittedSession {
  readonly session: PanelSession
  readonly retryAfter: number | null
}

/** Sessions of the panel. They are kept in Postgres as hashes, so that an end counts at once in every process. */
export interface Sessions {
  /** It ends after 7 days, or at `until` if that is sooner. @throws Unavailable while the company moves (HOME-46) */
  issue(holder: SessionHolder, userAgent?: string | null, until?: string | null): Promise<IssuedSession>
  /**
   * A session for another company of the same person, in place of one that is found alive in the same moment: of the person's generation
   * that the old one has, and no longer than it (PANEL-341). Null when the old one has ended. @throws Unavailable likewise
   */
  exchange(session: PanelSession, next: NextHolder): Promise<IssuedSession | null>
  /** Whose session this is, and notes that it is used; null when there is none, or it has ended. @throws Moved */
  find(token: string): Promise<PanelSession | null>
  /** As `find`, and counts a call of the panel in the same statement. @throws Moved, Unavailable */
  admit(token: string): Promise<AdmittedSession | null>
  /** Whether there is a session still. Asking is no use: a page that nobody looks at keeps none alive. */
  isLive(token: string): Promise<boolean>
  /** Whether it was alive until now. */
  revoke(session: Pick<PanelSession, 'sessionHash'>): Promise<boolean>
  /** Of a user, the last used first (PANEL-203). */
  list(of: SessionsOf): Promise<OpenSession[]>
  /** Ends sessions of a user, at once in every process; the hashes of those that were open. */
  end(of: SessionsOf, ending: Ending): Promise<Buffer[]>
}

/** Whom a session is exchanged for; the generation of the person is that of the session. */
export type NextHolder = Omit<SessionHolder, 'personGeneration'>

/** What the panel lets people in by. */
export interface PanelAccess {
  readonly login: Login
  readonly invitations: Invitations
  readonly passwordLinks: PasswordLinks
  readonly sessions: Sessions
  /** A key that nobody has seen yet, for an owner to give to an integration. */
  newKey(isTest: boolean): NewKey
}

interface SessionOptions {
  /** Makes a session known by its hash before it is handed out. */
  readonly register?: RegisterLogin
  readonly limits?: PanelLimits
}

/** `onError` hears when the last use of a session could not be noted; nobody waits for that. */
export function createSessions(
  pool: Pool,
  onError: (error: unknown) => void,
  { register, limits = PANEL_LIMITS }: SessionOptions = {},
): Sessions {
  const gate = createPanelGate(pool, limits)
  /** Those whose use is being noted, by hash: requests of one page come together. */
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

  async function look(sessionHash: Buffer): Promise<LiveSession | null> {
    const { rows } = await pool.query<FoundSession>({ ...FIND, values: [sessionHash, IDLE_HOURS] })
    return rows[0] ? liveOf(rows[0]) : null
  }

  /** The session of a token as it was found; notes its use. */
  function used(token: string, sessionHash: Buffer, live: LiveSession): PanelSession {
    const { isSeenLate, terms, move: _, ...found } = live
    if (isSeenLate) void note(sessionHash)
    return { sessionHash, csrfToken: csrfTokenOf(token), ...found, isToldPersons: seesPersons(terms) }
  }

  /** Null where nothing was stored, though the company takes writes. */
  async function store(
    holder: SessionHolder,
    statement: { name: string; text: string },
    more: readonly unknown[],
  ): Promise<IssuedSession | null> {
    const { userId, companyId, generation } = holder
    const token = TOKENS.make()
    const hash = TOKENS.hashOf(token) as Buffer
    await register?.(hash, holder)
    const values = [hash, userId, companyId, generation, LIVE_SESSIONS_OF_USER - 1, ...more]
    const { rows } = await pool.query<{ expires_at: string }>({ ...statement, values })
    if (!rows[0]) await assertAcceptsWrites(pool, companyId)
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
      const live = hash && (await look(hash))
      return live ? used(token, hash, live) : null
    },
    async admit(token) {
      const hash = TOKENS.hashOf(token)
      const call = hash && (await gate.admit(hash))
      const live = call && liveOf(call.found)
      return live ? { session: used(token, hash as Buffer, live), retryAfter: call.retryAfter } : null
    },
    async isLive(token) {
      const sessionHash = TOKENS.hashOf(token)
      return sessionHash !== null && (await look(sessionHash)) !== null
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

/** Null from the day on after the last one that the user is let in, which comes to pages that are open as well. @throws Moved */
function liveOf(found: FoundSession): LiveSession | null {
  assertOnThisShard(found.companyId, found.move)
  if (!isLetIn(found.terms, dateInZone(found.now, found.timezone))) return null
  return { ...found, today: dateInZone(found.companysTime, found.timezone) }
}

/** Made from the session's token, which nobody else has: a page of another site cannot know it. */
export const csrfTokenOf = (token: string): string => createHmac('sha256', token).update(CSRF_LABEL).digest('base64url')

/** Whether what a form sent is the session's own token; the time taken does not tell how much of it fits. */
export function csrfMatches({ csrfToken }: Pick<PanelSession, 'csrfToken'>, given: unknown): boolean {
  if (typeof given !== 'string') return false
  const [expected, sent] = [Buffer.from(csrfToken), Buffer.from(given)]
  return expected.length === sent.length && timingSafeEqual(expected, sent)
}

const INSERT = `insert into ops.sessions (hash, user_id, company_id, generation, person_generation, created_at, last_seen_at, expires_at, user_agent)`

const ISSUE = {
  name: 'issue_session',
  text: `with ${DATABASE_CLOCK}, ${revokedSurplus('ops.sessions', 'last_seen_at')}
         ${INSERT} select $1, $2, $3, $4, $7, now, now, least(now + make_interval(days => $6), $9::timestamptz), $8 from clock
         where ${acceptsWrites('$3')} returning expires_at`,
}

/** Of two at the same time, and of one beside a revocation, the second waits for the row and then finds it revoked. */
const EXCHANGE = {
  name: 'exchange_session',
  text: `with ${DATABASE_CLOCK}, asking as materialized (
           select clock.now, s.person_generation, s.expires_at, s.user_agent from clock
           ${liveSession('s.hash = $6', '$7')}
           where ${acceptsWrites('$3')} for update of s
         ), ended as (
           update ops.sessions set revoked_at = asking.now, user_agent = null from asking where hash = $6
         ), ${revokedSurplus('ops.sessions', 'last_seen_at', 'asking')}
         ${INSERT} select $1, $2, $3, $4, person_generation, now, now, expires_at, user_agent from asking returning expires_at`,
}

const FIND = { name: 'find_session', text: `with ${DATABASE_CLOCK} ${findSession('$1', '$2')}` }

/** At most once a minute, whoever else notes it. */
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

/** Deletes sessions that ended long ago. Returns how many. */
export function purgeSessions(pool: Pool): Promise<number> {
  return deleteInBatches(
    pool,
    `delete from ops.sessions where hash in (
       select hash from ops.sessions where expires_at < now() - make_interval(days => $1) and ${isNotMigrating('company_id')}
       limit $2 for update skip locked)`,
    [ENDED_RETENTION_DAYS],
  )
}
