import type { Pool } from 'pg'
import type { Calendar } from '#domain/instant.ts'
import { type Sum, sum } from '../sums.ts'

/** What is still to be received or paid. */
export interface OpenSide {
  readonly pending: Sum
  /** Those of the pending ones that were due before today. */
  readonly overdue: Sum
}

export interface OpenAccounts {
  readonly receivables: OpenSide
  readonly payables: OpenSide
}

/** $1 company, $2 its day. */
const side = (table: keyof OpenAccounts): string => `(
  select json_build_object(
           'pending', ${sum('amount_cents', 'true')},
           'overdue', ${sum('amount_cents', 'due_date < $2::date')})
  from ${table} where company_id = $1 and status = 'pending' and deleted_at is null) as ${table}`

const STATEMENT = { name: 'panel_open_accounts', text: `select ${side('receivables')}, ${side('payables')}` }

export async function openAccounts(pool: Pool, companyId: number, { today }: Calendar): Promise<OpenAccounts> {
  const { rows } = await pool.query<OpenAccounts>({ ...STATEMENT, values: [companyId, today] })
  return rows[0] as OpenAccounts
}
