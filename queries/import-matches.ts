import type { Pool } from 'pg'

/** A record that has one of the requested keys. */
export interface Match {
  readonly id: number
  readonly is_deleted: boolean
  /** By field: as the read model compares them. */
  readonly keys: Readonly<Record<string, string | null>>
}

/** Values by field, as the read model compares them. */
export type MatchRequest = Readonly<Record<string, readonly string[]>>

/**
 * Records kept per combination of the more specific keys: many records may share an SKU or a document, and two are
 * enough to detect an ambiguous key.
 */
const ENOUGH = 2

/** Items by external id, and those in use by barcode and SKU: at most ten for a line that has all three. */
const ITEMS = `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'barcode', barcode, 'sku', sku) as keys
  from catalog_items
  where company_id = $1 and id in (
    select id from catalog_items where company_id = $1 and external_id = any($2::text[])
    union all
    select id from catalog_items where company_id = $1 and deleted_at is null and barcode = any($3::text[])
    union all
    select id from (
      select id, row_number() over (partition by sku, external_id is null, barcode is null order by id) as place
      from catalog_items where company_id = $1 and deleted_at is null and sku = any($4::text[])) alike
    where place <= ${ENOUGH})
  order by id`

export async function matchingItems(pool: Pool, companyId: number, request: MatchRequest): Promise<Match[]> {
  const { external_id = [], barcode = [], sku = [] } = request
  const { rows } = await pool.query<Match>(ITEMS, [companyId, external_id, barcode, sku])
  return rows
}

/** Persons by external id, and those in lists by document and name: at most six for a line that has all three. */
const persons = (table: 'customers' | 'suppliers'): string => `
  select id, deleted_at is not null as is_deleted,
    json_build_object('external_id', external_id, 'document', document, 'name', name_key) as keys
  from ${table}
  where company_id = $1 and id in (
    select id from ${table} where company_id = $1 and external_id = any($2::text[])
    union all
    select id from ${table} where company_id = $1 and deleted_at is null and name_key = any($4::text[])
    union all
    select id from (
      select id, row_number() over (partition by document, external_id is null order by id) as place
      from ${table} where company_id = $1 and deleted_at is null and document = any($3::text[])) alike
    where place <= ${ENOUGH})
  order by id`

export const matchingPersons =
  (table: 'customers' | 'suppliers') =>
  async (pool: Pool, companyId: number, request: MatchRequest): Promise<Match[]> => {
    const { external_id = [], document = [], name = [] } = request
    const { rows } = await pool.query<Match>(persons(table), [companyId, external_id, document, name])
    return rows
  }

/** Ids of the categories that have some names, by these, as the read model compares them. */
export async function categoriesNamed(
  pool: Pool,
  companyId: number,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await pool.query<{ id: number; name_key: string }>(
    'select id, name_key from categories where company_id = $1 and deleted_at is null and name_key = any($2::text[])',
    [companyId, names],
  )
  return new Map(rows.map(({ id, name_key }) => [name_key, id]))
}
