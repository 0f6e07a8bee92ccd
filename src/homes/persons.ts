import type { Pool } from 'pg'
import { accountOf } from '#access/login-limits.ts'
import type { RegisterLogin } from '#access/people.ts'
import { wipeUnusedLogins } from '#access/wiping.ts'
import { MAIN } from '#config/databases.ts'
import { inTransaction } from '#ledger/transaction.ts'
import { Unavailable } from '#lib/unavailable.ts'
import type { Person } from '#projections/users.ts'
import type { FormerEmails } from '#wiping/reactor.ts'
import { accountText, DIRECTORY_CHANNEL, type Directory } from './directory.ts'
import type { Homes } from './homes.ts'

/** Persons belong to no company: `main` decides on their passwords, and homes of their users have copies (decision 63). */
export interface Persons {
  readonly directory: Directory
  readonly homes: Homes<{ readonly pool: Pool }>
  readonly log: (message: string, error: unknown) => void
}

/** How long a home is waited for that is to have a copy. */
const PUSH_MS = 2_000

/**
 * Decides on a person's password: one that is newer than that of `main` takes its place, and all sessions and tokens of the person
 * end with the old one, in all homes. Returns what is in force then. @throws Unavailable
 */
export async function decidePassword({ directory }: Pick<Persons, 'directory'>, person: Person): Promise<Person> {
  const { email, password_hash, generation } = person
  const account = accountOf(email)
  try {
    return await inTransaction(directory.pool, async (tx) => {
      const { rows } = await tx.query<Person>(DECIDE, [email, password_hash, generation])
      if (rows.length === 0) return (await tx.query<Person>(FIND, [email])).rows[0] ?? person
      // Whoever was about to hand out another one was waited for.
      await tx.query(END_LOGINS, [account])
      await tx.query(TELL, [DIRECTORY_CHANNEL, accountText(account)])
      return person
    })
  } catch (error) {
    throw new Unavailable('the directory cannot be asked', { cause: error })
  } finally {
    directory.forgetAccount(account)
  }
}

/** Has all other homes in which the person is a user know the password. One that is away gets it later, and serves nobody by the old one. */
export async function pushPassword({ directory, homes, log }: Persons, person: Person, from: string): Promise<void> {
  const places = await directory.find('email', person.email)
  const others = new Set(places.map(({ home }) => home).filter((home) => home !== MAIN && home !== from))
  await Promise.all(
    [...others].map((home) =>
      soon(async () => copyPerson(homes.at(home).pool, person)).catch((error) =>
        log(`a new password is not known in ${home} yet`, error),
      ),
    ),
  )
}

/** Puts a copy into a home, unless it has a newer one. */
export async function copyPerson(pool: Pool, { email, password_hash, generation }: Person): Promise<void> {
  await pool.query({ ...COPY, values: [email, password_hash, generation] })
}

/** The person as `main` has it. @throws Unavailable */
export async function findPerson({ directory }: Pick<Persons, 'directory'>, email: string): Promise<Person | null> {
  try {
    return (await directory.pool.query<Person>({ ...FIND, values: [email] })).rows[0] ?? null
  } catch (error) {
    throw new Unavailable('the directory cannot be asked', { cause: error })
  }
}

/** Registers sessions or tokens of a home, for which it has to know the password that they are given for. */
export function registerLoginOf(
  persons: Persons,
  home: { readonly pool: Pool },
  kind: 'session' | 'sync_token',
): RegisterLogin {
  return async (key, { userId, companyId, personGeneration }) => {
    const { rows } = await home.pool.query<{ email: string; generation: number | null }>({
      ...FIND_ADDRESS,
      values: [companyId, userId],
    })
    const [user] = rows
    // Of whom was forgotten meanwhile nothing is kept: the session has ended before it begins.
    if (!user) return
    if (user.generation !== personGeneration) {
      const person = await findPerson(persons, user.email)
      if (person) await copyPerson(home.pool, person)
    }
    const { email } = user
    await persons.directory.reserveLogin({ kind, key, companyId, email, generation: personGeneration })
  }
}

/** Takes addresses of forgotten users out of the directory, and logins that nobody has any more with them (HOME-27). */
export async function forgetEmails(persons: Persons, home: string, { companyId, emails }: FormerEmails): Promise<void> {
  const { directory, homes } = persons
  const { rows } = await homes.at(home).pool.query<{ email: string }>({ ...FORMER, values: [companyId, emails] })
  const former = rows.map(({ email }) => email)
  await directory.release(former.map((key) => ({ kind: 'email', key, companyId })))
  await wipeFormer(persons, former)
}

/** @throws what Postgres says */
export async function wipeFormer({ homes }: Pick<Persons, 'homes'>, emails: readonly string[]): Promise<void> {
  if (emails.length > 0) await inTransaction(homes.main.pool, (tx) => wipeUnusedLogins(tx, emails))
}

async function soon<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Unavailable('it takes too long')), PUSH_MS)
  })
  try {
    return await Promise.race([work(), late])
  } finally {
    clearTimeout(timer)
  }
}

const FIND = {
  name: 'find_deciding_person',
  text: 'select email, password_hash, generation from ops.persons where email = $1',
}

const DECIDE = {
  name: 'decide_password',
  text: `insert into ops.persons as p (email, password_hash, generation) values ($1, $2, $3)
         on conflict (email) do update set password_hash = excluded.password_hash, generation = excluded.generation
         where p.generation < excluded.generation
         returning email, password_hash, generation`,
}

const END_LOGINS = { name: 'end_logins_of_account', text: 'delete from ops.directory_entries where account = $1' }

const TELL = { name: 'tell_of_directory', text: 'select pg_notify($1, $2)' }

const COPY = {
  name: 'copy_person',
  text: `insert into ops.persons as p (email, password_hash, generation) values ($1, $2, $3)
         on conflict (email) do update set password_hash = excluded.password_hash, generation = excluded.generation
         where p.generation < excluded.generation
           or p.generation = excluded.generation and p.password_hash <> excluded.password_hash`,
}

const FIND_ADDRESS = {
  name: 'find_address_of_user',
  text: `select u.doc->>'email' as email, p.generation from users u left join ops.persons p on p.email = u.doc->>'email'
         where u.company_id = $1 and u.id = $2 and u.doc->>'email' is not null`,
}

/** Those that the company has no user of. */
const FORMER = {
  name: 'find_former_emails',
  text: `select email from unnest($2::text[]) as known(email)
         where not exists (select from users u where u.company_id = $1 and u.email = known.email)`,
}
