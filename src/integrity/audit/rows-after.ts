import { isRefusal } from '#ledger/command.ts'
import { type AnyRef, pastColumns, type Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { markTable } from '#postgres/table-marks.ts'
import { type CompanyRow, companies, keepsClock } from '#projections/companies.ts'
import { fullReader, Reader, WHOLE } from '#queries/reader.ts'
import { type AsOfCore, withCompanyAsOf } from './as-of.ts'
import type { PastRow } from './row-versions.ts'

/** Loads rows of a company by primary key, and returns them with the rows loaded before. */
export type Load = (refs: readonly AnyRef[]) => Promise<Rows>

/** The row has changed since the revision. */
class HasChanged extends Error {}

/**
 * Runs work on rows as they were right after an applied event; of the company's row only the time settings count.
 * Unchanged rows, the usual case for up-to-date consumers, are read from their tables; if one has changed, the work
 * runs again on the company's past state. Null if there is none because a test company was emptied since. @throws
 * PastUnavailable
 */
export async function withRowsAfter<T>(
  core: AsOfCore & { readonly poolOf: PoolOf },
  companyId: number,
  revision: number,
  work: (load: Load) => Promise<T>,
): Promise<T | null> {
  try {
    return await work(
      loaderOf(fullReader(core.poolOf(companyId), companyId), (row, { table }) => {
        if (row && table === companies && keepsClock(row as unknown as CompanyRow)) return
        if (!row || (row.revision as number) > revision) throw new HasChanged()
      }),
    )
  } catch (error) {
    if (!(error instanceof HasChanged)) throw error
  }
  const answer = await withCompanyAsOf(core, companyId, { revision }, async ({ source }) => ({
    found: await work(loaderOf(new Reader(companyId, source, WHOLE))),
  }))
  return isRefusal(answer) ? null : answer.found
}

function loaderOf(reader: Reader, check: (row: PastRow | null, ref: AnyRef) => void = () => {}): Load {
  const known = new Map<string, PastRow | null>()
  const rows: Rows = {
    get<R>(ref: Ref<R>) {
      const row = known.get(keyOf(ref))
      if (row === undefined) throw new Error(`row ${keyOf(ref)} was not loaded`)
      return row as R | null
    },
  }
  return async (refs) => {
    for (const ref of refs) {
      const key = keyOf(ref)
      if (known.has(key)) continue
      const row = await find(reader, ref)
      check(row, ref)
      known.set(key, row)
    }
    return rows
  }
}

const keyOf = ({ table, by, values }: AnyRef): string => `${table.name} ${by} ${values.join(' ')}`

async function find(reader: Reader, { table, by, values }: AnyRef): Promise<PastRow | null> {
  const columns = table.keys[by] as readonly string[]
  const text = `select ${Object.keys(pastColumns(table)).join(', ')} from ${markTable(table.name)} where ${columns.map((column, place) => `${column} = $${place + 1}`).join(' and ')}`
  const ids = [(values.at(-1) as number | undefined) ?? reader.companyId]
  const statement = { name: `row_after_${table.name}_${by}`, text, values }
  const { rows } = await reader.query<PastRow>({ ...statement, readSet: { [table.name]: ids } })
  return rows[0] ?? null
}
