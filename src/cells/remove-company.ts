import { rm } from 'node:fs/promises'
import type { Pool, PoolClient } from 'pg'
import { checkpointFileOf } from '#integrity/proofs/checkpoint-files.ts'
import { installationOf } from '#integrity/proofs/installation.ts'
import { LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/lock-retry.ts'
import { inTransaction, inTransactionOn } from '#postgres/transaction.ts'
import { CARRIED, type CarriedTable, CREDENTIALS, LEDGER, OF_PERSONS } from './carried-tables.ts'
import { type CellParts, CellRefused } from './cell.ts'
import { openImport } from './import-note.ts'

interface Move {
  readonly id: string
  readonly revision: number
  readonly hash: string
  readonly state: 'exported' | 'confirmed'
}

/** The move under way, locked. @throws CellRefused if the company was not exported */
async function lockMove(client: PoolClient, companyId: number): Promise<Move> {
  const { rows } = await client.query<Move>(
    `select id, revision, hash, state from ops.company_moves where company_id = $1 and state in ('exported', 'confirmed') for update`,
    [companyId],
  )
  if (rows[0]) return rows[0]
  throw new CellRefused('not_exported', `company ${companyId} was not exported from here, or is open again`)
}

/** Takes an export back (CELL-7). @throws CellRefused after the import was confirmed */
export async function reopenCompany({ pool }: CellParts, companyId: number, reason: string): Promise<void> {
  await inTransaction(pool, async (_, client) => {
    const { id, state } = await lockMove(client, companyId)
    if (state === 'confirmed')
      throw new CellRefused('being_removed', `company ${companyId} is open elsewhere: its import was confirmed`)
    await client.query(`update ops.company_moves set state = 'reopened', reason = $2, at = now() where id = $1`, [
      id,
      reason,
    ])
    await client.query('update ops.ledgers set closed_at = null where company_id = $1', [companyId])
  })
}

/**
 * Removes a company that another cell has imported (CELL-6). The note is kept first; from then on the company cannot be opened here,
 * and an interrupted removal goes on. @throws CellRefused
 */
export async function removeCompany(
  cell: CellParts,
  companyId: number,
  note: string,
  tell: (line: string) => void,
): Promise<void> {
  const said = await openImport(cell.sealing, note)
  const { id: installation } = await installationOf(cell.pool)
  const done = await cell.pool.query(
    `select from ops.company_moves where id = $1 and company_id = $2 and state = 'removed'`,
    [said?.exportId, companyId],
  )
  if (done.rowCount === 1) return
  await inTransaction(cell.pool, async (_, client) => {
    const { id, revision, hash } = await lockMove(client, companyId)
    const isIts = said?.companyId === companyId && said.from === installation && said.exportId === id
    if (!isIts || said.revision !== revision || said.hash !== hash)
      throw new CellRefused('other_note', `this is not the note of the import of company ${companyId}`)
    await client.query(`update ops.company_moves set state = 'confirmed', note = $2, at = now() where id = $1`, [
      id,
      note,
    ])
    await removePersons(client, companyId)
    for (const table of CREDENTIALS) await client.query(`delete from ${table} where company_id = $1`, [companyId])
  })
  for (const { tables } of cell.model.projections)
    for (const { name } of tables) await deleteAll(() => deletePortion(cell.pool, name, `company_id = ${companyId}`))
  for (const table of [LEDGER, ...CARRIED]) await deleteRows(cell, table, companyId, tell)
  for (const name of ['ops.trees', 'ops.tree_tiles'])
    await deleteAll(() => deletePortion(cell.pool, name, `log = ${companyId}`))
  await rm(checkpointFileOf(cell.sealing.directory, companyId), { force: true })
  await inTransaction(cell.pool, async (_, client) => {
    await client.query('delete from ops.table_checks where company_id = $1', [companyId])
    await client.query('delete from ops.ledgers where company_id = $1', [companyId])
    await client.query(
      `update ops.company_moves set state = 'removed', at = now() where company_id = $1 and state = 'confirmed'`,
      [companyId],
    )
  })
}

/** Logins of persons who are users of no other company here. */
async function removePersons(client: PoolClient, companyId: number): Promise<void> {
  const { rows } = await client.query<{ email: string }>(
    `select distinct u.doc ->> 'email' as email from users u where u.company_id = $1 and u.doc ->> 'email' is not null
       and not exists (select from users o where o.company_id <> $1 and o.email = u.doc ->> 'email')`,
    [companyId],
  )
  for (const { name } of OF_PERSONS)
    await client.query(`delete from ${name} where email = any($1::text[])`, [rows.map(({ email }) => email)])
}

/** Rows per statement: each takes a few hundredths of a second, beside the sales of other companies. */
const PORTION = 2_000

async function deleteAll(remove: () => Promise<number>): Promise<void> {
  while ((await remove()) === PORTION);
}

async function deletePortion(pool: Pick<Pool, 'query'>, table: string, condition: string): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from ${table} where ${condition} and ctid = any(array(select ctid from ${table} where ${condition} limit ${PORTION}))`,
  )
  return rowCount ?? 0
}

/** Only the owner deletes from append-only tables, with their trigger disabled for each portion. */
async function deleteRows(
  cell: CellParts,
  { name, of, isOwners }: CarriedTable,
  companyId: number,
  tell: (line: string) => void,
): Promise<void> {
  const condition = of(String(companyId))
  if (!isOwners) return deleteAll(() => deletePortion(cell.pool, name, condition))
  const { rowCount } = await cell.pool.query(`select from ${name} where ${condition} limit 1`)
  if (rowCount === 0) return
  await cell.asOwner(async (owner) => {
    const client = await owner.connect()
    const portion = () =>
      inTransactionOn(client, async () => {
        await client.query(
          `set local lock_timeout = ${LOCK_TIMEOUT_MS}; alter table ${name} disable trigger append_only`,
        )
        const removed = await deletePortion(client, name, condition)
        await client.query(`select ops.append_only('${name}')`)
        return removed
      })
    try {
      await deleteAll(() => retryOnLockTimeout({ client, what: `removing from ${name}`, tell }, portion))
    } finally {
      client.release(true)
    }
  })
}
