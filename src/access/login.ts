import type { Pool } from 'pg'
import { changePassword } from '#commands/users.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import {
  checkAttempt,
  countAttempt,
  type LimitedAttempt,
  type LoginAttempt,
  type LoginProof,
  refundAttempt,
  rememberOrigin,
} from './login-limits.ts'
import { createMinuteLimit, type MinuteLimit, networkOf } from './minute-limit.ts'
import { DEVICE_TOKENS, TILL_TOKENS } from './opaque-token.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { type FoundPerson, type Membership, type People, peopleOf, type SessionHolder } from './people.ts'

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
      /** One at least, in the order of the companies' names. */
      readonly memberships: readonly Membership[]
      /** For the cookie of a browser's device; null for a till. */
      readonly device: string | null
    }
  | LoginFailure

/** Why a login fails: the password does not fit, or there were too many guesses, which is over after so many seconds. */
export type LoginFailure = { readonly kind: 'wrong' } | LimitedAttempt

/** The one login of tills and panel: whoever guesses at one is counted at both. */
export interface Login {
  /** Checks a password; for the right one the caller issues a token or a session to one of the memberships (`admit`). */
  logIn(credentials: Credentials, from: LoginFrom): Promise<LoginOutcome>
  /** Checks a password that lets nobody in by itself, of somebody who is in already or not; tells the hash that it fits. */
  confirm(
    credentials: Credentials,
    from: { readonly address: string; readonly isInside: boolean },
  ): Promise<
    { readonly kind: 'right'; readonly person: Pick<FoundPerson, 'generation' | 'password_hash'> } | LoginFailure
  >
  /** Counts a token or session that a user is to get; refuses when it is one too many. */
  admit(membership: Membership): Promise<LimitedAttempt | null>
  /** The companies of whoever has an address, for one that has logged in already. */
  membershipsOf(email: string): Promise<readonly Membership[]>
  /** Tokens and sessions of a user, by its id: a new token's calls are counted anew. */
  readonly grants: MinuteLimit
}

type Checked = { readonly kind: 'right'; readonly person: FoundPerson; readonly isDeviceKnown: boolean } | LoginFailure

/** Addresses take turns. @throws Unavailable when too many of one wait already */
async function inTurn<T>(turns: KeyedSemaphore, { address }: LoginAttempt, work: () => Promise<T>): Promise<T> {
  const leave = await turns.acquire(networkOf(address))
  if (!leave) throw new Unavailable('too many logins wait')
  try {
    return await work()
  } finally {
    leave()
  }
}

const NO_PROOF: LoginProof = { device: null, token: null, isKnown: false }

/** Who guesses is refused before a password is looked at (login-limits.ts), which `pool` keeps. */
export function createLogin(pool: Pool, people: People = peopleOf(pool)): Login {
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE })
  const looks = createKeyedSemaphore(LOOKS)
  const known = createKeyedSemaphore(VERIFICATIONS)
  const strangers = createKeyedSemaphore(VERIFICATIONS_OF_STRANGERS)

  async function verify(attempt: LoginAttempt, password: string): Promise<Checked> {
    const counted = await countAttempt(pool, attempt)
    if (counted.kind === 'limited') return counted
    let isFailure = false
    try {
      const person = await people.find(attempt.email)
      const fits = await verifyPassword(person?.password_hash ?? null, password)
      isFailure = !person || !fits
      return person && fits ? { kind: 'right', person, isDeviceKnown: counted.isDeviceKnown } : { kind: 'wrong' }
    } finally {
      if (!isFailure) await refundAttempt(pool, counted.keys)
    }
  }

  async function check(attempt: LoginAttempt, password: string): Promise<Checked> {
    const seen = await inTurn(looks, attempt, () => checkAttempt(pool, attempt))
    if (seen.kind === 'limited') return seen
    // Counted when it is its turn: of twenty tills at once that are right, no more than two are taken for failures.
    return inTurn(seen.standing === 'stranger' ? strangers : known, attempt, () => verify(attempt, password))
  }

  return {
    grants,
    async logIn({ email, password }, { address, keeps, kept }) {
      const token = keeps === 'token' ? TILL_TOKENS.hashOf(kept ?? '') : null
      const proof = {
        device: keeps === 'cookie' ? DEVICE_TOKENS.hashOf(kept ?? '') : null,
        token,
        isKnown: token !== null && (await people.knowsToken(email, token)),
      }
      const checked = await check({ email, address, proof }, password)
      if (checked.kind !== 'right') return checked
      const memberships = await checked.person.memberships()
      // Whoever belongs to no company is told what a stranger is told.
      if (memberships.length === 0) return { kind: 'wrong' }
      // One that somebody has planted would be known to who planted it.
      const device = keeps === 'token' ? null : checked.isDeviceKnown ? kept : DEVICE_TOKENS.make()
      await rememberOrigin(pool, { email, address }, device === null ? null : DEVICE_TOKENS.hashOf(device))
      return { kind: 'loggedIn', memberships, device }
    },
    confirm: ({ email, password }, { address, isInside }) =>
      check({ email, address, proof: isInside ? 'inside' : NO_PROOF }, password),
    async admit({ user, holder }) {
      const granted = await grants.consume(`${holder.companyId}/${user.id}`)
      return granted.limited ? { kind: 'limited', retryAfter: granted.retryAfter } : null
    },
    membershipsOf: async (email) => (await people.find(email))?.memberships() ?? [],
  }
}

interface OwnPassword {
  /** Any text; only the right one fits. */
  readonly current: string
  /** As `Password` gives it. */
  readonly next: string
}

/** Where the request came from, as the events and the limits of failures know it. */
export interface LoginSource {
  readonly address: string
  readonly requestId: string
}

type PasswordOutcome = { readonly kind: 'changed' } | LoginFailure | Refusal

/**
 * Changes the password of whoever is logged in. It closes all tokens and sessions of the person, in all companies, this one too.
 * `wrong` is the current password; guesses at it count as those of a login.
 */
export async function changeOwnPassword(
  { login, writer }: { readonly login: Login; readonly writer: Writer },
  { userId, companyId, email }: Pick<SessionHolder, 'userId' | 'companyId'> & Pick<Credentials, 'email'>,
  { current, next }: OwnPassword,
  { address, requestId }: LoginSource,
): Promise<PasswordOutcome> {
  const confirmed = await login.confirm({ email, password: current }, { address, isInside: true })
  if (confirmed.kind !== 'right') return confirmed
  const changed = await runAs(writer, asUser({ companyId, userId }, 'panel', requestId), changePassword, {
    id: userId,
    password_hash: await hashPassword(next),
    verified_hash: confirmed.person.password_hash,
  })
  return isRefusal(changed) ? changed : { kind: 'changed' }
}
