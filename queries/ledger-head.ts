import type { Pool } from 'pg'

/** How far the read model has come with a company, and when that was (UTC). */
export interface LedgerHead {
  readonly revision: number
  readonly last_recorded_at: string
  readonly timezone: string
}

export async function ledgerHead(pool: Pool, companyId: number): Promise<LedgerHead> {
  const { rows } = await pool.query<LedgerHead>({
    name: 'ledger_head',
    text: `select l.revision, l.last_recorded_at, c.timezone
           from ledgers l join companies c on c.company_id = l.company_id
           where l.company_id = $1`,
    values: [companyId],
  })
  if (!rows[0]) throw new Error(`company ${companyId} is not registered`)
  return rows[0]
}
