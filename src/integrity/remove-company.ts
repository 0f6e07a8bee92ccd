import { rm } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import { streamName } from '#ledger/command.ts'
import { StepRefused } from '#lib/errors.ts'
import { inTransaction, inTransactionOn, LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/transaction.ts'
import { checkpointPath } from './checkpoint.ts'
import { type CellParts, CREDENTIALS, carriedTables, isOfCompany, LOGIN_TABLES, openImport } from './company-file.ts'
import { loadInstallation } from './installation.ts'

interface Move {
  readonly id: string
  readonly revision: number
  readonly hash: string
  readonly state: 'exported' | 'confirmed'
}

/** The move under way, locked. @throws StepRefused if the company was not exported */
async function lockMove(client: PoolClient, companyId: number): Promise<Move> {
  const { rows } = await client.query<Move>(
    `select id, revision, hash, state from ops.company_moves where company_id = $1 and state in ('exported', 'confirmed') for update`,
    [companyId],
  )
  if (rows[0]) return rows[0]
  throw new StepRefused('not_exported', `company ${companyId} was not exported from here, or is open again`)
}

/** Takes an export back (CELL-7). @throws StepRefused after the import was confirmed */
export async function reopenCompany({ pool }: CellParts, companyId: number, reason: string): Promise<void> {
  await inTransaction(pool, async (_, client) => {
    const { id, state } = await lockMove(client, companyId)
    if (state === 'confirmed')
      throw new StepRefused('being_removed', `company ${companyId} is open elsewhere: its import was confirmed`)
    await client.query(`update ops.company_moves set state = 'reopened', reason = $2, at = now() where id = $1`, [
      id,
      reason,
    ])
    await client.query('update ops.ledgers set closed_at = null where company_id = $1', [companyId])
  })
}

/**
 * Removes a company that another cell has imported. The note is kept first; from then on the company cannot be opened here,
 * and an interrupted removal goes on. @throws StepRefused
 */
export async function removeCompany(
  cell: CellParts,
  companyId: number,
  note: string,
  tell: (line: string) => void,
): Promise<void> {
  const said = await openImport(cell.sealing, note)
  const { id: installation } = await loadInstallation(cell.pool)
  const done = await cell.pool.query(
    `select from ops.company_moves where id = $1 and company_id = $2 and state = 'removed'`,
    [said?.export, companyId],
  )
  if (done.rowCount === 1) return
  await inTransaction(cell.pool, async (_, client) => {
    const { id, revision, hash } = await lockMove(client, companyId)
    const its = { company_id: companyId, export: id, from: installation, revision, hash }
    if (!said || !isDeepStrictEqual({ ...said, ...its }, said))
      throw new StepRefused('other_note', `this is not the note of the import of company ${companyId}`)
    await client.query(`update ops.company_moves set state = 'confirmed', note = $2, at = now() where id = $1`, [
      id,
      note,
    ])
    await removePersons(client, companyId)
    for (const table of CREDENTIALS) await client.query(`delete from ops.${table} where company_id = $1`, [companyId])
  })
  const own = `company_id = ${companyId}`
  for (const { tables } of cell.model.projections)
    for (const { name } of tables) await deleteRows(cell, { name, condition: own, tell })
  const ledger = { name: 'ledger.events', condition: `stream = '${streamName(companyId)}'`, isAppendOnly: true }
  await deleteRows(cell, { ...ledger, tell })
  for (const table of await carriedTables(cell.pool))
    if (!table.isOfLogins) await deleteRows(cell, { ...table, condition: isOfCompany(table, companyId), tell })
  for (const name of ['ops.trees', 'ops.tree_tiles'])
    await deleteRows(cell, { name, condition: `log = ${companyId}`, tell })
  await rm(checkpointPath(cell.sealing.directory, companyId), { force: true })
  await inTransaction(cell.pool, async (_, client) => {
    for (const table of ['table_checks', 'ledgers'])
      await client.query(`delete from ops.${table} where company_id = $1`, [companyId])
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
  for (const name of LOGIN_TABLES)
    await client.query(`delete from ops.${name} where email = any($1::text[])`, [rows.map(({ email }) => email)])
}

/** Rows per statement: each takes a few hundredths of a second, beside the sales of other companies. */
const PORTION = 2_000

interface Deletion {
  readonly name: string
  readonly condition: string
  /** Only the owner deletes from it, with its trigger disabled for each portion. */
  readonly isAppendOnly?: boolean
  readonly tell: (line: string) => void
}

async function deleteRows({ pool, asOwner }: CellParts, { name, condition, isAppendOnly, tell }: Deletion) {
  const { rowCount } = await pool.query(`select from ${name} where ${condition} limit 1`)
  if (rowCount === 0) return
  const portion = async (on: Pick<Pool, 'query'>) => {
    const some = `select ctid from ${name} where ${condition} limit ${PORTION}`
    const deleted = await on.query(`delete from ${name} where ${condition} and ctid = any(array(${some}))`)
    return deleted.rowCount === PORTION
  }
  if (!isAppendOnly) {
    while (await portion(pool));
    return
  }
  await asOwner(async (owner) => {
    const client = await owner.connect()
    const unlocked = () =>
      inTransactionOn(client, async () => {
        await client.query(
          `set local lock_timeout = ${LOCK_TIMEOUT_MS}; alter table ${name} disable trigger append_only`,
        )
        const goesOn = await portion(client)
        await client.query(`select ops.append_only('${name}')`)
        return goesOn
      })
    try {
      while (await retryOnLockTimeout({ client, what: `removing from ${name}`, tell }, unlocked));
    } finally {
      client.release(true)
    }
  })
}
