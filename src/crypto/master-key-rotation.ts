import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { createVault, MASTER_KEY_BYTES, toMasterKey, type Vault } from '#crypto/vault.ts'
import { withAdvisoryLocks } from '#postgres/advisory-lock.ts'
import { inTransactionOn } from '#postgres/transaction.ts'
import { registeredMasterKeys, registerMasterKey } from './master-key-registry.ts'
import { type MasterKeys, WrongMasterKey } from './master-keys.ts'
import { SEALED_COLUMNS } from './sealed-columns.ts'

/** Two at once would each make a new key. */
export const ROTATION_LOCK = 'tillbook master key rotation'
/** A command that was just killed has it for another moment. */
const LOCK_PATIENCE_MS = 2_000
/** Rows that are locked and sealed anew at a time: some milliseconds. */
const BATCH_ROWS = 500
/** For how long writes are waited for that may have sealed by the former key; whoever takes longer is refused instead. */
const PATIENCE_MS = 10_000
const LOOK_AGAIN_MS = 20
const FOREIGN_KEY_VIOLATION = '23503'

export interface Rotation {
  /** Id of the key that seals from now on. */
  readonly master_key: string
  /** Ids of those that open nothing any more. */
  readonly former: readonly string[]
  /** Secrets that were sealed anew, by this call. */
  readonly resealed: number
}

/**
 * Seals all secrets of the homes' databases by another master key, while services use them (OPS-73): by a new one in the file of keys, or
 * by MASTER_KEY where the present one is among MASTER_KEY_FORMER. Interrupted at any point and called again, it goes on where it was.
 * @throws WrongMasterKey where no other key is given
 */
export async function rotateMasterKey(pools: readonly Pool[], keys: MasterKeys): Promise<Rotation> {
  const ifTaken = () => {
    throw new WrongMasterKey('The master key is being changed by another command already.')
  }
  const lock = { key: ROTATION_LOCK, wait_ms: LOCK_PATIENCE_MS, ifTaken }
  return withAdvisoryLocks<Rotation>(pools, lock, (clients) => rotateAlone(clients, keys))
}

async function rotateAlone(clients: readonly PoolClient[], keys: MasterKeys): Promise<Rotation> {
  for (const client of clients) await assertNoMoves(client)
  // More than one is what an interrupted call has left.
  if (keys.all().length === 1) await introduce(clients, keys)
  const { id } = keys.current()
  const vault = createVault(keys)
  const former = new Set<string>()
  let resealed = 0
  for (const client of clients) {
    await registerMasterKey(client, id)
    await othersEnded(client)
    for (const other of await registeredMasterKeys(client)) {
      if (other === id) continue
      resealed += await retire(client, vault, other)
      former.add(other)
    }
  }
  await keys.file?.dropFormer()
  return { master_key: id, former: [...former], resealed }
}

/** Of a company that moves some secrets are here and some there (HOME-47). */
const MOVES = `select exists (select from ops.ledgers where move in ('paused', 'leaving', 'arriving')) as moves`

async function assertNoMoves(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ moves: boolean }>(MOVES)
  if (rows[0]?.moves)
    throw new WrongMasterKey('A company is moving to another home: change the master key when it has arrived.')
}

/** A new key, known to each database before anybody can seal by it. */
async function introduce(clients: readonly PoolClient[], keys: MasterKeys): Promise<void> {
  if (!keys.file)
    throw new WrongMasterKey(
      `${keys.source} is the only key: set it to a new one, and ${keys.source}_FORMER to that of before`,
    )
  const secret = randomBytes(MASTER_KEY_BYTES)
  for (const client of clients) await registerMasterKey(client, toMasterKey(secret).id)
  await keys.file.renew(secret)
}

/** Waits, within reason, until every transaction has ended that may have taken the former key before the file was changed. */
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

/** Seals anew whatever a key has sealed, until the database can do without it. Returns how much that was. */
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

/** False where a process that does not know of the change yet has sealed by the key in the meantime. */
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

/** One transaction. Rows are locked in the order of their keys, as commands lock them. */
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
