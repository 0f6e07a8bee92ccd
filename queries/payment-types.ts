import type { Queryable } from '#postgres/database.ts'
import { type FoundRecords, getBy } from './records.ts'

/**
 * Payment types of a company by id, also those that the API refuses (TYPE-1): the first `limit`, or all of them. There are few: no pages.
 */
export async function listPaymentTypes(
  pool: Queryable,
  companyId: number,
  limit: number | null = null,
): Promise<{ data: string; revision: number }> {
  const { rows } = await pool.query<{ data: string; revision: number }>({
    name: 'list_payment_types',
    text: `select l.revision,
                  coalesce((select string_agg(t.doc::text, ',' order by t.id) from (
                    select id, doc from payment_types where company_id = $1 order by id limit $2) t), '') as data
           from ledgers l
           where l.company_id = $1`,
    values: [companyId, limit],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${companyId} has no ledger`)
  return found
}

/** One of them. */
export const getPaymentType = (pool: Queryable, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, { resource: 'payment_types', from: 'payment_types t', record: 't.doc' }, companyId, 'id', id)
