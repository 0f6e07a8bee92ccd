import type { Pool } from 'pg'

/** All payment types of a company by id, including those that the API refuses (TYPE-1). They are few: no pages. */
export async function listPaymentTypes(pool: Pool, companyId: number): Promise<{ data: string; revision: number }> {
  const { rows } = await pool.query<{ data: string; revision: number }>({
    name: 'list_payment_types',
    text: `select l.revision,
                  coalesce((select string_agg(t.doc::text, ',' order by t.id) from payment_types t where t.company_id = $1), '') as data
           from ledgers l
           where l.company_id = $1`,
    values: [companyId],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${companyId} has no ledger`)
  return found
}
