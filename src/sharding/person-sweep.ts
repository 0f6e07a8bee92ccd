import type { PersonLogin } from '#projections/users.ts'
import { copyPerson, decidePassword, type PersonDirectory } from './persons.ts'

const PAGE = 1_000

/** Compares a shard's copies of logins with the default shard, page by page: the newest password wins (SHARD-26). */
export async function* comparePersons(over: PersonDirectory, shard: string): AsyncGenerator<void> {
  const { directory, shards } = over
  const { pool } = shards.at(shard)
  for (let after = ''; ; ) {
    const { rows } = await pool.query<PersonLogin & { is_user: boolean }>({ ...COPIES, values: [after, PAGE] })
    const last = rows.at(-1)
    if (!last) return
    const emails = rows.map(({ email }) => email)
    const deciding = await directory.pool.query<PersonLogin>({ ...DECIDING, values: [emails] })
    const inMain = new Map(deciding.rows.map((person) => [person.email, person]))
    for (const { is_user, ...copy } of rows) {
      const person = inMain.get(copy.email)
      if (person?.generation === copy.generation && person.password_hash === copy.password_hash) continue
      // The default shard may have been restored from a backup.
      if (is_user && (!person || person.generation < copy.generation)) await decidePassword(over, copy)
      else if (person && is_user) await copyPerson(pool, person)
      else await pool.query({ ...DELETE_COPY, values: [copy.email] })
    }
    yield
    after = last.email
  }
}

const COPIES = {
  name: 'copies_of_persons',
  text: `select p.email, p.password_hash, p.generation, exists (select from users u where u.email = p.email) as is_user
         from ops.persons p where p.email > $1 order by p.email limit $2`,
}

const DECIDING = {
  name: 'deciding_persons',
  text: 'select email, password_hash, generation from ops.persons where email = any($1::text[])',
}

/** Copies without a user on the shard. */
const DELETE_COPY = {
  name: 'delete_copy_of_person',
  text: 'delete from ops.persons p where email = $1 and not exists (select from users u where u.email = p.email)',
}
