import type { Pool } from 'pg'
import { changePassword } from '#commands/user-commands.ts'
import type { Refusal } from '#domain/refusals.ts'
import { Email, limitedText } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import type { Queryable } from '#postgres/database.ts'
import { createPeople, type FoundPerson, type Membership, type SessionHolder } from './company-users.ts'
import { DEVICE_TOKENS, TILL_TOKENS } from './credentials.ts'
import {
  checkAttempt,
  countAttempt,
  createMinuteLimit,
  type LimitedAttempt,
  type LoginAttempt,
  type LoginProof,
  type MinuteLimit,
  refundAttempt,
  rememberOrigin,
  toNetwork,
} from './login-limits.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import type { StepHolder } from './second-factors.ts'

/**
 * Tokens and sessions issued to a user per minute, by login or renewal. Enough for all tills of a shop in the morning.
 */
const GRANTS_PER_MINUTE = 60

/** Concurrent statements on limits, so that a flood of guesses leaves connections for other work. */
const LOOKS = { running: 2, waiting: 1_000 }

/**
 * A verification takes a core for about 20 ms, and one of the four libuv threads, which also serve file and DNS access.
 * Known devices and networks have their own queue.
 */
const VERIFICATIONS = { running: 2, waiting: 1_000 }
const VERIFICATIONS_OF_UNKNOWN = { running: 1, waiting: 1_000 }

interface Credentials {
  /** In the format of `Email`. */
  readonly email: string
  readonly password: string
}

/** Origin of a login, and its proof of an earlier one: a browser's device cookie or a till's token. */
export interface LoginFrom {
  readonly address: string
  readonly keeps: 'cookie' | 'token'
  /** Null if there is none; an unknown value counts as none. */
  readonly kept: string | null
}

/** The interface of tills has no second step: the password suffices there. */
type TillLogin = LoginFrom & { readonly keeps: 'token' }

/** A right password, and a right second factor if the person has one. */
export interface CompletedLogin {
  readonly kind: 'loggedIn'
  /** At least one, ordered by company name. */
  readonly memberships: readonly Membership[]
  /** Value of the browser's device cookie; null for a till. */
  readonly device: string | null
}

/** A right password of a person with a second factor: nothing is issued before `completeLogin`. */
export interface PendingLogin {
  readonly kind: 'secondStep'
  readonly holder: StepHolder
}

type LoginOutcome = CompletedLogin | PendingLogin | LoginFailure

/** Wrong credentials, or too many failures. */
export type LoginFailure = { readonly kind: 'wrong' } | LimitedAttempt

/** Shared login of tills and panel: failures count for both. */
export interface Login {
  /** Verifies a password. On success the caller issues a token or session for one of the memberships (`admit`). */
  logIn(credentials: Credentials, from: TillLogin): Promise<CompletedLogin | LoginFailure>
  logIn(credentials: Credentials, from: LoginFrom): Promise<LoginOutcome>
  /**
   * Completes the login of a browser after the password. `verify` checks the second factor; failures count as those of
   * a password. `wrong` also if the password has changed meanwhile.
   */
  completeLogin(
    holder: StepHolder,
    from: LoginFrom,
    verify: () => Promise<boolean>,
  ): Promise<CompletedLogin | LoginFailure>
  /** Verifies a password without a login, for a logged-in user or not; returns the matching hash. */
  confirm(
    credentials: Credentials,
    from: { readonly address: string; readonly isInside: boolean },
  ): Promise<
    { readonly kind: 'right'; readonly person: Pick<FoundPerson, 'generation' | 'password_hash'> } | LoginFailure
  >
  /** The hash of a person's password, to be compared for another user; null for an unknown address. */
  passwordHashOf(email: string): Promise<string | null>
  /** Counts a token or session to be issued to a user; refuses it above the limit. */
  admit(membership: Membership): Promise<LimitedAttempt | null>
  /** Companies of an address that has already logged in. */
  membershipsOf(email: string): Promise<readonly Membership[]>
  /** Tokens and sessions issued per user id. It limits renewals because each new token starts a new request count. */
  readonly grants: MinuteLimit
}

type Checked = { readonly kind: 'right'; readonly person: FoundPerson; readonly isDeviceKnown: boolean } | LoginFailure

