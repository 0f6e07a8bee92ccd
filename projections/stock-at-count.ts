import { markTable, plainSql } from '#postgres/table-marks.ts'

const MOVEMENTS = markTable('stock_movements')

/**
 * SQL of what has moved an item's stock since it was counted at `t.counted_at`, and by the inventory itself. Movements
 * count by their own time: a sale before the counting that came later does not. `t`: row of `inventory_counts`.
 */
const MOVED_SINCE_COUNT = `
  cross join lateral (
    select coalesce(sum(m.quantity) filter (where m.at > t.counted_at), 0.000)::text as moved,
           coalesce(sum(m.quantity) filter (where m.is_own), 0.000)::text as corrected,
           coalesce(bool_or(m.kind = 'count' and m.at > t.counted_at), false) as is_recounted
    from (
      select quantity, kind, coalesce(occurred_at, changed_at) as at,
        kind = 'count' and occurred_at is not null and record = 'inventory/' || t.inventory_id as is_own
      from ${MOVEMENTS}
      where company_id = t.company_id and catalog_item_id = t.id and id >= (
        select f.id from ${MOVEMENTS} f where f.company_id = t.company_id and f.changed_at > t.counted_at
        order by f.changed_at, f.revision, f.id limit 1)
      offset 0) m
  ) m`

/** Counts `t` with their items `i`, stocks `s` and movements `m`. */
export const COUNTED = `${markTable('inventory_counts')} t
  join ${markTable('catalog_items')} i on i.company_id = t.company_id and i.id = t.id
  join ${markTable('item_stocks')} s on s.company_id = t.company_id and s.id = t.id
  ${MOVED_SINCE_COUNT}`

/** A count with the stock that it is compared with. */
export interface CountedStock {
  /** Of the item. */
  readonly id: number
  readonly counted: string
  /** UTC. */
  readonly counted_at: string
  /** Null if it is not tracked. */
  readonly stock: string | null
  /** What has moved since the counting, by the time of the movements. */
  readonly moved: string
  /** Whether a later count says what the stock was. */
  readonly is_recounted: boolean
}

/** The counts of an inventory, of active products only; rows are `CountedStock`. */
export const STOCK_AT_COUNT = {
  name: 'stock_at_count',
  text: plainSql(`select t.id, t.quantity::text as counted, to_char(t.counted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as counted_at,
      s.stock::text as stock, m.moved, m.is_recounted
    from ${COUNTED}
    where t.company_id = $1 and t.inventory_id = $2 and t.quantity is not null and i.deleted_at is null and i.type = 'product'
    order by t.id`),
}
