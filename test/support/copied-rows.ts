import type { Pool } from 'pg'

/** Read model tables of records that can be numerous. */
const TABLES = [
  'categories',
  'catalog_items',
  'item_stocks',
  'customers',
  'suppliers',
  'payment_types',
  'users',
  'api_keys',
  'stores',
  'sales',
  'receivables',
  'payables',
  'orders',
]

/** Rows per statement. */
const BATCH = 5_000

/**
 * Copies a record of each kind into the read model, bypassing the ledger, because recording so many would take long.
 * Copies share all values that may repeat (SKU, document, phone, party, day), but no unique ones except names and
 * addresses.
 */
export async function copyRecords(pool: Pool, companyId: number, copies: number): Promise<void> {
  for (const table of TABLES) {
    for (let from = 1; from <= copies; from += BATCH)
      await pool.query(
        `insert into read.${table}
         select copy.* from (
           select o, last.id as last from read.${table} o, (select max(id) as id from read.${table}) last
           where o.company_id = $1 and o.id = (select min(id) from read.${table} where company_id = $1)) own
         cross join lateral (select to_json(own.o) as m) members
         cross join generate_series(1, $2::int) as n
         cross join lateral json_populate_record(own.o, json_build_object(
           'id', last + n, 'external_id', null, 'barcode', null, 'name_key', m->>'name_key' || ' ' || last + n, 'alias', m->>'alias' || last + n,
           'email', last + n || (m->>'email'), 'doc', regexp_replace(m->>'doc', '"id": ?\\d+', '"id":' || last + n)::json)) copy`,
        [companyId, Math.min(BATCH, copies - from + 1)],
      )
    await pool.query(`analyze read.${table}`)
  }
}
