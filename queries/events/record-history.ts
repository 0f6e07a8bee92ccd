import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { parseSubject } from '#ledger/projection.ts'
import { searchNewest } from '#ledger/reading.ts'
import { type AnyRef, loadStatement } from '#ledger/table.ts'
import { readModel } from '#projections/index.ts'
import type { Page, Paging } from '../list.ts'
import { listEvents } from './list-events.ts'

/** Tables that only projections write: a row stays when its record is deleted, and so knows that it was there. */
const derived = new Set(readModel.projections.flatMap(({ tables }) => tables))
/** Rows that belong to every record. */
const shared = new Set(readModel.base.map(({ table }) => table))

/** The events of one record in their newest versions, oldest first, also of a deleted one; null when the company never had it. */
export async function listHistory(
  ledgers: Parameters<typeof listEvents>[0],
  companyId: number,
  subject: string,
  paging: Paging,
): Promise<Page | Refusal | null> {
  if (!(await hasEver(ledgers.pool, companyId, subject))) return null
  return listEvents(ledgers, companyId, { ...paging, subject }, (store, stream, wanted) =>
    searchNewest(store, readModel, stream, wanted),
  )
}

async function hasEver(pool: Pool, companyId: number, subject: string): Promise<boolean> {
  const { type, id } = parseSubject(subject)
  if (type === 'company') return id === companyId
  const refs = readModel.views[type]?.refs(id) ?? []
  for (const ref of refs) {
    if (derived.has(ref.table) && !shared.has(ref.table) && (await isThere(pool, companyId, ref))) return true
  }
  return false
}

async function isThere(pool: Pool, companyId: number, { table, by, values }: AnyRef): Promise<boolean> {
  const key = table.global ? values : [companyId, ...values]
  const { rowCount } = await pool.query({ ...loadStatement(table, by), values: key.map((value) => [value]) })
  return (rowCount ?? 0) > 0
}
