import type { Pool } from 'pg'
import { tellTail } from '#commands/till-commands.ts'
import { baseRoleSql, type Role, TILL_ROLES } from '#domain/rights.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type Repetition, repeat } from '#lib/background-loops.ts'
import type { Queryable } from '#postgres/database.ts'
import { companysTimeSql } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { t as tables } from '#queries/table-names.ts'
import type { SessionHolder } from './company-users.ts'
import { DATABASE_CLOCK, revokeSurplusSql, TILL_TOKENS as TOKENS } from './credentials.ts'

const EVERY_MS = 60_000

/** Tails told in one round; the rest follows in the next one. */
const MOST = 500

/** Numbers that a till named a day ago by the company's clock, and that have neither come nor been told. */
const OLD_TAILS = {
  name: 'old_tails_of_tills',
  text: `select a.company_id, a.till_id, a.last_number
         from ops.till_contacts a
         join tills t on t.company_id = a.company_id and t.id = a.till_id
         join companies c on c.company_id = a.company_id
         where a.tail_since <= ${companysTimeSql('clock_timestamp()')} - interval '24 hours' and a.last_number > t.reported_number
         order by a.tail_since limit ${MOST}`,
}

interface Telling {
  readonly pool: Queryable
  readonly writer: Writer
  onError(error: unknown): void
}

/** Tells the tails of tills that are a day old, each once. */
export async function tellOldTails({ pool, writer, onError }: Telling, stopping?: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ company_id: number; till_id: number; last_number: number }>(OLD_TAILS)
  for (const { company_id, till_id: id, last_number: last } of rows) {
    if (stopping?.aborted) return
    await runAsSystem(writer, company_id, tellTail, { id, last }).catch(onError)
  }
}

export const tellTailsOnSchedule = (telling: Telling): Repetition =>
  repeat((stopping) => tellOldTails(telling, stopping), EVERY_MS, telling.onError)

/**
 * Maximum number of a user's live tokens; above it the longest unused are revoked. Bounds the tokens of a till that
 * logs in for every request.
 */
export const LIVE_TOKENS_OF_USER = 200

/** The logged-in user at the time of the request. */
export interface SyncSession {
  readonly tokenHash: Buffer
  readonly companyId: number
  readonly userId: number
  readonly userName: string
  readonly email: string
  readonly role: Role
  /** The user's generation when the token was issued. */
  readonly generation: number
  /** The person's generation. */
  readonly personGeneration: number
  /** The company's time zone. */
  readonly timezone: string
  /** The company's time, from Postgres's clock: UTC, milliseconds, `Z`. */
  readonly now: string
  /** Of a token that has ended: only what a till has signed may be uploaded. */
  readonly ended?: EndedAccess
}

/** Access that ended less than 30 days ago. */
export interface EndedAccess {
  /** By the company's clock, UTC. */
  readonly at: string
  /** Tills that signed the upload, once that is verified. */
  readonly tillIds: readonly number[]
  /** Elements made after the end. */
  readonly late: ReadonlySet<unknown>
}

/** A till against which an upload under an ended token is held. */
export interface SigningTill {
  readonly id: number
  readonly x: string
  readonly y: string
  /** The last number that it has named, 0 if none, and when, by the company's clock: higher numbers were made later. */
  readonly last_number: number
  readonly last_seen_at: string | null
}

/** Last number that has come of a till or that it has named, and the hash of that element if it has come. */
interface KnownTill {
  readonly id: number
  readonly last_number: number
  readonly last_hash: string | null
}

/** A new token, returned once. */
export interface IssuedToken {
  readonly token: string
  /** UTC; null if it is valid until it is revoked. */
  readonly expiresAt: string | null
}

