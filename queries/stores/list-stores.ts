import type { Pool } from 'pg'
import type { StoreObject } from '#projections/stores.ts'

/** The online stores of a company, in the order in which they were opened. There are few: no pages. */
export async function listStores(pool: Pool, companyId: number): Promise<StoreObject[]> {
  const { rows } = await pool.query<{ doc: StoreObject }>({
    name: 'list_stores',
    text: 'select doc from stores where company_id = $1 order by id',
    values: [companyId],
  })
  return rows.map(({ doc }) => doc)
}