/** Fair queue by network. @throws Unavailable if a network's queue is full */
async function inTurn<T>(turns: KeyedSemaphore, { address }: LoginAttempt, work: () => Promise<T>): Promise<T> {
  const leave = await turns.acquire(toNetwork(address))
  if (!leave) throw new Unavailable('too many logins wait')
  try {
    return await work()
  } finally {
    leave()
  }
}

const NO_PROOF: LoginProof = { device: null, token: null }

const proofOf = ({ keeps, kept }: LoginFrom): LoginProof => ({
  device: keeps === 'cookie' ? DEVICE_TOKENS.hashOf(kept ?? '') : null,
  token: keeps === 'token' ? TILL_TOKENS.hashOf(kept ?? '') : null,
})

/** Remembers where the person has logged in from. A right password alone leaves no trace if a second factor follows. */
async function complete(
  pool: Pool,
  email: string,
  { address, keeps, kept }: LoginFrom,
  { memberships, isDeviceKnown }: Pick<CompletedLogin, 'memberships'> & { readonly isDeviceKnown: boolean },
): Promise<CompletedLogin> {
  // Never adopts an unknown cookie: an attacker who planted it would know it.
  const device = keeps === 'token' ? null : isDeviceKnown ? kept : DEVICE_TOKENS.make()
  await rememberOrigin(pool, { email, address }, device === null ? null : DEVICE_TOKENS.hashOf(device))
  return { kind: 'loggedIn', memberships, device }
}

/** Checks the limits in `pool` (login-limits.ts) before it verifies a password. */
export function createLogin(pool: Pool): Login {
  const people = createPeople(pool)
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE })
  const looks = createKeyedSemaphore(LOOKS)
  const known = createKeyedSemaphore(VERIFICATIONS)
  const unknown = createKeyedSemaphore(VERIFICATIONS_OF_UNKNOWN)

  type Verification = (person: FoundPerson | null) => Promise<boolean>
  const byPassword =
    (password: string): Verification =>
    (person) =>
      verifyPassword(person?.password_hash ?? null, password)

  async function verify(attempt: LoginAttempt, isRight: Verification): Promise<Checked> {
    const counted = await countAttempt(pool, attempt)
    if (counted.kind === 'limited') return counted
    let isFailure = false
    try {
      const person = await people.find(attempt.email)
      const fits = await isRight(person)
      isFailure = !person || !fits
      return person && fits ? { kind: 'right', person, isDeviceKnown: counted.isDeviceKnown } : { kind: 'wrong' }
    } finally {
      if (!isFailure) await refundAttempt(pool, counted.keys)
    }
  }

  async function check(attempt: LoginAttempt, isRight: Verification): Promise<Checked> {
    const seen = await inTurn(looks, attempt, () => checkAttempt(pool, attempt))
    if (seen.kind === 'limited') return seen
    // Counts only at the head of the queue: of twenty tills with correct passwords at most two count as failures at a
    // time.
    return inTurn(seen.standing === 'unknown' ? unknown : known, attempt, () => verify(attempt, isRight))
  }

  function logIn(credentials: Credentials, from: TillLogin): Promise<CompletedLogin | LoginFailure>
  function logIn(credentials: Credentials, from: LoginFrom): Promise<LoginOutcome>
  async function logIn({ email, password }: Credentials, from: LoginFrom): Promise<LoginOutcome> {
    const attempt = { email, address: from.address, proof: proofOf(from) }
    const checked = await check(attempt, byPassword(password))
    if (checked.kind !== 'right') return checked
    const { person, isDeviceKnown } = checked
    const memberships = await person.memberships()
    // A person without a company gets the same response as an unknown address.
    if (memberships.length === 0) return { kind: 'wrong' }
    if (from.keeps === 'cookie' && (await hasSecondFactor(pool, email)))
      return { kind: 'secondStep', holder: { email, generation: person.generation } }
    return complete(pool, email, from, { memberships, isDeviceKnown })
  }

  return {
    grants,
    logIn,
    async completeLogin({ email, generation }, from, isRight) {
      const attempt = { email, address: from.address, proof: proofOf(from) }
      const checked = await check(attempt, async (person) => person?.generation === generation && (await isRight()))
      if (checked.kind !== 'right') return checked
      const memberships = await checked.person.memberships()
      if (memberships.length === 0) return { kind: 'wrong' }
      return complete(pool, email, from, { memberships, isDeviceKnown: checked.isDeviceKnown })
    },
    confirm: ({ email, password }, { address, isInside }) =>
      check({ email, address, proof: isInside ? 'inside' : NO_PROOF }, byPassword(password)),
    async admit({ user, holder }) {
      const granted = await grants.consume(`${holder.companyId}/${user.id}`)
      return granted.limited ? { kind: 'limited', retryAfter: granted.retryAfter } : null
    },
    passwordHashOf: async (email) => (await people.find(email))?.password_hash ?? null,
    membershipsOf: async (email) => (await people.find(email))?.memberships() ?? [],
  }
}

