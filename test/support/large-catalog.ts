import type { Pool } from 'pg'

/**
 * Copies an item in the read model, bypassing the ledger: reads are the same, and recording so many would take long.
 * Ids follow the item's own.
 */
export async function copyItem(pool: Pool, companyId: number, itemId: number, copies: number): Promise<void> {
  await pool.query(
    `insert into read.catalog_items (company_id, id, name, sort_key, search, type, price, min_stock, updated_at, revision, changed_at, doc)
     select company_id, id + n, name || ' ' || n, sort_key || ' ' || n, search, type, price, min_stock, updated_at, revision, changed_at,
            replace(replace(doc::text, '{"id":' || id || ',', '{"id":' || id + n || ','),
                    '"name":"' || name || '"', '"name":"' || name || ' ' || n || '"')::json
     from read.catalog_items, generate_series(1, $3::int) as n
     where company_id = $1 and id = $2`,
    [companyId, itemId, copies],
  )
  await pool.query(
    `insert into read.item_stocks (company_id, id, stock, stock_updated_at, revision, changed_at, first_revision)
     select company_id, id + n, stock, stock_updated_at, revision, changed_at, first_revision
     from read.item_stocks, generate_series(1, $3::int) as n
     where company_id = $1 and id = $2`,
    [companyId, itemId, copies],
  )
  await pool.query('analyze read.catalog_items, read.item_stocks')
}
