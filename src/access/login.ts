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
  /** Of user and person when the password was looked at: a token that is issued after a change has ended before it begins. */
  readonly generation: number
  readonly personGeneration: number
}

/** A company that a person logs in to, and as which of its users. */
export interface Membership {
  readonly companyName: string
  readonly user: User
  readonly holder: Holder
}

interface Credentials {
  /** As `Email` gives it. */
  readonly email: string
  readonly password: string
}

/** `memberships`: one at least, in the order of the companies' names. */
type LoginOutcome = { readonly kind: 'loggedIn'; readonly memberships: readonly Membership[] } | LoginFailure

/** Why a login fails: the password does not fit, or there were too many guesses, which is over after so many seconds. */
export type LoginFailure = { readonly kind: 'wrong' } | { readonly kind: 'limited'; readonly retryAfter: number }

/** The one login of tills and panel: whoever guesses at one is counted at both. */
export interface Login {
  /** Checks a password; for the right one the caller issues a token or a session to one of the memberships (`admit`). */
  logIn(credentials: Credentials, address: string): Promise<LoginOutcome>
  /** Checks the password of somebody who is in already, within the same limits; tells the hash that it fits. */
  confirm(
    credentials: Credentials,
    address: string,
  ): Promise<
    { readonly kind: 'right'; readonly person: Pick<FoundPerson, 'generation' | 'password_hash'> } | LoginFailure
  >
  /** Counts a token or session that a user is to get; refuses when it is one too many. */
  admit(membership: Membership): Promise<Extract<LoginFailure, { kind: 'limited' }> | null>
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
  ): Promise<{ readonly kind: 'right'; readonly person: FoundPerson } | LoginFailure> {
    const key = `${address} ${email}`
    // Counted before it is known whether the password fits, or a thousand guesses at once would all be the first.
    const emails = await ofEmail.consume(key)
    if (emails.limited) return limitedBy(emails)
    const addresses = await ofAddress.consume(address)
    if (addresses.limited) return limitedBy(addresses)
    try {
      const person = await findPerson(pool, email)
      const fits = await verifyPassword(person?.password_hash ?? null, password)
      if (!person || !fits) return { kind: 'wrong' }
      await Promise.all([ofAddress.giveBack(address), ofEmail.reset(key)])
      return { kind: 'right', person }
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
      const { memberships } = checked.person
      // Whoever belongs to no company is told what a stranger is told.
      return memberships.length === 0 ? { kind: 'wrong' } : { kind: 'loggedIn', memberships }
    },
    confirm: check,
    async admit({ user }) {
      const granted = await grants.consume(String(user.id))
      return granted.limited ? limitedBy(granted) : null
    },
    membershipsOf: async (email) => (await findPerson(pool, email))?.memberships ?? [],
  }
}

const limitedBy = ({ retryAfter }: Counted) => ({ kind: 'limited', retryAfter }) as const

/** A user of a company as the statement finds it. */
interface FoundUser extends User {
  readonly generation: number
  readonly company_name: string
}

async function findPerson(pool: Pool, email: string): Promise<FoundPerson | null> {
  const { rows } = await pool.query<Omit<FoundPerson, 'memberships'> & { users: readonly FoundUser[] }>({
    name: 'find_person',
    text: `select p.password_hash, p.generation, array(
             select json_build_object('id', u.id, 'name', u.doc->'name', 'company_id', u.company_id,
               'company_name', c.doc->'name', 'generation', u.generation)
             from read.users u join read.companies c on c.company_id = u.company_id
             where u.email = p.email and u.doc->>'status' = 'active'
             order by c.doc->>'name', c.company_id) as users
           from ops.persons p where p.email = $1`,
    values: [email],
  })
  const [found] = rows
  if (!found) return null
  const { users, generation: personGeneration, password_hash } = found
  const memberships = users.map(({ id, name, company_id, company_name, generation }) => ({
    companyName: company_name,
    user: { id, name, email, company_id },
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
  const confirmed = await login.confirm({ email, password: current }, address)
  if (confirmed.kind !== 'right') return confirmed
  const changed = await runAs(writer, asUser({ companyId, userId }, requestId), changePassword, {
    id: userId,
    password_hash: await hashPassword(next),
    verified_hash: confirmed.person.password_hash,
  })
  return isRefusal(changed) ? changed : { kind: 'changed' }
}