/** Login tokens. Postgres stores their hashes, so that a revocation takes effect at once in every process. */
export interface Tokens {
  issue(holder: SessionHolder): Promise<IssuedToken>
  /**
   * Finds the session of a token and records the till's version; null if the token is unknown, expired or revoked.
   */
  find(token: string, tillVersion?: string | null): Promise<SyncSession | null>
  /** Finds the session of a token that ended less than 30 days ago; null if there is none. */
  findEnded(token: string): Promise<SyncSession | null>
  /** Tills of a company that are not ended. */
  listSigningTills(companyId: number, ids: readonly number[]): Promise<readonly SigningTill[]>
  /** Notes what a till says of itself with a call, and returns what is known of it; null if it is unknown or ended. */
  noteTill(session: SyncSession, id: number, last: number): Promise<KnownTill | null>
  /**
   * The successor of a live token: each renewal of the same token returns the same one, so that a lost answer may be
   * asked for again. The old token ends with the first use of its successor, at the latest after ten minutes. Null if it
   * has ended.
   */
  renew(session: SyncSession, token: string): Promise<IssuedToken | null>
  /** Ends a token, and the one that it replaces or is replaced by. */
  revoke(session: SyncSession): Promise<void>
}

interface TokensOptions {
  /** Lifetime; null means for ever. */
  readonly days: number | null
  /** Of the installation: successors of tokens are derived under it, and need not be stored. */
  readonly secret: Buffer
}

export function createTokens(pool: Pool, { days, secret }: TokensOptions): Tokens {
  const issued = async (
    token: string,
    statement: { name: string; text: string },
    values: (hash: Buffer) => unknown[],
  ) => {
    const hash = TOKENS.hashOf(token) as Buffer
    const { rows } = await pool.query<{ expires_at: string | null }>({ ...statement, values: values(hash) })
    return rows[0] ? { token, expiresAt: rows[0].expires_at } : null
  }
  return {
    async issue(holder) {
      const { userId, companyId, generation, personGeneration } = holder
      const generations = [generation, personGeneration]
      const token = await issued(TOKENS.make(), ISSUE, (hash) => [
        hash,
        userId,
        companyId,
        days,
        LIVE_TOKENS_OF_USER - 1,
        ...generations,
      ])
      if (!token) throw new Error('no token was stored')
      return token
    },
    async find(token, tillVersion = null) {
      const tokenHash = TOKENS.hashOf(token)
      if (!tokenHash) return null
      const { rows } = await pool.query<Omit<SyncSession, 'tokenHash'>>({
        ...FIND,
        values: [tokenHash, TILL_ROLES, tillVersion],
      })
      return rows[0] ? { tokenHash, ...rows[0] } : null
    },
    async findEnded(token) {
      const tokenHash = TOKENS.hashOf(token)
      if (!tokenHash) return null
      const { rows } = await pool.query<Omit<SyncSession, 'tokenHash' | 'ended'> & { readonly endedAt: string }>({
        ...FIND_ENDED,
        values: [tokenHash, TILL_ROLES],
      })
      if (!rows[0]) return null
      const { endedAt: at, ...session } = rows[0]
      return { tokenHash, ...session, ended: { at, tillIds: [], late: new Set() } }
    },
    async listSigningTills(companyId, ids) {
      return (await pool.query<SigningTill>({ ...SIGNING_TILLS, values: [companyId, ids] })).rows
    },
    async noteTill({ companyId, tokenHash, now }, id, last) {
      const { rows } = await pool.query<KnownTill>({ ...NOTE_TILL, values: [companyId, id, last, now, tokenHash] })
      return rows[0] ?? null
    },
    async renew(session, token) {
      const next = TOKENS.next(token, secret)
      return issued(next, RENEW, (hash) => [hash, session.tokenHash, days])
    },
    async revoke({ tokenHash }) {
      await pool.query({ ...REVOKE, values: [tokenHash] })
      // A statement of its own sees the successor of a concurrent renewal, which the first one has waited for.
      await pool.query({ ...REVOKE_RELATED, values: [tokenHash] })
    },
  }
}

const INSERT = `insert into ops.sync_tokens (hash, user_id, company_id, generation, person_generation, role, created_at, last_used_at, expires_at)`
const LIVE = `t.revoked_at is null and (t.expires_at is null or t.expires_at > clock.now)`

