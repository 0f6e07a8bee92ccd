import type { Pool } from 'pg'
import type { IdKind } from '#domain/id-kinds.ts'
import { ID_COLUMNS } from '#projections/index.ts'

/** What the read model keeps of any record, also of a deleted one; null where the company never had it. */
export async function getRow(
  pool: Pool,
  companyId: number,
  kind: IdKind,
  id: number,
): Promise<Record<string, unknown> | null> {
  const [table, column] = ID_COLUMNS[kind]
  const { rows } = await pool.query<{ doc: Record<string, unknown> }>({
    name: `get_row_${kind}`,
    text: `select t.doc from ${table} t where t.company_id = $1 and t.${column} = $2::bigint`,
    values: [companyId, id],
  })
  return rows[0]?.doc ?? null
}
