import type { Pool } from 'pg'

/** A product of which little or nothing is left. */
export interface ShortItem {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  /** Exactly 3 decimals; negative after oversold offline sales. */
  readonly stock: string
}

export interface LowStock {
  /** Products with nothing left, or less. */
  readonly out: number
  /** Products with something left, but no more than LOW_STOCK. */
  readonly low: number
  /** The shortest first, so many at the most. */
  readonly items: readonly ShortItem[]
}

/** Of whatever unit: nobody tells a minimum. */
export const LOW_STOCK = 5

/**
 * Reads through the company's catalog, by its key: no index knows stock, because every sale would have to keep it. Services
 * and products whose stock is not tracked have none.
 */
const STATEMENT = {
  name: 'panel_low_stock',
  text: `with short as materialized (
      select t.id, t.name_key, t.doc, (t.doc->>'stock')::numeric as stock
      from catalog_items t
      where t.company_id = $1 and t.type = 'product' and t.deleted_at is null and (t.doc->>'stock')::numeric <= $2::numeric
    )
    select count(*) filter (where stock <= 0) as out, count(*) filter (where stock > 0) as low,
           coalesce((
             select json_agg(json_build_object('id', id, 'name', doc->'name', 'unit', doc->'unit', 'stock', doc->'stock')
                             order by stock, name_key, id)
             from (select * from short order by stock, name_key, id limit $3) as shortest), '[]') as items
    from short`,
}

export async function lowStock(pool: Pool, companyId: number, limit: number): Promise<LowStock> {
  const { rows } = await pool.query<LowStock>({ ...STATEMENT, values: [companyId, LOW_STOCK, limit] })
  return rows[0] as LowStock
}