/** User and person of a token, if their generations and the role are still the token's. */
const OF_PERSON = `u.company_id = t.company_id and u.id = t.user_id and u.generation = t.generation and u.doc->>'role' = t.role
             and p.email = u.doc->>'email' and p.generation = t.person_generation`

const ISSUE = {
  name: 'issue_sync_token',
  text: `with ${DATABASE_CLOCK}, ${revokeSurplusSql('ops.sync_tokens', 'last_used_at')}
         ${INSERT} select $1, $2, $3, $6, $7, u.doc->>'role', now, now, now + make_interval(days => $4)
         from clock join users u on u.company_id = $3 and u.id = $2 returning expires_at`,
}

/**
 * Ends the token that this one has replaced. Records the last use once in five minutes, and a new version at once;
 * accurate enough to tell which tills are in use.
 */
const FIND = {
  name: 'find_sync_session',
  text: `with ${DATABASE_CLOCK}, replaced as (
           update ops.sync_tokens former set revoked_at = clock.now from clock, ops.sync_tokens t
           where t.hash = $1 and ${LIVE} and former.hash = t.replaces and former.revoked_at is null
         ), used as (
           update ops.sync_tokens t set last_used_at = clock.now, till_version = coalesce($3::text, t.till_version) from clock
           where t.hash = $1 and ${LIVE}
             and (t.last_used_at < clock.now - interval '5 minutes' or $3::text is not null and $3::text is distinct from t.till_version)
         )
         select t.company_id as "companyId", t.user_id as "userId", u.doc->>'name' as "userName", u.doc->>'email' as email,
                u.doc->>'role' as role, u.generation, p.generation as "personGeneration", c.timezone, ${companysTimeSql('clock.now')} as now
         from clock
         join ops.sync_tokens t on t.hash = $1 and ${LIVE}
         join users u on ${baseRoleSql("u.doc->>'role'")} = any($2::text[])
         join ops.persons p on ${OF_PERSON}
         join companies c on c.company_id = t.company_id
         where not exists (select from tills d
           where d.company_id = t.company_id and d.id = t.till_id and d.ended_at is not null)`,
}

/** A token ends by itself, or with the first end of the user's access or the last new password of the person since. */
const FIND_ENDED = {
  name: 'find_ended_sync_session',
  text: `with ${DATABASE_CLOCK}
         select t.company_id as "companyId", t.user_id as "userId", coalesce(u.doc->>'name', '') as "userName", coalesce(u.doc->>'email', '') as email,
                t.role, t.generation, t.person_generation as "personGeneration", c.timezone, ${companysTimeSql('clock.now')} as now,
                ended.at as "endedAt"
         from clock
         join ops.sync_tokens t on t.hash = $1 and ${baseRoleSql('t.role')} = any($2::text[])
         join users u on u.company_id = t.company_id and u.id = t.user_id
         join companies c on c.company_id = t.company_id
         left join ops.persons p on p.email = u.doc->>'email'
         cross join lateral (select least(${companysTimeSql('least(t.revoked_at, t.expires_at)')},
           (select min(e.at::timestamptz) from json_array_elements_text(u.endings) e(at)
            where e.at::timestamptz >= ${companysTimeSql('t.created_at')}),
           case when p.generation > t.person_generation then ${companysTimeSql('p.generation_at')} end) as at) ended
         where ended.at <= ${companysTimeSql('clock.now')} and ended.at > ${companysTimeSql('clock.now')} - interval '30 days'`,
}

const SIGNING_TILLS = {
  name: 'signing_tills',
  text: `select t.id, t.x, t.y, coalesce(a.last_number, 0) as last_number, a.last_seen_at
         from tills t left join ops.till_contacts a on a.company_id = t.company_id and a.till_id = t.id
         where t.company_id = $1 and t.id = any($2::bigint[]) and t.ended_at is null`,
}

