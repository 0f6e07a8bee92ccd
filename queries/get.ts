import type { Pool } from 'pg'
import { isDaily, recordOf, type Source } from './list-statement.ts'

/** A record, or that there is none, in the snapshot of a revision of the ledger. */
export interface Found {
  /** JSON text of the record; null when it does not exist, is deleted, or is another company's. */
  readonly record: string | null
  readonly revision: number
}

/** Columns by which a record is asked for. */
const COLUMNS = { id: 'bigint', external_id: 'text' } as const

/** Gets the record that has a value in a unique column. `today` is the company's day, for sources that depend on it. */
export async function getBy(
  pool: Pool,
  source: Source,
  companyId: number,
  column: keyof typeof COLUMNS,
  value: number | string,
  today?: string,
): Promise<Found> {
  const { resource, from, where } = source
  const live = where ? ` and ${where}` : ''
  const { rows } = await pool.query<Found & { timezone: string }>({
    name: `get_${resource}_by_${column}`,
    text: `select l.revision, ${source.present ? '(select c.timezone from companies c where c.company_id = $1),' : ''}
                  (select ${recordOf(source)} from ${from} where t.company_id = $1 and t.${column} = $2::${COLUMNS[column]}${live}) as record
           from ledgers l
           where l.company_id = $1`,
    values: [companyId, value, ...(isDaily(source) ? [today] : [])],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${companyId} has no ledger`)
  const { record, revision, timezone } = found
  if (record === null || !source.present) return { record, revision }
  return { record: JSON.stringify(source.present(JSON.parse(record), timezone)), revision }
}
