import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import type { Queryable } from '#postgres/database.ts'
import { inTransaction, inTransactionOn, withAdvisoryLock } from '#postgres/transaction.ts'
import { type MasterKeys, WrongMasterKey } from './master-keys.ts'
import { createVault, MASTER_KEY_BYTES, SEALED_COLUMNS, toMasterKey, type Vault } from './vault.ts'

interface Options {
  readonly pool: Pool
  readonly keys: MasterKeys
  /** Called when a first key was created. */
  readonly onMade: (source: string) => void
}

/**
 * Ensures that these keys open all secrets of the database, and that the current one seals from now on. A
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
const registerMasterKey = (client: Queryable, id: string) =>
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

/** Prevents concurrent rotations, which would each create a key. */
export const ROTATION_LOCK = 'tillbook master key rotation'
/** Wait for the lock, in ms: a command that was just killed still holds it briefly. */
const LOCK_PATIENCE_MS = 2_000
/** Rows that are locked and resealed per transaction: a few milliseconds. */
const BATCH_ROWS = 500
/** Longest wait, in ms, for writes that may still use the former key; later ones are refused. */
const PATIENCE_MS = 10_000
const LOOK_AGAIN_MS = 20
const FOREIGN_KEY_VIOLATION = '23503'

export interface Rotation {
  /** Id of the key that seals from now on. */
  readonly master_key: string
  /** Ids of the keys that were retired. */
  readonly former: readonly string[]
  /** Number of secrets that this call resealed. */
  readonly resealed: number
}

/**
 * Reseals all secrets of the database with another master key while services run: with a new one in
 * the key file, or with MASTER_KEY if the present one is listed in MASTER_KEY_FORMER. If interrupted, another call
 * continues.
 * @throws WrongMasterKey if there is no other key
 */
export async function rotateMasterKey(pool: Pool, keys: MasterKeys): Promise<Rotation> {
  const ifTaken = () => {
    throw new WrongMasterKey('The master key is being changed by another command already.')
  }
  const lock = { key: ROTATION_LOCK, wait_ms: LOCK_PATIENCE_MS, ifTaken }
  return withAdvisoryLock<Rotation>(pool, lock, (client) => rotateAlone(client, keys))
}

async function rotateAlone(client: PoolClient, keys: MasterKeys): Promise<Rotation> {
  // More than one key is left from an interrupted call.
  if (keys.all().length === 1) await introduce(client, keys)
  const { id } = keys.current()
  const vault = createVault(keys)
  await registerMasterKey(client, id)
  await othersEnded(client)
  const former = (await registeredMasterKeys(client)).filter((other) => other !== id)
  let resealed = 0
  for (const other of former) resealed += await retire(client, vault, other)
  await keys.file?.dropFormer()
  return { master_key: id, former, resealed }
}

/** Adds a new key. The database registers it before any process can seal with it. */
async function introduce(client: PoolClient, keys: MasterKeys): Promise<void> {
  if (!keys.file)
    throw new WrongMasterKey(
      `${keys.source} is the only key: set it to a new one, and ${keys.source}_FORMER to that of before`,
    )
  const secret = randomBytes(MASTER_KEY_BYTES)
  await registerMasterKey(client, toMasterKey(secret).id)
  await keys.file.renew(secret)
}

/** Waits, up to a limit, for all transactions that may have read the former key before the file was changed. */
async function othersEnded(client: PoolClient): Promise<void> {
  const { rows } = await client.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next')
  const until_ms = performance.now() + PATIENCE_MS
  while (performance.now() < until_ms) {
    const oldest = await client.query('select pg_snapshot_xmin(pg_current_snapshot()) >= $1::xid8 as ended', [
      rows[0].next,
    ])
    if (oldest.rows[0].ended) return
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
  }
}

/** Reseals all secrets of a key until the database no longer needs it. Returns their number. */
async function retire(client: PoolClient, vault: Vault, id: string): Promise<number> {
  let resealed = 0
  for (;;) {
    for (const column of SEALED_COLUMNS) {
      for (;;) {
        const rows = await resealSome(client, vault, column, id)
        resealed += rows
        if (rows < BATCH_ROWS) break
      }
    }
    if (await isForgotten(client, id)) return resealed
  }
}

/** False if a process that has not noticed the rotation has sealed with the key in the meantime. */
async function isForgotten(client: PoolClient, id: string): Promise<boolean> {
  try {
    await client.query('delete from ops.master_keys where id = $1', [Buffer.from(id, 'hex')])
    return true
  } catch (error) {
    if ((error as { code?: string }).code !== FOREIGN_KEY_VIOLATION) throw error
    return false
  }
}

type SealedColumn = (typeof SEALED_COLUMNS)[number]

/** One transaction. Rows are locked in key order, as commands lock them. */
async function resealSome(
  client: PoolClient,
  vault: Vault,
  { table, column, pk, contextOf }: SealedColumn,
  id: string,
): Promise<number> {
  return inTransactionOn(client, async () => {
    const { rows } = await client.query(
      `select ${pk.join(', ')}, ${column} as sealed from ops.${table} where master_key_id = $1
       order by ${pk.join(', ')} limit ${BATCH_ROWS} for no key update`,
      [Buffer.from(id, 'hex')],
    )
    const isRow = pk.map((name, at) => `${name} = $${at + 2}`).join(' and ')
    const update = { name: `reseal_${table}`, text: `update ops.${table} set ${column} = $1 where ${isRow}` }
    const updates = rows.map((row) => {
      const values = pk.map((name) => row[name])
      const context = contextOf(values)
      const sealed = vault.seal(vault.open(row.sealed, context), context)
      return client.query({ ...update, values: [sealed, ...values] })
    })
    await Promise.all(updates)
    return rows.length
  })
}
