import type { Pool } from 'pg'
import { loginAccountOf } from '#access/login-limits.ts'
import type { RegisterLogin } from '#access/people.ts'
import { DEFAULT_SHARD } from '#config/databases.ts'
import { Unavailable } from '#lib/errors.ts'
import { inTransaction } from '#postgres/transaction.ts'
import type { FormerEmails } from '#privacy/erasure-reactor.ts'
import { eraseUnusedLogins } from '#privacy/login-erasure.ts'
import type { PersonLogin } from '#projections/users.ts'
import { accountText, DIRECTORY_CHANNEL, type Directory } from './directory.ts'
import type { Shards } from './shards.ts'

/**
 * Logins over shards: the default shard decides on passwords, the shards of a person's companies have copies (decision
 * 63).
 */
export interface PersonDirectory {
  readonly directory: Directory
  readonly shards: Shards<{ readonly pool: Pool }>
  readonly log: (message: string, error: unknown) => void
}

/** Wait budget for a shard that gets a copy. */
const PUSH_MS = 2_000

/**
 * Sets a person's password if it is newer than the default shard's, and ends all sessions and tokens of the old one on
 * all shards. Returns the password in force. @throws Unavailable
 */
export async function decidePassword(
  { directory }: Pick<PersonDirectory, 'directory'>,
  person: PersonLogin,
): Promise<PersonLogin> {
  const { email, password_hash, generation } = person
  const account = loginAccountOf(email)
  try {
    return await inTransaction(directory.pool, async (tx) => {
      const { rows } = await tx.query<PersonLogin>(DECIDE, [email, password_hash, generation])
      if (rows.length === 0) return (await tx.query<PersonLogin>(FIND, [email])).rows[0] ?? person
      // Waits for logins that are being registered.
      await tx.query(END_LOGINS, [account])
      await tx.query(NOTIFY_DIRECTORY, [DIRECTORY_CHANNEL, accountText(account)])
      return person
    })
  } catch (error) {
    throw new Unavailable('directory lookup failed: database of the default shard is unreachable', { cause: error })
  } finally {
    directory.forgetAccount(account)
  }
}

/**
 * Copies the password to all other shards of the person. An unreachable shard gets it later and refuses the old one.
 */
export async function pushPassword(
  { directory, shards, log }: PersonDirectory,
  person: PersonLogin,
  from: string,
): Promise<void> {
  const places = await directory.find('email', person.email)
  const others = new Set(places.map(({ shard }) => shard).filter((shard) => shard !== DEFAULT_SHARD && shard !== from))
  await Promise.all(
    [...others].map((shard) =>
      withTimeout(async () => copyPerson(shards.at(shard).pool, person)).catch((error) =>
        log(`sharding: new password has not reached shard ${shard}`, error),
      ),
    ),
  )
}

/** Writes a copy unless the shard has a newer one. */
export async function copyPerson(pool: Pool, { email, password_hash, generation }: PersonLogin): Promise<void> {
  await pool.query({ ...COPY, values: [email, password_hash, generation] })
}

/** The person as the default shard has it. @throws Unavailable */
export async function findPerson(
  { directory }: Pick<PersonDirectory, 'directory'>,
  email: string,
): Promise<PersonLogin | null> {
  try {
    return (await directory.pool.query<PersonLogin>({ ...FIND, values: [email] })).rows[0] ?? null
  } catch (error) {
    throw new Unavailable('directory lookup failed: database of the default shard is unreachable', { cause: error })
  }
}

/** Registers sessions or tokens of a shard, after copying the password they were issued for. */
export function registerLoginOf(
  persons: PersonDirectory,
  shard: { readonly pool: Pool },
  kind: 'session' | 'sync_token',
): RegisterLogin {
  return async (key, { userId, companyId, personGeneration }) => {
    const { rows } = await shard.pool.query<{ email: string; generation: number | null }>({
      ...FIND_ADDRESS,
      values: [companyId, userId],
    })
    const [user] = rows
    // The person was erased meanwhile: the session ends before it begins.
    if (!user) return
    if (user.generation !== personGeneration) {
      const person = await findPerson(persons, user.email)
      if (person) await copyPerson(shard.pool, person)
    }
    const { email } = user
    await persons.directory.reserveLogin({ kind, key, companyId, email, generation: personGeneration })
  }
}

/** Removes addresses of erased users from the directory, and logins without users (SHARD-27). */
export async function forgetEmails(
  persons: PersonDirectory,
  shard: string,
  { companyId, emails }: FormerEmails,
): Promise<void> {
  const { directory, shards } = persons
  const { rows } = await shards.at(shard).pool.query<{ email: string }>({ ...FORMER, values: [companyId, emails] })
  const former = rows.map(({ email }) => email)
  await directory.release(former.map((key) => ({ kind: 'email', key, companyId })))
  await eraseFormerLogins(persons, former)
}

/** @throws Postgres errors */
export async function eraseFormerLogins(
  { shards }: Pick<PersonDirectory, 'shards'>,
  emails: readonly string[],
): Promise<void> {
  if (emails.length > 0) await inTransaction(shards.main.pool, (tx) => eraseUnusedLogins(tx, emails))
}

async function withTimeout<T>(work: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Unavailable('erasing logins timed out')), PUSH_MS)
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

const NOTIFY_DIRECTORY = { name: 'notify_directory', text: 'select pg_notify($1, $2)' }

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

/** Addresses without a user in the company. */
const FORMER = {
  name: 'find_former_emails',
  text: `select email from unnest($2::text[]) as known(email)
         where not exists (select from users u where u.company_id = $1 and u.email = known.email)`,
}
