import type { Pool } from 'pg'

/** A record that matches one of the requested keys. */
export interface Match {
  readonly id: number
  readonly is_deleted: boolean
  /** Normalised key by field, as the read model compares it. */
  readonly keys: Readonly<Record<string, string | null>>
}

/** Normalised values by field. */
export type Asked = Readonly<Record<string, readonly string[]>>

const ITEMS = `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'barcode', barcode, 'sku', sku) as keys
  from catalog_items
  where company_id = $1 and (external_id = any($2::text[])
    or (deleted_at is null and (barcode = any($3::text[]) or sku = any($4::text[]))))
  order by id`

/** Items by external id, and active items by barcode and SKU. */
export async function matchingItems(pool: Pool, companyId: number, asked: Asked): Promise<Match[]> {
  const { external_id = [], barcode = [], sku = [] } = asked
  const { rows } = await pool.query<Match>(ITEMS, [companyId, external_id, barcode, sku])
  return rows
}

const persons = (table: 'customers' | 'suppliers'): string => `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'document', document, 'name', name_key) as keys
  from ${table}
  where company_id = $1 and (external_id = any($2::text[])
    or (deleted_at is null and (document = any($3::text[]) or name_key = any($4::text[]))))
  order by id`

/** Persons by external id, and live persons by document and name. */
export const matchingPersons =
  (table: 'customers' | 'suppliers') =>
  async (pool: Pool, companyId: number, asked: Asked): Promise<Match[]> => {
    const { external_id = [], document = [], name = [] } = asked
    const { rows } = await pool.query<Match>(persons(table), [companyId, external_id, document, name])
    return rows
  }

/** Category ids by normalised name. */
export async function categoriesByName(pool: Pool, companyId: number): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ id: number; name_key: string }>(
    'select id, name_key from categories where company_id = $1 and deleted_at is null',
    [companyId],
  )
  return new Map(rows.map(({ id, name_key }) => [name_key, id]))
}
