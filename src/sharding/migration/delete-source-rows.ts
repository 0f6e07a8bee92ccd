import type { Pool } from 'pg'
import { type CarriedTable, carriedTables } from '#cells/carried-tables.ts'
import { LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/lock-retry.ts'
import { inTransactionOn } from '#postgres/transaction.ts'
import type { MigratingShard } from './migrating-shard.ts'

/** Rows per statement: each takes a few hundredths of a second. */
const PORTION = 2_000

/**
 * Deletes all rows of a company from a shard that it has left (SHARD-57), in portions beside other companies' sales.
 * Only the owner may delete from the ledger, and disables its protecting trigger for each portion.
 */
export async function deleteSourceRows(
  shard: MigratingShard,
  companyId: number,
  onProgress: (line: string) => void = () => {},
): Promise<void> {
  const id = String(companyId)
  const readTables = shard.model.projections.flatMap(({ tables }) => [...tables])
  for (const { name } of readTables) await deleteInPortions(() => deletePortion(shard.pool, name, `company_id = ${id}`))
  for (const table of carriedTables(shard.store)) {
    if (table.isOwners) await deleteAsOwner(shard, table, id, onProgress)
    else await deleteInPortions(() => deletePortion(shard.pool, table.name, table.of(id)))
  }
}

async function deleteInPortions(remove: () => Promise<number>): Promise<void> {
  while ((await remove()) === PORTION);
}

async function deletePortion(pool: Pick<Pool, 'query'>, table: string, condition: string): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${PORTION}))`,
  )
  return rowCount ?? 0
}

async function deleteAsOwner(
  { owner, name }: MigratingShard,
  { name: table, of }: CarriedTable,
  id: string,
  onProgress: (line: string) => void,
): Promise<void> {
  const { rowCount } = await owner.query(`select from ${table} where ${of(id)} limit 1`)
  if (rowCount === 0) return
  const kept = `select from pg_trigger where tgrelid = $1::regclass and tgname = 'append_only'`
  const isKept = (await owner.query(kept, [table])).rowCount === 1
  const client = await owner.connect()
  const portion = () =>
    inTransactionOn(client, async () => {
      await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      if (isKept) await client.query(`alter table ${table} disable trigger append_only`)
      const removed = await deletePortion(client, table, of(id))
      if (isKept) await client.query(`select ops.append_only('${table}')`)
      return removed
    })
  try {
    await deleteInPortions(() =>
      retryOnLockTimeout({ client, what: `${name}, removing from ${table},`, tell: onProgress }, portion),
    )
  } finally {
    client.release(true)
  }
}
