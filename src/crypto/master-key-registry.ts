import type { Pool, PoolClient } from 'pg'
import type { Queryable } from '#postgres/database.ts'
import { inTransaction } from '#postgres/transaction.ts'
import { type MasterKeys, WrongMasterKey } from './master-keys.ts'
import { SEALED_COLUMNS } from './sealed-columns.ts'

interface Options {
  readonly pool: Pool
  readonly keys: MasterKeys
  /** Called when a first key was created. */
  readonly onMade: (source: string) => void
}

/**
 * Ensures that these keys open all secrets of the database (OPS-71), and that the current one seals from now on. A
 * database without keys registers the current one, which is created if there is none. Of several processes that start
 * together one does it, under a lock. @throws WrongMasterKey
 */
export async function claimDatabase({ pool, keys, onMade }: Options): Promise<void> {
  if (await isClaimed(pool, keys)) return
  await inTransaction(pool, async (_, client) => {
    await client.query('lock table ops.master_keys in share row exclusive mode')
    await claim(client, keys, onMade)
  })
}

/** Registers a key that may seal secrets of the database. */
export const registerMasterKey = (client: Queryable, id: string) =>
  client.query('insert into ops.master_keys (id) values ($1) on conflict do nothing', [Buffer.from(id, 'hex')])

/** Ids of the registered keys, oldest first. */
export async function registeredMasterKeys(client: Queryable): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select encode(id, 'hex') as id from ops.master_keys order by created_at, id`,
  )
  return rows.map(({ id }) => id)
}

/** True at almost every start. */
async function isClaimed(pool: Pool, keys: MasterKeys): Promise<boolean> {
  const held = keys.all().map(({ id }) => id)
  const known = await registeredMasterKeys(pool)
  return known.includes(held[0] ?? '') && known.every((id) => held.includes(id))
}

async function claim(client: PoolClient, keys: MasterKeys, onMade: Options['onMade']): Promise<void> {
  const known = await registeredMasterKeys(client)
  if (known.length === 0 && keys.all().length === 0) {
    await keys.file?.create()
    onMade(keys.source)
  }
  const held = keys.all().map(({ id }) => id)
  const missing: string[] = []
  for (const id of known) if (!held.includes(id) && (await sealsAnything(client, id))) missing.push(id)
  const isOurs = known.length === 0 || known.some((id) => held.includes(id))
  if (missing.length > 0 || !isOurs) throw notHeld(missing.length > 0 ? missing : known, held, keys.source)
  await registerMasterKey(client, keys.current().id)
}

/** Keys of a rotation that was interrupted before they became current have sealed nothing. */
async function sealsAnything(client: PoolClient, id: string): Promise<boolean> {
  const some = SEALED_COLUMNS.map(({ table }) => `exists (select from ops.${table} where master_key_id = $1)`)
  const { rows } = await client.query(`select ${some.join(' or ')} as found`, [Buffer.from(id, 'hex')])
  return rows[0].found
}

function notHeld(missing: readonly string[], held: readonly string[], source: string): WrongMasterKey {
  const there = held.length > 0 ? `there is ${held.join(', ')}` : 'there is none'
  return new WrongMasterKey(
    `The secrets of this database are sealed by master key ${missing.join(', ')}; in ${source} ${there}. ` +
      'Give it the key that belongs to the database, from your copy of it; without it they cannot be opened by anybody.',
  )
}
