import type { Pool } from 'pg'
import { networkOf } from './address-limit.ts'
import { createMinuteLimit, type MinuteLimit } from './minute-limit.ts'
import { verifyPassword } from './passwords.ts'
import { createTurns } from './turns.ts'

/** Failures a minute, after which nobody's password is even looked at (DESIGN section 5, Sync interface). */
const FAILURES_OF_EMAIL = 5
const FAILURES_OF_ADDRESS = 50
const KNOWN = 20_000

/** Tokens and sessions that a user gets in a minute, by logging in or renewing: all tills of a shop in the morning. */
const GRANTS_PER_MINUTE = 60

/** A verification takes a core for about 20 ms, and one of the four threads that files and names are also looked up on. */
const VERIFICATIONS = { atATime: 2, waiting: 1_000 }

export interface User {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly company_id: number
}

/** Whom a token or a session is issued to. */
export interface Holder {
  readonly userId: number
  readonly companyId: number
}

export type LoginOutcome =
  | { readonly kind: 'entered'; readonly user: User; readonly holder: Holder }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'limited'; readonly retryAfter: number }

/** The one door to tills and panel: whoever guesses at one is counted at both. */
export interface Login {
  /** Checks a password; for the right one the caller issues a token or a session. `email` is as `Email` gives it. */
  enter(credentials: { readonly email: string; readonly password: string }, address: string): Promise<LoginOutcome>
  /** Tokens and sessions of a user, by its id: a new token's calls are counted anew. */
  readonly grants: MinuteLimit
}

interface FoundUser extends User {
  readonly password_hash: string
}

/**
 * Failures are counted per process: they slow guessing down, they are no contract, and argon2 alone leaves no process more
 * than some hundred guesses a second.
 */
export function createLogin(pool: Pool): Login {
  const ofEmail = createMinuteLimit({ perMinute: FAILURES_OF_EMAIL, known: KNOWN })
  const ofAddress = createMinuteLimit({ perMinute: FAILURES_OF_ADDRESS, known: KNOWN })
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE, known: KNOWN })
  const turns = createTurns(VERIFICATIONS)

  /** The user whom the password fits, `wrong`, or how many seconds to wait. */
  async function attempt(email: string, password: string, address: string): Promise<FoundUser | 'wrong' | number> {
    const key = `${address} ${email}`
    // Counted before it is known whether the password fits, or a thousand guesses at once would all be the first.
    const emails = await ofEmail.consume(key)
    if (emails.limited) return emails.retryAfter
    const addresses = await ofAddress.consume(address)
    if (addresses.limited) return addresses.retryAfter
    try {
      const user = await findUser(pool, email)
      const fits = await verifyPassword(user?.password_hash ?? null, password)
      if (!user || !fits) return 'wrong'
      await Promise.all([ofAddress.giveBack(address), ofEmail.reset(key)])
      return user
    } catch (error) {
      await Promise.all([ofAddress.giveBack(address), ofEmail.giveBack(key)])
      throw error
    }
  }

  return {
    grants,
    async enter({ email, password }, from) {
      const address = networkOf(from)
      for (const { limited, retryAfter } of [
        await ofAddress.look(address),
        await ofEmail.look(`${address} ${email}`),
      ]) {
        if (limited) return { kind: 'limited', retryAfter }
      }
      const found = await turns.take(() => attempt(email, password, address))
      if (found === 'wrong') return { kind: 'wrong' }
      if (typeof found === 'number') return { kind: 'limited', retryAfter: found }
      const { password_hash: _, ...user } = found
      const granted = await grants.consume(String(user.id))
      if (granted.limited) return { kind: 'limited', retryAfter: granted.retryAfter }
      return { kind: 'entered', user, holder: { userId: user.id, companyId: user.company_id } }
    },
  }
}

async function findUser(pool: Pool, email: string): Promise<FoundUser | null> {
  const { rows } = await pool.query<FoundUser>({
    name: 'find_credentials',
    text: `select c.user_id as id, u.doc->>'name' as name, c.email, c.company_id, c.password_hash
           from ops.user_credentials c
           join read.users u on u.company_id = c.company_id and u.id = c.user_id
           where c.email = $1`,
    values: [email],
  })
  return rows[0] ?? null
}
