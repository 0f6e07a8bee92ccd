import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import type { InventoryStatus } from '#projections/inventories.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  localTime,
  NEWEST_FIRST,
  ORDER_BY_ID,
  type Page,
  type Paging,
} from '../records.ts'

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
        kind = 'count' and occurred_at is not null and document = 'inventory/' || t.inventory_id as is_own
      from stock_movements
      where company_id = t.company_id and catalog_item_id = t.id and id >= (
        select f.id from stock_movements f where f.company_id = t.company_id and f.changed_at > t.counted_at
        order by f.changed_at, f.revision, f.id limit 1)
      offset 0) m
  ) m`

const COUNTED = `inventory_counts t
  join catalog_items i on i.company_id = t.company_id and i.id = t.id
  join item_stocks s on s.company_id = t.company_id and s.id = t.id
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
  text: `select t.id, t.quantity::text as counted, to_char(t.counted_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as counted_at,
      s.stock::text as stock, m.moved, m.is_recounted
    from ${COUNTED}
    where t.company_id = $1 and t.inventory_id = $2 and t.quantity is not null and i.deleted_at is null and i.type = 'product'
    order by t.id`,
}

interface InventoryFilters {
  readonly status?: InventoryStatus | undefined
}

const inventoryListing: Listing<InventoryFilters> = {
  resource: 'inventories',
  from: 'inventories t',
  record: 't.doc',
  filters: { status: (value) => `t.status = ${value}::text` },
}

export const listInventories = (
  pool: Pool,
  companyId: number,
  query: ListPaging & InventoryFilters,
): Promise<Page | Refusal> => list(pool, inventoryListing, companyId, query)

/** Newest first, for people. */
export const searchInventories = (
  pool: Pool,
  companyId: number,
  query: Paging & InventoryFilters,
): Promise<Page | Refusal> => listInOrder(pool, inventoryListing, NEWEST_FIRST, companyId, query)

export const getInventory = (pool: Pool, companyId: number, id: number): Promise<FoundRecords> =>
  getBy(pool, inventoryListing, companyId, 'id', id)

/** A count of an inventory as the API returns it. */
export interface InventoryCountObject {
  readonly catalog_item_id: number
  readonly name: string
  readonly unit: string | null
  readonly counted: string
  readonly counted_at: string
  /** Stock at the counting; null if it was not tracked. */
  readonly expected: string | null
  readonly difference: string | null
  readonly is_superseded: boolean
}

const countListing: Listing<{ readonly inventory_id: number }> = {
  resource: 'inventory_counts',
  from: COUNTED,
  record: `json_build_object('catalog_item_id', t.id, 'name', i.name, 'unit', i.doc -> 'unit', 'counted', t.quantity::text,
    'counted_at', t.counted_at, 'expected', (s.stock - m.moved::numeric - m.corrected::numeric)::text,
    'difference', (t.quantity - (s.stock - m.moved::numeric - m.corrected::numeric))::text, 'is_superseded', m.is_recounted)`,
  where: 't.quantity is not null',
  joinedTables: ['catalog_items', 'item_stocks', 'stock_movements'],
  present: (record, timezone) => {
    const count = record as InventoryCountObject
    return { ...count, counted_at: localTime(count.counted_at, timezone) }
  },
  filters: { inventory_id: (value) => `t.inventory_id = ${value}::bigint` },
}

export const listInventoryCounts = (
  pool: Pool,
  companyId: number,
  query: Paging & { readonly inventory_id: number },
): Promise<Page | Refusal> => listInOrder(pool, countListing, ORDER_BY_ID, companyId, query)
