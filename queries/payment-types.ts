import type { Reader } from './reader.ts'
import { type FoundRecords, getBy } from './records.ts'
import { t } from './table-names.ts'

/**
 * Payment types of a company by id, also those that the API refuses: the first `limit`, or all of them. There are few: no pages.
 */
export async function listPaymentTypes(
  reader: Reader,
  limit: number | null = null,
): Promise<{ data: string; revision: number }> {
  const { rows } = await reader.query<{ data: string; revision: number }>({
    name: 'list_payment_types',
    text: `select l.revision,
                  coalesce((select string_agg(t.doc::text, ',' order by t.id) from (
                    select id, doc from ${t.payment_types} where company_id = $1 order by id limit $2) t), '') as data
           from ${t.ledgers} l
           where l.company_id = $1`,
    values: [limit],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${reader.companyId} has no ledger`)
  return found
}

/** One of them. */
export const getPaymentType = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, { resource: 'payment_types', from: `${t.payment_types} t`, record: 't.doc' }, 'id', id)
