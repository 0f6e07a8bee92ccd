import type { PoolClient } from 'pg'
import { CARRIED, OF_PERSONS, storedColumnsOf } from './carried-tables.ts'
import { CellRefused } from './cell.ts'
import { BrokenFile, type CarriedRows } from './company-file.ts'

/** A person as the file has them. */
interface Person {
  readonly email: string
  readonly password_hash: string
  readonly generation: number
}

const NAMES: ReadonlySet<string> = new Set([...OF_PERSONS, ...CARRIED].map(({ name }) => name))
const PERSONAL: ReadonlySet<string> = new Set(OF_PERSONS.map(({ name }) => name))

/** Inserts rows of a file; a person whom the installation knows keeps what is here (CELL-5). */
export function createRowWriter(client: PoolClient, companyId: number) {
  const statements = new Map<string, string>()
  const persons: Person[] = []

  async function statementOf({ table, columns }: CarriedRows): Promise<string> {
    const own = NAMES.has(table) ? await storedColumnsOf(client, table) : []
    if (own.map(({ name }) => name).join() !== columns.join())
      throw new BrokenFile(`the file has a table ${table} with other columns`)
    const values = own.map(({ type }, place) => `(r ->> ${place})::${type}`)
    const email = columns.indexOf('email')
    const unknown = `where not exists (select from ops.persons where email = r ->> ${email}) on conflict do nothing`
    return `insert into ${table} (${columns.join(', ')}) overriding system value
      select ${values.join(', ')} from json_array_elements($1::json) as r ${PERSONAL.has(table) ? unknown : ''}`
  }

  return {
    persons,
    async write(part: CarriedRows): Promise<void> {
      const statement = statements.get(part.table) ?? (await statementOf(part))
      statements.set(part.table, statement)
      if (part.table === 'ops.persons') {
        const brought = personsOf(part)
        await assertLoginsKept(client, companyId, brought)
        persons.push(...brought)
      }
      await client.query(statement, [JSON.stringify(part.rows)])
    },
  }
}

function personsOf({ columns, rows }: CarriedRows): Person[] {
  const textOf = (row: readonly (string | null)[], name: string) => row[columns.indexOf(name)] ?? ''
  return rows.map((row) => ({
    email: textOf(row, 'email'),
    password_hash: textOf(row, 'password_hash'),
    generation: Number(textOf(row, 'generation')),
  }))
}

/**
 * An address that users of other companies have here, whose password was lost with a Postgres: the file's password would let its
 * holder into those companies. @throws CellRefused
 */
async function assertLoginsKept(client: PoolClient, companyId: number, persons: readonly Person[]): Promise<void> {
  const { rows } = await client.query<{ email: string; roles: string }>(
    `select f.email, string_agg(distinct u.doc ->> 'role', ', ') as roles from unnest($2::text[]) as f(email)
     join users u on u.email = f.email and u.company_id <> $1 and u.doc ->> 'status' in ('active', 'inactive')
     where not exists (select from ops.persons p where p.email = f.email) group by 1`,
    [companyId, persons.map(({ email }) => email)],
  )
  const [lost] = rows
  if (lost)
    throw new CellRefused(
      'login_lost',
      `${lost.email} is a user here (${lost.roles}) without a password, and the file's would open that company: set one first`,
    )
}

/**
 * Logins of persons who keep another password here: their tills stay logged in, while their sessions end, which could switch to
 * other companies of this installation.
 */
export async function adoptLogins(client: PoolClient, companyId: number, persons: readonly Person[]): Promise<void> {
  const here = await client.query<Person>(
    'select email, password_hash, generation from ops.persons where email = any($1::text[])',
    [persons.map(({ email }) => email)],
  )
  const known = new Map(here.rows.map((person) => [person.email, person]))
  const kept = persons.flatMap(({ email, password_hash, generation }) => {
    const own = known.get(email)
    const isSame = own?.password_hash === password_hash && own.generation === generation
    return own && !isSame ? [{ email, from: generation, to: own.generation }] : []
  })
  if (kept.length === 0) return
  const values = [companyId, kept.map(({ email }) => email), kept.map(({ from }) => from), kept.map(({ to }) => to)]
  const users = `unnest($2::text[], $3::integer[], $4::integer[]) as k(email, before, own)
    join users u on u.company_id = $1 and u.doc ->> 'email' = k.email`
  // An ended token could have the generation that is the living one here.
  await client.query(
    `delete from ops.sync_tokens t using ${users}
     where t.company_id = $1 and t.user_id = u.id and t.person_generation <> k.before`,
    values,
  )
  await client.query(
    `update ops.sync_tokens t set person_generation = k.own from ${users}
     where t.company_id = $1 and t.user_id = u.id and t.person_generation = k.before`,
    values,
  )
  await client.query(`delete from ops.sessions s using ${users} where s.company_id = $1 and s.user_id = u.id`, values)
}
