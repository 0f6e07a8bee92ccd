import type { Pool } from 'pg'
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
