import { type CompanyObject, companysTimeSql, testCompany } from '#projections/companies.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

interface TestCompanyRow {
  readonly doc: CompanyObject
  readonly timezone: string
  readonly erased_at: string | null
  readonly is_test: boolean
  readonly now: string
  readonly revision: number
}

const GET_TEST_COMPANY = {
  name: 'get_test_company',
  text: `select c.doc, c.timezone, c.erased_at, c.is_test, l.revision,
                date_trunc('milliseconds', ${companysTimeSql('clock_timestamp()')}) as now
         from ${t.companies} c join ${t.ledgers} l on l.company_id = c.company_id where c.company_id = $1`,
}

/** JSON text of a test company with its clock; null for a real company. */
export async function getTestCompany(
  reader: Reader,
): Promise<{ readonly record: string | null; readonly revision: number }> {
  const { rows } = await reader.query<TestCompanyRow>({ ...GET_TEST_COMPANY })
  const [row] = rows
  if (!row) throw new Error(`company ${reader.companyId} is not registered`)
  return { record: row.is_test ? JSON.stringify(testCompany(row, row.now)) : null, revision: row.revision }
}

/** Whether a company is real or a test company, and its twin. */
export interface TestCompanyState {
  readonly is_test: boolean
  /** The test company of a real one; null if it has none. */
  readonly twin_id: number | null
  /** The company's time (UTC). */
  readonly now: string
  readonly clock_ahead_ms: number
  readonly erased_at: string | null
}

export async function getTestCompanyState(reader: Reader): Promise<TestCompanyState | null> {
  const { rows } = await reader.query<TestCompanyState>({
    name: 'get_test_standing',
    text: `select c.is_test, c.twin_id, ${companysTimeSql('clock_timestamp()')} as now, c.clock_ahead_ms, c.erased_at
           from ${t.companies} c where c.company_id = $1`,
  })
  return rows[0] ?? null
}
