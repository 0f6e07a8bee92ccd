import type { Refusal } from '#domain/refusal.ts'
import type { InventoryStatus } from '#projections/inventories.ts'
import { COUNTED } from '#projections/stock-at-count.ts'
import type { ListOrder } from '../list-statement.ts'
import type { Reader } from '../reader.ts'
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
import { moneySum } from '../sums.ts'
import { t } from '../table-names.ts'

interface InventoryFilters {
  readonly status?: InventoryStatus | undefined
}

const inventoryListing: Listing<InventoryFilters> = {
  resource: 'inventories',
  from: `${t.inventories} t`,
  record: 't.doc',
  filters: { status: (value) => `t.status = ${value}::text` },
}

export const listInventories = (reader: Reader, query: ListPaging & InventoryFilters): Promise<Page | Refusal> =>
  list(reader, inventoryListing, query)

/** Newest first, for people. */
export const searchInventories = (reader: Reader, query: Paging & InventoryFilters): Promise<Page | Refusal> =>
  listInOrder(reader, inventoryListing, NEWEST_FIRST, query)

export const getInventory = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, inventoryListing, 'id', id)

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

/** SQL of the counted quantity less the stock at the counting. */
const DIFFERENCE = '(t.quantity - (s.stock - m.moved::numeric - m.corrected::numeric))'

const countListing: Listing<{ readonly inventory_id: number }> = {
  resource: 'inventory_counts',
  from: COUNTED,
  record: `json_build_object('catalog_item_id', t.id, 'name', i.name, 'unit', i.doc -> 'unit', 'counted', t.quantity::text,
    'counted_at', t.counted_at, 'expected', (s.stock - m.moved::numeric - m.corrected::numeric)::text,
    'difference', ${DIFFERENCE}::text, 'is_superseded', m.is_recounted)`,
  where: 't.quantity is not null',
  joinedTables: ['catalog_items', 'item_stocks', 'stock_movements'],
  present: (record, timezone) => {
    const count = record as InventoryCountObject
    return { ...count, counted_at: localTime(count.counted_at, timezone) }
  },
  filters: { inventory_id: (value) => `t.inventory_id = ${value}::bigint` },
}

export const listInventoryCounts = (
  reader: Reader,
  query: Paging & { readonly inventory_id: number },
): Promise<Page | Refusal> => listInOrder(reader, countListing, ORDER_BY_ID, query)

const LAST_COUNTED_FIRST: ListOrder = {
  name: 'last_counted',
  columns: [
    { name: 'counted_at', type: 'timestamptz', of: 't' },
    { name: 'id', type: 'bigint', of: 't' },
  ],
  descending: true,
  isSorted: true,
}

/** The count that was recorded last; a page of one. */
export const findLastCount = (reader: Reader, inventory_id: number): Promise<Page | Refusal> =>
  listInOrder(reader, countListing, LAST_COUNTED_FIRST, { inventory_id, limit: 1 })

/** What an inventory changes of an item's stock, at its cost, or at its price where the cost is unknown or hidden. */
export interface StockDifference {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly difference: string
  readonly value: string
  readonly is_at_cost: boolean
}

/** Differences with the largest values first, and of all: their number and the sum of their values. */
export interface StockDifferences {
  readonly shown: readonly StockDifference[]
  readonly count: number
  readonly value: string
}

const MAX_DIFFERENCES = 200

const DIFFERENCES = {
  name: 'stock_differences',
  text: `with differing as (
      select t.id, i.name, i.doc ->> 'unit' as unit, ${DIFFERENCE} as difference, i.doc ->> 'cost' is not null as is_at_cost,
        round(${DIFFERENCE} * coalesce(i.doc ->> 'cost', i.doc ->> 'price')::numeric * 100) as cents
      from ${COUNTED}
      where t.company_id = $1 and t.inventory_id = $2 and t.quantity is not null and i.deleted_at is null
        and not m.is_recounted and ${DIFFERENCE} <> 0)
    select (select count(*) from differing) as count, (select ${moneySum('sum(cents)')} from differing) as value,
      (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'unit', unit, 'difference', difference::text,
         'value', ${moneySum('cents')}, 'is_at_cost', is_at_cost) order by abs(cents) desc, id), '[]')
       from (select * from differing order by abs(cents) desc, id limit ${MAX_DIFFERENCES}) largest) as shown`,
}

export async function stockDifferences(reader: Reader, inventoryId: number): Promise<StockDifferences> {
  const { rows } = await reader.query<StockDifferences>({ ...DIFFERENCES, values: [inventoryId] })
  return rows[0] as StockDifferences
}
