import type { PoolClient } from 'pg'
import { StepRefused } from '#lib/errors.ts'
import { type CarriedTable, carriedTables } from './carried-tables.ts'
import { brokenFile } from './company-file.ts'

type Row = Readonly<Record<string, string | null>>

/** Inserts rows of a file; a person whom the installation knows keeps what is here (CELL-5). */
export async function createRowWriter(client: PoolClient, companyId: number) {
  const tables = await carriedTables(client)
  const persons: Row[] = []

  return {
    async write(name: string, rows: readonly Row[]): Promise<void> {
      const table = tables.find((each) => each.name === name)
      const columns = table?.columns.map((column) => column.name).join()
      if (!table || rows.some((row) => Object.keys(row).join() !== columns))
        throw brokenFile(`the file has a table ${name} with other columns`)
      if (name === 'ops.persons') {
        await assertLoginsKept(client, companyId, rows)
        persons.push(...rows)
      }
      await client.query(insertion(table), [JSON.stringify(rows)])
    },
    /** Once all rows and users are here. */
    async finish(): Promise<void> {
      await adoptLogins(client, companyId, persons)
      for (const { name } of tables.filter(({ isCounted }) => isCounted))
        await client.query(
          `select setval('${name}_id_seq', b.id) from (select max(id) as id from ${name} where company_id = $1) b, ${name}_id_seq s
           where b.id > s.last_value`,
          [companyId],
        )
    },
  }
}

function insertion({ name, columns, isOfLogins }: CarriedTable): string {
  const values = columns.map((column) => `(r ->> '${column.name}')::${column.type}`)
  return `insert into ${name} (${columns.map((column) => `"${column.name}"`).join(', ')}) overriding system value
    select ${values.join(', ')} from json_array_elements($1::json) as r
    ${isOfLogins ? `where not exists (select from ops.persons where email = r ->> 'email') on conflict do nothing` : ''}`
}

/**
 * An address that users of other companies have here, whose password was lost with a Postgres: the file's password would let its
 * holder into those companies. @throws StepRefused
 */
async function assertLoginsKept(client: PoolClient, companyId: number, persons: readonly Row[]): Promise<void> {
  const { rows } = await client.query<{ email: string; roles: string }>(
    `select f.email, string_agg(distinct u.doc ->> 'role', ', ') as roles from unnest($2::text[]) as f(email)
     join users u on u.email = f.email and u.company_id <> $1 and u.doc ->> 'status' in ('active', 'inactive')
     where not exists (select from ops.persons p where p.email = f.email) group by 1`,
    [companyId, persons.map(({ email }) => email)],
  )
  const [lost] = rows
  if (lost)
    throw new StepRefused(
      'login_lost',
      `${lost.email} is a user here (${lost.roles}) without a password, and the file's would open that company: set one first`,
    )
}

/**
 * Persons who keep another password here: their tills stay logged in, but not by ended tokens, whose generation could be the living
 * one here; their sessions end, which could switch to other companies of this installation.
 */
const adoptLogins = (client: PoolClient, companyId: number, persons: readonly Row[]) =>
  client.query(
    `with kept as (
       select u.id as user_id, f.generation as former, p.generation as own
       from json_to_recordset($2) as f(email text, password_hash text, generation integer)
       join ops.persons p on p.email = f.email and (p.password_hash, p.generation) is distinct from (f.password_hash, f.generation)
       join users u on u.company_id = $1 and u.doc ->> 'email' = f.email),
     sessions as (delete from ops.sessions s using kept k where s.company_id = $1 and s.user_id = k.user_id),
     tokens as (
       delete from ops.sync_tokens t using kept k
       where t.company_id = $1 and t.user_id = k.user_id and t.person_generation <> k.former)
     update ops.sync_tokens t set person_generation = k.own from kept k
     where t.company_id = $1 and t.user_id = k.user_id and t.person_generation = k.former`,
    [companyId, JSON.stringify(persons)],
  )
