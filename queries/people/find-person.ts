import type { Pool } from 'pg'
import { nameKey } from '#domain/text.ts'

/** The id of the customer or supplier that has a name, of which there is one at most; case and spacing do not matter. */
export async function findPersonByName(
  pool: Pool,
  table: 'customers' | 'suppliers',
  companyId: number,
  name: string,
): Promise<number | null> {
  const { rows } = await pool.query<{ id: number }>({
    name: `find_${table}_by_name`,
    text: `select t.id from ${table} t where t.company_id = $1 and t.name_key = $2`,
    values: [companyId, nameKey(name)],
  })
  return rows[0]?.id ?? null
}