/** The tail of a till begins when it first names numbers that have not come. */
const NOTE_TILL = {
  name: 'note_till',
  text: `with till as (
           select company_id, id, reported_number, coalesce((doc #>> '{settled,-1,1}')::bigint, 0) as settled from tills where company_id = $1 and id = $2 and ended_at is null
         ), used as (
           update ops.sync_tokens t set till_id = till.id from till where t.hash = $5 and t.till_id is distinct from till.id
         ), noted as (
         insert into ops.till_contacts as c (company_id, till_id, last_seen_at, last_number, tail_since)
         select company_id, id, $4::timestamptz, $3, case when $3 > reported_number then $4::timestamptz end from till
         on conflict (company_id, till_id) do update set last_seen_at = excluded.last_seen_at,
           last_number = greatest(c.last_number, excluded.last_number),
           tail_since = case when c.last_number > (select reported_number from till) then coalesce(c.tail_since, excluded.tail_since)
             else excluded.tail_since end
         returning c.last_number
         ), known as (select till.company_id, till.id, greatest(noted.last_number, till.settled) as last_number from till, noted)
         select known.id, known.last_number, e.hash as last_hash from known
         left join till_elements e on e.company_id = known.company_id and e.till_id = known.id and e.number = known.last_number`,
}

/** A till that got no answer repeats a renewal within this time. */
const REPLACED_LIVES = "interval '10 minutes'"

/**
 * Of two concurrent renewals the second waits for the row lock, and then finds the successor of the first. A used
 * successor has ended the old token. The new token keeps the generations of the old one.
 */
const RENEW = {
  name: 'renew_sync_token',
  text: `with ${DATABASE_CLOCK}, old as (
           update ops.sync_tokens t set replaced_at = coalesce(t.replaced_at, clock.now),
             expires_at = least(t.expires_at, coalesce(t.replaced_at, clock.now) + ${REPLACED_LIVES})
           from clock, users u, ops.persons p
           where t.hash = $2 and ${LIVE} and ${OF_PERSON}
           returning t.user_id, t.company_id, t.generation, t.person_generation, t.role, t.till_id, clock.now
         )
         insert into ops.sync_tokens as t (hash, user_id, company_id, generation, person_generation, role, created_at, last_used_at, expires_at, replaces, till_id)
         select $1, user_id, company_id, generation, person_generation, role, now, now, now + make_interval(days => $3), $2, till_id from old
         on conflict (hash) do update set last_used_at = t.last_used_at where t.revoked_at is null
         returning expires_at`,
}

const REVOKE = {
  name: 'revoke_sync_token',
  text: `update ops.sync_tokens set revoked_at = clock_timestamp() where hash = $1 and revoked_at is null`,
}

const REVOKE_RELATED = {
  name: 'revoke_related_sync_tokens',
  text: `update ops.sync_tokens related set revoked_at = clock_timestamp() from ops.sync_tokens t
         where t.hash = $1 and related.company_id = t.company_id and related.user_id = t.user_id and related.revoked_at is null
           and (related.hash = t.replaces or related.replaces = t.hash)`,
}

/** Tills of a logged-in user. */
export interface TillContact {
  readonly user_id: number
  /** Live logins. */
  readonly logins: number
  /** UTC, accurate to five minutes. */
  readonly last_used_at: string
  /** Version of the till with the last request; null if it sends none. */
  readonly version: string | null
}

const CONTACTS = {
  name: 'till_contacts',
  text: `select t.user_id, count(*)::integer as logins, max(t.last_used_at) as last_used_at,
           (array_agg(t.till_version order by t.last_used_at desc))[1] as version
         from ${tables.sync_tokens} t
         where t.company_id = $1 and t.revoked_at is null and (t.expires_at is null or t.expires_at > now())
           and t.replaced_at is null
         group by t.user_id order by max(t.last_used_at) desc limit $2`,
}

/** Users logged in at tills of a company, most recent first. The reader is the primary's. */
export async function listTillContacts(reader: Reader, limit: number): Promise<TillContact[]> {
  const { rows } = await reader.query<TillContact>({ ...CONTACTS, values: [limit] })
  return rows
}
