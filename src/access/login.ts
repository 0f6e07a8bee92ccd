import type { Pool } from 'pg'
import { changePassword } from '#commands/users.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { createSemaphore } from '#lib/semaphore.ts'
import { type Counted, createMinuteLimit, type MinuteLimit, networkOf } from './minute-limit.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

/** Failures a minute, after which a password is not even looked at (TOKEN-7). */
const FAILURES_OF_EMAIL = 5
const FAILURES_OF_ADDRESS = 50

/** Tokens and sessions that a user gets in a minute, by logging in or renewing: all tills of a shop in the morning. */
const GRANTS_PER_MINUTE = 60

/** A verification takes a core for about 20 ms, and one of the four threads that files and names are also looked up on. */
const VERIFICATIONS = { running: 2, waiting: 1_000 }

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
  /** Of the user when the password was looked at: a token that is issued after a new one was set has ended before it begins. */
  readonly generation: number
}

interface Credentials {
  /** As `Email` gives it. */
  readonly email: string
  readonly password: string
}

type LoginOutcome = { readonly kind: 'loggedIn'; readonly user: User; readonly holder: Holder } | LoginFailure

/** Why a login fails: the password does not fit, or there were too many guesses, which is over after so many seconds. */
type LoginFailure = { readonly kind: 'wrong' } | { readonly kind: 'limited'; readonly retryAfter: number }

/** The one login of tills and panel: whoever guesses at one is counted at both. */
export interface Login {
  /** Checks a password; for the right one the caller issues a token or a session. */
  logIn(credentials: Credentials, address: string): Promise<LoginOutcome>
  /** Checks the password of somebody who is in already, within the same limits; tells the hash that it fits. */
  confirm(
    credentials: Credentials,
    address: string,
  ): Promise<{ readonly kind: 'right'; readonly holder: Holder; readonly passwordHash: string } | LoginFailure>
  /** Tokens and sessions of a user, by its id: a new token's calls are counted anew. */
  readonly grants: MinuteLimit
}

interface FoundUser extends User {
  readonly password_hash: string
  readonly generation: number
}

/**
 * Failures are counted per process: they slow guessing down, they are no contract, and argon2 alone leaves no process more
 * than some hundred guesses a second.
 */
export function createLogin(pool: Pool): Login {
  const ofEmail = createMinuteLimit({ perMinute: FAILURES_OF_EMAIL })
  const ofAddress = createMinuteLimit({ perMinute: FAILURES_OF_ADDRESS })
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE })
  const semaphore = createSemaphore(VERIFICATIONS)

  async function attempt(
    { email, password }: Credentials,
    address: string,
  ): Promise<{ readonly kind: 'right'; readonly user: FoundUser } | LoginFailure> {
    const key = `${address} ${email}`
    // Counted before it is known whether the password fits, or a thousand guesses at once would all be the first.
    const emails = await ofEmail.consume(key)
    if (emails.limited) return limitedBy(emails)
    const addresses = await ofAddress.consume(address)
    if (addresses.limited) return limitedBy(addresses)
    try {
      const user = await findUser(pool, email)
      const fits = await verifyPassword(user?.password_hash ?? null, password)
      if (!user || !fits) return { kind: 'wrong' }
      await Promise.all([ofAddress.giveBack(address), ofEmail.reset(key)])
      return { kind: 'right', user }
    } catch (error) {
      await Promise.all([ofAddress.giveBack(address), ofEmail.giveBack(key)])
      throw error
    }
  }

  async function check(credentials: Credentials, from: string): ReturnType<typeof attempt> {
    const address = networkOf(from)
    const key = `${address} ${credentials.email}`
    for (const counted of [await ofAddress.look(address), await ofEmail.look(key)]) {
      if (counted.limited) return limitedBy(counted)
    }
    return semaphore.run(() => attempt(credentials, address))
  }

  return {
    grants,
    async logIn(credentials, address) {
      const checked = await check(credentials, address)
      if (checked.kind !== 'right') return checked
      const { user } = checked
      const granted = await grants.consume(String(user.id))
      if (granted.limited) return limitedBy(granted)
      const { id, name, email, company_id } = user
      return { kind: 'loggedIn', user: { id, name, email, company_id }, holder: holderOf(user) }
    },
    async confirm(credentials, address) {
      const checked = await check(credentials, address)
      if (checked.kind !== 'right') return checked
      return { kind: 'right', holder: holderOf(checked.user), passwordHash: checked.user.password_hash }
    },
  }
}

const limitedBy = ({ retryAfter }: Counted): LoginFailure => ({ kind: 'limited', retryAfter })

const holderOf = ({ id, company_id, generation }: FoundUser): Holder => ({
  userId: id,
  companyId: company_id,
  generation,
})

async function findUser(pool: Pool, email: string): Promise<FoundUser | null> {
  const { rows } = await pool.query<FoundUser>({
    name: 'find_credentials',
    text: `select c.user_id as id, u.doc->>'name' as name, c.email, c.company_id, c.password_hash, u.generation
           from ops.user_credentials c
           join users u on u.company_id = c.company_id and u.id = c.user_id
           where c.email = $1 and u.doc->>'status' = 'active'`,
    values: [email],
  })
  return rows[0] ?? null
}

interface OwnPassword {
  /** Any text; only the right one fits. */
  readonly current: string
  /** As `Password` gives it. */
  readonly next: string
}

/** Where the request came from, as the events and the limits of failures know it. */
interface From {
  readonly address: string
  readonly requestId: string
}

type PasswordOutcome = { readonly kind: 'changed'; readonly holder: Holder } | LoginFailure | Refusal

/**
 * Changes the password of whoever is logged in. It closes all tokens and sessions of the user, this one too: the caller issues a
 * new one to the `holder`. `wrong` is the current password; guesses at it count as those of a login.
 */
export async function changeOwnPassword(
  { login, writer }: { readonly login: Login; readonly writer: Writer },
  { userId, companyId, email }: Pick<Holder, 'userId' | 'companyId'> & Pick<Credentials, 'email'>,
  { current, next }: OwnPassword,
  { address, requestId }: From,
): Promise<PasswordOutcome> {
  const confirmed = await login.confirm({ email, password: current }, address)
  if (confirmed.kind !== 'right') return confirmed
  const changed = await runAs(writer, asUser({ companyId, userId }, requestId), changePassword, {
    id: userId,
    password_hash: await hashPassword(next),
    verified_hash: confirmed.passwordHash,
  })
  if (isRefusal(changed)) return changed
  // The password was the confirmed one until then, so no other change lies in between. Whoever was shut out meanwhile stays out.
  const { holder } = confirmed
  return { kind: 'changed', holder: { ...holder, generation: holder.generation + 1 } }
}
