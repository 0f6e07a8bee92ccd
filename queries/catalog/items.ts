import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import type { Order } from '../list-statement.ts'
import {
  BY_NAME,
  containing,
  type DeletedPaging,
  type Found,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  type Page,
  type Paging,
} from '../records.ts'

export interface ItemFilters {
  /** A part of the name. */
  readonly name?: string
  readonly type?: 'product' | 'service'
  readonly category_id?: number
  readonly sku?: string
  readonly barcode?: string
  readonly external_id?: string
}

/** The category's name is joined, and put at the end of the item as catalogItemView does it: the same bytes. */
const itemListing: Listing<ItemFilters> = {
  resource: 'catalog_items',
  from: 'catalog_items t left join categories g on g.company_id = t.company_id and g.id = t.category_id',
  record: `left(t.doc::text, -1) || ',"category_name":' || coalesce((g.doc -> 'name')::text, 'null') || '}'`,
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.name_key like ${value}::text`,
    type: (value) => `t.type = ${value}::text`,
    category_id: (value) => `t.category_id = ${value}::bigint`,
    sku: (value) => `t.sku = ${value}::text`,
    barcode: (value) => `t.barcode = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listItems(pool: Pool, companyId: number, query: ListPaging & ItemFilters): Promise<Page | Refusal> {
  return list(pool, itemListing, companyId, { ...query, name: containing(query.name) })
}

export function listDeletedItems(pool: Pool, companyId: number, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(pool, 'catalog_items', companyId, query)
}

export const getItem = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, itemListing, companyId, 'id', id)

interface ItemSearch {
  /** A part of the name. */
  readonly name?: string | undefined
  readonly type?: 'product' | 'service' | undefined
  readonly category_id?: number | undefined
  /** A barcode, an SKU or an external id: whatever stands on the label. */
  readonly code?: string | undefined
  /** Tracked items with a stock of zero or less. */
  readonly out_of_stock?: true | undefined
}

const { name, type, category_id } = itemListing.filters

const searchListing: Listing<ItemSearch> = {
  ...itemListing,
  resource: 'catalog_search',
  filters: {
    name,
    type,
    category_id,
    code: (value) => `${value}::text in (t.barcode, t.sku, t.external_id)`,
    out_of_stock: (value) => `${value}::boolean and (t.doc ->> 'stock')::numeric <= 0`,
  },
}

/** Without an index: each sale changes the stamps of its items, and would have to write an index by name too. */
const BY_ITEM_NAME: Order = { ...BY_NAME, name: 'by_item_name', isSorted: true }

/** By name, for people. */
export function searchItems(pool: Pool, companyId: number, query: Paging & ItemSearch): Promise<Page | Refusal> {
  return listInOrder(pool, searchListing, BY_ITEM_NAME, companyId, { ...query, name: containing(query.name) })
}

interface ShortItem {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  /** Exactly 3 decimals; negative after oversold offline sales. */
  readonly stock: string
}

export interface LowStock {
  /** Products with a stock of zero or less. */
  readonly out: number
  /** Products with something left, but no more than LOW_STOCK. */
  readonly low: number
  /** The shortest first, as many as were asked for. */
  readonly items: readonly ShortItem[]
}

/** Of whatever unit: no item has a minimum of its own. */
const LOW_STOCK = 5

/**
 * Reads through the company's whole catalog: an index of stock would have to be written with every sale. Services and
 * untracked products have no stock.
 */
const SHORT_ITEMS = {
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
  const { rows } = await pool.query<LowStock>({ ...SHORT_ITEMS, values: [companyId, LOW_STOCK, limit] })
  return rows[0] as LowStock
}