async function hasSecondFactor(pool: Pool, email: string): Promise<boolean> {
  const { rows } = await pool.query<{ has: boolean }>({ ...HAS_SECOND_FACTOR, values: [email] })
  return rows[0]?.has ?? false
}

const HAS_SECOND_FACTOR = {
  name: 'has_second_factor',
  text: 'select exists (select from ops.second_factors where email = $1) as has',
}

interface OwnPassword {
  /** Any text; verified against the hash. */
  readonly current: string
  /** In the format of `Password`. */
  readonly next: string
}

/** Origin of the request, for events and failure limits. */
export interface LoginSource {
  readonly address: string
  readonly requestId: string
}

type PasswordOutcome = { readonly kind: 'changed' } | LoginFailure | Refusal

/**
 * Changes the password of the logged-in user. It revokes all tokens and sessions of the person in all companies,
 * including the present one. `wrong` refers to the current password; failures count as those of a login.
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

/** Six digits: shorter than every password, so that one field takes either. */
const PIN = /^\d{6}$/

/** Digits that are guessed first. */
const isGuessable = (pin: string): boolean =>
  [...pin].every((digit, at) => at === 0 || Number(digit) === Number(pin[at - 1])) ||
  '0123456789'.includes(pin) ||
  '9876543210'.includes(pin)

export const Pin = limitedText(20)
  .regex(PIN, 'deve ter 6 dígitos')
  .refine((pin) => !isGuessable(pin), 'não pode ser uma sequência nem um dígito repetido')

/** What a person types to approve an operation of another user. */
interface ApproverCredentials {
  readonly email: string
  /** PIN or password. */
  readonly secret: string
}

/** Who asks for the approval: failures count against this person, session and network. */
export interface ApprovalSource {
  readonly companyId: number
  readonly email: string
  readonly sessionHash: Buffer
  readonly address: string
}

interface ApprovalServices {
  /** Of the company. */
  readonly pool: Queryable
  /** With the failure counters of logins. */
  readonly logins: Pool
  readonly login: Pick<Login, 'passwordHashOf'>
}

type ApprovalOutcome = { readonly kind: 'right'; readonly userId: number } | LoginFailure

interface ApproverRow {
  readonly id: number
  readonly pin_hash: string | null
}

const APPROVER = {
  name: 'find_approver',
  text: `select u.id, p.pin_hash from users u left join user_pins p on p.company_id = u.company_id and p.user_id = u.id
         where u.company_id = $1 and u.email = $2 and u.doc ->> 'status' = 'active'`,
}

/**
 * Verifies an active user of the company by PIN or password. For any other address nothing is compared, and the answer
 * takes as long. Failures count against who asks, not against the approver's own prompts. What the user may
 * approve is decided with the operation.
 */
export async function confirmApprover(
  { pool, logins, login }: ApprovalServices,
  { email: typed, secret }: ApproverCredentials,
  asking: ApprovalSource,
): Promise<ApprovalOutcome> {
  const counted = await countAttempt(logins, { ...asking, proof: { asking: asking.sessionHash } })
  if (counted.kind === 'limited') return counted
  const { data: email = '' } = Email.safeParse(typed)
  const [{ rows }, password] = await Promise.all([
    pool.query<ApproverRow>({ ...APPROVER, values: [asking.companyId, email] }),
    login.passwordHashOf(email),
  ])
  const [approver] = rows
  const hash = PIN.test(secret) ? approver?.pin_hash : password
  const isRight = await verifyPassword((approver && hash) ?? null, secret)
  if (!isRight || !approver) return { kind: 'wrong' }
  await refundAttempt(logins, counted.keys)
  return { kind: 'right', userId: approver.id }
}
