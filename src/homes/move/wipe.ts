import pg, { type Pool } from 'pg'
import { inTransaction } from '#ledger/transaction.ts'
import { LOCK_TIMEOUT_MS, patiently } from '#postgres/patience.ts'
import type { MovingHome } from './moving-home.ts'
import { type Carried, carriedTables } from './tables.ts'

/** Rows of one statement: whoever waits for it waits for some hundredths of a second. */
const PORTION = 2_000

/**
 * Removes all rows of a company from a home in which it does not live (HOME-57), in portions, while others sell. The ledger is the
 * owner's to remove from, who has to switch off what refuses it for the time of each portion.
 */
export async function wipe(
  home: MovingHome,
  companyId: number,
  tell: (line: string) => void = () => {},
): Promise<void> {
  const id = String(companyId)
  const readTables = home.model.projections.flatMap(({ tables }) => [...tables])
  for (const { name } of readTables) await emptied(() => removeFrom(home.pool, name, `company_id = ${id}`))
  for (const table of carriedTables(home.store)) {
    if (table.isOwners) await removeAsOwner(home, table, id, tell)
    else await emptied(() => removeFrom(home.pool, table.name, table.of(id)))
  }
}

async function emptied(remove: () => Promise<number>): Promise<void> {
  while ((await remove()) === PORTION);
}

async function removeFrom(pool: Pick<Pool, 'query'>, table: string, condition: string): Promise<number> {
  const { rowCount } = await pool.query(
    `delete from ${table} where ctid = any(array(select ctid from ${table} where ${condition} limit ${PORTION}))`,
  )
  return rowCount ?? 0
}

async function removeAsOwner(
  { owner, ownerUrl, name }: MovingHome,
  { name: table, of }: Carried,
  id: string,
  tell: (line: string) => void,
): Promise<void> {
  const { rowCount } = await owner.query(`select from ${table} where ${of(id)} limit 1`)
  if (rowCount === 0) return
  const isKept =
    (await owner.query(`select from pg_trigger where tgrelid = $1::regclass and tgname = 'append_only'`, [table]))
      .rowCount === 1
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'tillbook move' })
  client.on('error', () => {})
  await client.connect()
  try {
    const portion = () =>
      inTransaction(owner, async (_, session) => {
        await session.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
        if (isKept) await session.query(`alter table ${table} disable trigger append_only`)
        const removed = await removeFrom(session, table, of(id))
        if (isKept) await session.query(`select ops.append_only('${table}')`)
        return removed
      })
    await emptied(() => patiently({ client, what: `${name}, removing from ${table},`, tell }, portion))
  } finally {
    await client.end()
  }
}
