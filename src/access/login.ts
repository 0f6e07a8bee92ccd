import type { Pool } from 'pg'
import { changePassword } from '#commands/users.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { createSemaphore } from '#lib/semaphore.ts'
import { type Attempt, countAttempt, type Limited, lookAtAttempt, rememberOrigin, takeBack } from './login-limits.ts'
import { createMinuteLimit, type MinuteLimit } from './minute-limit.ts'
import { DEVICE_TOKENS, TILL_TOKENS } from './opaque-token.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

/** Tokens and sessions that a user gets in a minute, by logging in or renewing: all tills of a shop in the morning. */
const GRANTS_PER_MINUTE = 60

/** Statements that look at limits at a time, so that a flood of guesses leaves connections to everybody else. */
const LOOKS = { running: 2, waiting: 1_000 }

/**
 * A verification takes a core for about 20 ms, and one of the four threads that files and names are also looked up on.
 * Whoever was here before does not queue behind strangers.
 */
const VERIFICATIONS = { running: 2, waiting: 1_000 }
const VERIFICATIONS_OF_STRANGERS = { running: 1, waiting: 1_000 }

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

/** Where a login comes from, and what it shows of an earlier one: a browser its device's cookie, a till its token. */
export interface LoginFrom {
  readonly address: string
  readonly keeps: 'cookie' | 'token'
  /** Null when it has none; one that is none of ours is as good. */
  readonly kept: string | null
}

type LoginOutcome =
  | {
      readonly kind: 'loggedIn'
      readonly user: User
      readonly holder: Holder
      /** For the cookie of a browser's device; null for a till. */
      readonly device: string | null
    }
  | LoginFailure

/** Why a login fails: the password does not fit, or there were too many guesses, which is over after so many seconds. */
type LoginFailure = { readonly kind: 'wrong' } | Limited

/** The one login of tills and panel: whoever guesses at one is counted at both. */
export interface Login {
  /** Checks a password; for the right one the caller issues a token or a session. */
  logIn(credentials: Credentials, from: LoginFrom): Promise<LoginOutcome>
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

type Checked = { readonly kind: 'right'; readonly user: FoundUser; readonly isDeviceKnown: boolean } | LoginFailure

/** Who guesses is refused before a password is looked at (login-limits.ts). */
export function createLogin(pool: Pool): Login {
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE })
  const looks = createSemaphore(LOOKS)
  const known = createSemaphore(VERIFICATIONS)
  const strangers = createSemaphore(VERIFICATIONS_OF_STRANGERS)

  async function verify(attempt: Attempt, password: string): Promise<Checked> {
    const counted = await countAttempt(pool, attempt)
    if (counted.kind === 'limited') return counted
    let isFailure = false
    try {
      const user = await findUser(pool, attempt.email)
      const fits = await verifyPassword(user?.password_hash ?? null, password)
      isFailure = !user || !fits
      return user && fits ? { kind: 'right', user, isDeviceKnown: counted.isDeviceKnown } : { kind: 'wrong' }
    } finally {
      if (!isFailure) await takeBack(pool, counted.keys)
    }
  }

  async function check(attempt: Attempt, password: string): Promise<Checked> {
    const seen = await looks.run(() => lookAtAttempt(pool, attempt))
    if (seen.kind === 'limited') return seen
    // Counted when it is its turn: of twenty tills at once that are right, no more than two are taken for failures.
    return (seen.standing === 'stranger' ? strangers : known).run(() => verify(attempt, password))
  }

  return {
    grants,
    async logIn({ email, password }, { address, keeps, kept }) {
      const proof = {
        device: keeps === 'cookie' ? DEVICE_TOKENS.hashOf(kept ?? '') : null,
        token: keeps === 'token' ? TILL_TOKENS.hashOf(kept ?? '') : null,
      }
      const checked = await check({ email, address, proof }, password)
      if (checked.kind !== 'right') return checked
      const { user, isDeviceKnown } = checked
      const granted = await grants.consume(String(user.id))
      if (granted.limited) return { kind: 'limited', retryAfter: granted.retryAfter }
      // One that somebody has planted would be known to who planted it.
      const device = keeps === 'token' ? null : isDeviceKnown ? kept : DEVICE_TOKENS.make()
      await rememberOrigin(pool, { email, address }, device === null ? null : DEVICE_TOKENS.hashOf(device))
      const { id, name, company_id } = user
      return { kind: 'loggedIn', user: { id, name, email: user.email, company_id }, holder: holderOf(user), device }
    },
    async confirm({ email, password }, address) {
      const checked = await check({ email, address, proof: 'inside' }, password)
      if (checked.kind !== 'right') return checked
      return { kind: 'right', holder: holderOf(checked.user), passwordHash: checked.user.password_hash }
    },
  }
}

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
           join read.users u on u.company_id = c.company_id and u.id = c.user_id
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
