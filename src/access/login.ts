import type { Pool } from 'pg'
import { changePassword } from '#commands/users.ts'
import { dateInZone } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type AccessTerms, isLetIn, type Role } from '#domain/roles.ts'
import { isRefusal } from '#ledger/command.ts'
import { asUser, runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { createTurns, type Turns } from '#lib/turns.ts'
import { Unavailable } from '#lib/unavailable.ts'
import {
  type Attempt,
  countAttempt,
  type Limited,
  lookAtAttempt,
  type Proof,
  rememberOrigin,
  takeBack,
} from './login-limits.ts'
import { createMinuteLimit, type MinuteLimit, networkOf } from './minute-limit.ts'
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
  /** Of user and person when the password was looked at: a token that is issued after a change has ended before it begins. */
  readonly generation: number
  readonly personGeneration: number
}

/** A company that a person logs in to, and as which of its users. */
export interface Membership {
  readonly companyName: string
  readonly user: User
  readonly role: Role
  readonly holder: Holder
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
      /** One at least, in the order of the companies' names. */
      readonly memberships: readonly Membership[]
      /** For the cookie of a browser's device; null for a till. */
      readonly device: string | null
    }
  | LoginFailure

/** Why a login fails: the password does not fit, or there were too many guesses, which is over after so many seconds. */
export type LoginFailure = { readonly kind: 'wrong' } | Limited

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
  admit(membership: Membership): Promise<Limited | null>
  /** The companies of whoever has an address, for one that has logged in already. */
  membershipsOf(email: string): Promise<readonly Membership[]>
  /** Tokens and sessions of a user, by its id: a new token's calls are counted anew. */
  readonly grants: MinuteLimit
}

interface FoundPerson {
  readonly password_hash: string
  readonly generation: number
  readonly memberships: readonly Membership[]
}

type Checked = { readonly kind: 'right'; readonly person: FoundPerson; readonly isDeviceKnown: boolean } | LoginFailure

/** Addresses take turns. @throws Unavailable when too many of one wait already */
async function inTurn<T>(turns: Turns, { address }: Attempt, work: () => Promise<T>): Promise<T> {
  const leave = await turns.enter(networkOf(address))
  if (!leave) throw new Unavailable('too many logins wait')
  try {
    return await work()
  } finally {
    leave()
  }
}

const NO_PROOF: Proof = { device: null, token: null }

/** Who guesses is refused before a password is looked at (login-limits.ts). */
export function createLogin(pool: Pool): Login {
  const grants = createMinuteLimit({ perMinute: GRANTS_PER_MINUTE })
  const looks = createTurns(LOOKS)
  const known = createTurns(VERIFICATIONS)
  const strangers = createTurns(VERIFICATIONS_OF_STRANGERS)

  async function verify(attempt: Attempt, password: string): Promise<Checked> {
    const counted = await countAttempt(pool, attempt)
    if (counted.kind === 'limited') return counted
    let isFailure = false
    try {
      const person = await findPerson(pool, attempt.email)
      const fits = await verifyPassword(person?.password_hash ?? null, password)
      isFailure = !person || !fits
      return person && fits ? { kind: 'right', person, isDeviceKnown: counted.isDeviceKnown } : { kind: 'wrong' }
    } finally {
      if (!isFailure) await takeBack(pool, counted.keys)
    }
  }

  async function check(attempt: Attempt, password: string): Promise<Checked> {
    const seen = await inTurn(looks, attempt, () => lookAtAttempt(pool, attempt))
    if (seen.kind === 'limited') return seen
    // Counted when it is its turn: of twenty tills at once that are right, no more than two are taken for failures.
    return inTurn(seen.standing === 'stranger' ? strangers : known, attempt, () => verify(attempt, password))
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
      const { memberships } = checked.person
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
    membershipsOf: async (email) => (await findPerson(pool, email))?.memberships ?? [],
  }
}

/** A user of a company as the statement finds it. */
interface FoundUser extends User, AccessTerms {
  readonly generation: number
  readonly company_name: string
  readonly timezone: string
}

async function findPerson(pool: Pool, email: string): Promise<FoundPerson | null> {
  const { rows } = await pool.query<Omit<FoundPerson, 'memberships'> & { users: readonly FoundUser[]; now: string }>({
    name: 'find_person',
    text: `select p.password_hash, p.generation, array(
             select json_build_object('id', u.id, 'name', u.doc->'name', 'company_id', u.company_id,
               'company_name', c.doc->'name', 'timezone', c.timezone, 'generation', u.generation,
               'role', u.doc->'role', 'access_until', u.doc->'access_until')
             from users u join companies c on c.company_id = u.company_id
             where u.email = p.email and u.doc->>'status' = 'active'
             order by c.doc->>'name', c.company_id) as users, clock_timestamp() as now
           from ops.persons p where p.email = $1`,
    values: [email],
  })
  const [found] = rows
  if (!found) return null
  const { users, generation: personGeneration, password_hash, now } = found
  // Whoever was let in until a day that has passed belongs to the company no more, as far as a login tells.
  const letIn = users.filter((user) => isLetIn(user, dateInZone(now, user.timezone)))
  const memberships = letIn.map(({ id, name, company_id, company_name, generation, role }) => ({
    companyName: company_name,
    user: { id, name, email, company_id },
    role,
    holder: { userId: id, companyId: company_id, generation, personGeneration },
  }))
  return { password_hash, generation: personGeneration, memberships }
}

interface OwnPassword {
  /** Any text; only the right one fits. */
  readonly current: string
  /** As `Password` gives it. */
  readonly next: string
}

/** Where the request came from, as the events and the limits of failures know it. */
export interface From {
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
  { userId, companyId, email }: Pick<Holder, 'userId' | 'companyId'> & Pick<Credentials, 'email'>,
  { current, next }: OwnPassword,
  { address, requestId }: From,
): Promise<PasswordOutcome> {
  const confirmed = await login.confirm({ email, password: current }, { address, isInside: true })
  if (confirmed.kind !== 'right') return confirmed
  const changed = await runAs(writer, asUser({ companyId, userId }, requestId), changePassword, {
    id: userId,
    password_hash: await hashPassword(next),
    verified_hash: confirmed.person.password_hash,
  })
  return isRefusal(changed) ? changed : { kind: 'changed' }
}
