import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import type { InventoryStatus } from '#projections/inventories.ts'
import { COUNTED } from '#projections/stock-at-count.ts'
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
