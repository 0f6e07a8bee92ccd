import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from './envelope.ts'
import type { ReadModel } from './projection.ts'
import { rowPasts } from './row-history.ts'
import type { WorkingSet } from './working-set.ts'

/** Rows that one statement deletes. Bounds its duration, so that a large company does not run into a time-out. */
const SLICE_ROWS = 10_000

interface Emptying {
  readonly model: ReadModel
  readonly set: WorkingSet
  readonly tx: Transaction
}

/**
 * Runs before an event that empties the company is applied. Deletes the company's rows and their history from the
 * tables that the event names, both stored and in memory. Returns at once for any other event.
 */
export async function resetCompanyRows(
  { model, set, tx }: Emptying,
  companyId: number,
  event: Envelope,
): Promise<void> {
  const tables = model.emptiedBy(event)
  if (tables.length === 0) return
  set.forget(companyId, tables)
  for (const { name } of tables) await deleteAll(tx, name, 'company_id = $1', [companyId])
  const names = tables.map(({ name }) => name)
  await deleteAll(tx, rowPasts.name, 'company_id = $1 and of_table = any($2::text[])', [companyId, names])
}

async function deleteAll(tx: Transaction, table: string, where: string, values: readonly unknown[]): Promise<void> {
  const text = `delete from ${table} where ctid = any(array(select ctid from ${table} where ${where} limit ${SLICE_ROWS}))`
  for (;;) {
    const { rowCount } = await tx.query({ name: `empty_${table}`, text }, values)
    if ((rowCount ?? 0) < SLICE_ROWS) return
  }
}
