import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { halfUp, toBigCents } from '#domain/money.ts'
import { sameBarcodes } from '#domain/record-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { NewPrice, PriceChangeObject } from '#projections/price-changes.ts'
import type { FilterValues } from '#records/field.ts'
import type { CATEGORY_FILTERS, ITEM_FILTERS } from '#records/items.ts'
import { type ListOrder, reverseListOrder, sumStatement } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  containing,
  type DeletedPaging,
  type FoundRecords,
  getAny,
  getBy,
  hasWords,
  type Listing,
  type ListPaging,
  list,
  listDeleted,
  listInOrder,
  matchingRecords,
  NEWEST_FIRST,
  ORDER_BY_CHANGE,
  ORDER_BY_ID,
  ORDER_BY_NAME,
  type Page,
  type Paging,
  toWordPatterns,
} from './record-queries.ts'
import { soldQuantities } from './sales-sums.ts'
import { t } from './table-names.ts'

export type ItemFilters = FilterValues<typeof ITEM_FILTERS>

/** Filters in the form that conditions take. */
type ItemConditions = Omit<ItemFilters, 'q' | 'barcode'> & {
  readonly q?: readonly string[]
  readonly barcode?: readonly string[]
}

const conditionsOf = <Q extends ItemFilters>(query: Q) => ({
  ...query,
  barcode: query.barcode === undefined ? undefined : sameBarcodes(query.barcode),
  q: toWordPatterns(query.q),
  name: containing(query.name),
})

/** Order of change: the stock's row has the last change of the item too. */
export const BY_ITEM_CHANGE: ListOrder = {
  ...ORDER_BY_CHANGE,
  columns: ORDER_BY_CHANGE.columns.map((column) => ({ ...column, of: 's' })),
}

/** Matches the item's own member only: inside a JSON string it would read `\\"category_id\\"`. */
const OWN_TEXT = `case when t.category_id is not null and g.id is null
  then replace(t.doc::text, '"category_id":' || t.category_id || ',', '"category_id":null,') else t.doc::text end`

/** A text of digits or of a time needs no escapes. */
const quoted = (column: string): string => `coalesce('"' || ${column} || '"', 'null')`

/** A variant that has had no goods yet: it is new, not sold out. */
export const IS_UNSTOCKED = `t.parent_id is not null and s.stock = 0 and s.stock_updated_at = t.doc ->> 'created_at'`

export const RUNS_OUT = `t.type = 'product' and s.stock <= coalesce(t.min_stock, 0) and not (${IS_UNSTOCKED})`

const WITH_STOCK = `join ${t.item_stocks} s on s.company_id = t.company_id and s.id = t.id`

/** Joins stock and category and appends them as catalogItemView does, so that both give the same bytes. */
const itemListing: Listing<ItemConditions> = {
  resource: 'catalog_items',
  from: `${t.catalog_items} t ${WITH_STOCK}
    left join ${t.categories} g on g.company_id = t.company_id and g.id = t.category_id and g.deleted_at is null`,
  companion: 'item_stocks',
  byChange: BY_ITEM_CHANGE,
  record: `left(${OWN_TEXT}, -1) || ',"stock":' || ${quoted('s.stock')} || ',"stock_updated_at":' || ${quoted('s.stock_updated_at')}
    || ',"category_name":' || coalesce((g.doc -> 'name')::text, 'null') || '}'`,
  where: 't.deleted_at is null',
  filters: {
    q: hasWords,
    name: (value) => `t.sort_key like ${value}::text`,
    type: (value) => `t.type = ${value}::text`,
    category_id: (value) => `t.category_id = ${value}::bigint and g.id is not null`,
    sku: (value) => `t.sku = ${value}::text`,
    barcode: (value) => `t.barcode = any(${value}::text[])`,
    external_id: (value) => `t.external_id = ${value}::text`,
    stock_updated_since: (value) => `s.stock_updated_at::timestamptz >= ${value}::timestamptz`,
    parent_id: (value) => `t.parent_id = ${value}::bigint`,
    low_stock: (value) => `${value}::boolean and ${RUNS_OUT}`,
  },
}

/**
 * With `stock_updated_since` in order of change, like `updated_since`, so that a poller that continues from `synced_at`
 * misses no movement: a movement is a change, so the list begins there.
 */
export function listItems(reader: Reader, query: ListPaging & ItemFilters): Promise<Page | Refusal> {
  const { stock_updated_since: moved, updated_since: changed } = query
  const since = moved !== undefined && (changed === undefined || changed < moved) ? moved : changed
  return list(reader, itemListing, { ...conditionsOf(query), ...(since && { updated_since: since }) })
}

export function listDeletedItems(reader: Reader, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(reader, 'catalog_items', query)
}

export const getItem = (reader: Reader, id: number): Promise<FoundRecords> => getBy(reader, itemListing, 'id', id)

export const getItemByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, itemListing, 'external_id', externalId)

interface ItemSearch {
  /** Words in name, SKU, barcode or external id. */
  readonly q?: string | undefined
  readonly type?: 'product' | 'service' | undefined
  readonly category_id?: number | undefined
  /** Tracked items with a stock of zero or less. */
  readonly out_of_stock?: true | undefined
  readonly low_stock?: true | undefined
  /** Whose goods were received. */
  readonly supplier_id?: number | undefined
}

/** Active or deactivated items. */
export type ItemState = 'active' | 'inactive'

const { q, type, category_id, low_stock } = itemListing.filters

const searchListing: Listing<Omit<ItemSearch, 'q'> & { readonly q?: readonly string[] | undefined }> = {
  ...itemListing,
  resource: 'catalog_search',
  filters: {
    q,
    type,
    category_id,
    out_of_stock: (value) => `${value}::boolean and s.stock <= 0 and not (${IS_UNSTOCKED})`,
    low_stock,
    supplier_id: (value) => `t.id in (
      select (l.value ->> 'catalog_item_id')::bigint from ${t.goods_receipts} r cross join lateral json_array_elements(r.doc -> 'lines') l
      where r.company_id = $1 and r.supplier_id = ${value}::bigint and r.undone_at is null)`,
  },
}

/** Sorted without an index: a catalog is small. */
const BY_ITEM_NAME: ListOrder = { ...ORDER_BY_NAME, name: 'by_item_name', isSorted: true }

const inactiveListing: typeof searchListing = {
  ...searchListing,
  resource: 'catalog_inactive',
  where: 't.deleted_at is not null',
}

/** Orders offered to people. */
export const ITEM_ORDERS = {
  nome: BY_ITEM_NAME,
  '-nome': reverseListOrder(BY_ITEM_NAME),
  cadastro: ORDER_BY_ID,
  '-cadastro': NEWEST_FIRST,
} satisfies Record<string, ListOrder>

export type ItemQuery = Paging &
  ItemSearch & { readonly state?: ItemState | undefined; readonly order?: ListOrder | undefined }

/** Items for people, by name unless another order is requested. */
export function searchItems(
  reader: Reader,
  { state = 'active', order = BY_ITEM_NAME, ...query }: ItemQuery,
): Promise<Page | Refusal> {
  const listing = state === 'active' ? searchListing : inactiveListing
  return listInOrder(reader, listing, order, { ...query, q: toWordPatterns(query.q) })
}

/** Number of items that match a search. A catalog is small enough to be counted whole. */
export async function countItems(
  reader: Reader,
  { state = 'active', ...search }: ItemSearch & { readonly state?: ItemState | undefined },
): Promise<number> {
  const listing = state === 'active' ? searchListing : inactiveListing
  const { from, joinedTables = [] } = listing
  const matching = matchingRecords(listing, { ...search, q: toWordPatterns(search.q) }, 2)
  const text = `select count(*) as count from ${from} where ${matching.condition}`
  const values = [...matching.values]
  const readSet = Object.fromEntries(
    search.out_of_stock || search.low_stock
      ? []
      : ['item_stocks', ...joinedTables].map((table) => [table, 'columns'] as const),
  )
  const statement = sumStatement('count_items', text, matching.values.length)
  const { rows } = await reader.query<{ count: number }>({ ...statement, values, readSet })
  return rows[0]?.count ?? 0
}

/** An item, active or deactivated. */
export const getAnyItem = (reader: Reader, id: number): Promise<FoundRecords> => getAny(reader, itemListing, id)

/** The ids among `ids` with tracked stock, deactivated items included. */
export async function itemsWithStock(reader: Reader, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await reader.query<{ id: number }>({
    name: 'items_with_stock',
    text: `select id from ${t.item_stocks} where company_id = $1 and id = any($2::bigint[]) and stock is not null`,
    values: [ids],
  })
  return new Set(rows.map(({ id }) => id))
}

/** The ids among `ids` that are active. */
export async function findLiveItems(reader: Reader, ids: readonly number[]): Promise<Set<number>> {
  const { rows } = await reader.query<{ id: number }>({
    name: 'live_items',
    text: `select t.id from ${t.catalog_items} t where t.company_id = $1 and t.id = any($2::bigint[]) and t.deleted_at is null`,
    values: [ids],
    readSet: { catalog_items: ids },
  })
  return new Set(rows.map(({ id }) => id))
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
  /** Products that run out, those without stock among them. */
  readonly low: number
  /** Lowest stock first, up to the requested number. */
  readonly items: readonly ShortItem[]
}

/**
 * Scans the company's catalog: an index of stock would have to be written with every sale. Services and untracked
 * products have no stock.
 */
const SHORT_ITEMS = {
  name: 'panel_low_stock',
  text: `with short as materialized (
      select t.id, t.name, t.sort_key collate "C" as sort_key, t.doc, s.stock
      from ${t.catalog_items} t ${WITH_STOCK}
      where t.company_id = $1 and t.deleted_at is null and ${RUNS_OUT}
    )
    select count(*) filter (where stock <= 0) as out, count(*) as low,
           coalesce((
             select json_agg(json_build_object('id', id, 'name', name, 'unit', doc->'unit', 'stock', stock::text)
                             order by stock, sort_key, id)
             from (select * from short order by stock, sort_key, id limit $2) as shortest), '[]') as items
    from short`,
}

export async function lowStock(reader: Reader, limit: number): Promise<LowStock> {
  const { rows } = await reader.query<LowStock>({ ...SHORT_ITEMS, values: [limit] })
  return rows[0] as LowStock
}

/** Units by id of item; an item without one is absent. */
export type UnitsOfItems = ReadonlyMap<number, string>

interface Line {
  /** Null for an item that is not in the catalog. */
  readonly catalog_item_id: number | null
}

/** Present units of the items of some lines. */
export async function findUnits(reader: Reader, lines: readonly Line[]): Promise<UnitsOfItems> {
  const ids = [...new Set(lines.flatMap(({ catalog_item_id }) => catalog_item_id ?? []))]
  if (ids.length === 0) return new Map()
  const { rows } = await reader.query<{ id: number; unit: string }>({
    name: 'units_of_items',
    text: `select t.id, t.doc ->> 'unit' as unit from ${t.catalog_items} t
        where t.company_id = $1 and t.id = any($2::bigint[]) and t.doc ->> 'unit' is not null`,
    values: [ids],
    readSet: { catalog_items: ids },
  })
  return new Map(rows.map(({ id, unit }) => [id, unit]))
}

export const unitIn = (units: UnitsOfItems | undefined, { catalog_item_id }: Line): string | undefined =>
  catalog_item_id === null ? undefined : units?.get(catalog_item_id)

export type CategoryFilters = FilterValues<typeof CATEGORY_FILTERS>

const categoryListing: Listing<CategoryFilters> = {
  resource: 'categories',
  from: `${t.categories} t`,
  record: 't.doc',
  where: 't.deleted_at is null',
  filters: {
    name: (value) => `t.sort_key like ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export function listCategories(reader: Reader, query: ListPaging & CategoryFilters): Promise<Page | Refusal> {
  return list(reader, categoryListing, { ...query, name: containing(query.name) })
}

export function listDeletedCategories(reader: Reader, query: DeletedPaging): Promise<Page | Refusal> {
  return listDeleted(reader, 'categories', query)
}

/** Ordered by name, for people. */
export function listCategoriesByName(reader: Reader, query: Paging & CategoryFilters): Promise<Page | Refusal> {
  return listInOrder(reader, categoryListing, ORDER_BY_NAME, { ...query, name: containing(query.name) })
}

export const getCategory = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, categoryListing, 'id', id)

/** A category, deleted ones included. */
export const getAnyCategory = (reader: Reader, id: number): Promise<FoundRecords> => getAny(reader, categoryListing, id)

export const getCategoryByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, categoryListing, 'external_id', externalId)

/** A change of many prices in a list. */
export type ListedPriceChange = Omit<PriceChangeObject, 'prices'> & { readonly items: number }

const listing: Listing<object> = {
  resource: 'price_changes',
  from: `${t.price_changes} t`,
  record: `((t.doc::jsonb - 'prices') || jsonb_build_object('items', json_array_length(t.doc -> 'prices')))::json`,
  filters: {},
}

/** By id, or in order of change. */
export const listPriceActs = (reader: Reader, query: ListPaging): Promise<Page | Refusal> =>
  list(reader, listing, query)

/** Newest first, for people. */
export const listPriceChanges = (reader: Reader, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, listing, NEWEST_FIRST, query)

export const getPriceChange = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, { ...listing, record: 't.doc' }, 'id', id)

/** An item on a list of prices or on labels; deactivated ones included. */
export interface PricedItem {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly price: string
  readonly barcode: string | null
  readonly gtin: string | null
  /** A size or a colour in its name is no content. */
  readonly isVariant: boolean
  readonly is_deleted: boolean
}

/** Items by name. */
export async function findPricedItems(reader: Reader, ids: readonly number[]): Promise<readonly PricedItem[]> {
  const { rows } = await reader.query<PricedItem>({
    name: 'priced_items',
    text: `select t.id, t.name, t.doc ->> 'unit' as unit, t.doc ->> 'price' as price, t.barcode,
        t.doc ->> 'gtin' as gtin, t.parent_id is not null as "isVariant",
        t.deleted_at is not null as is_deleted
      from ${t.catalog_items} t where t.company_id = $1 and t.id = any($2::bigint[]) order by t.sort_key collate "C", t.id`,
    values: [ids],
    readSet: { catalog_items: ids },
  })
  return rows
}

/** Suppliers of a choice; shops have fewer. */
const MOST_SUPPLIERS = 500

/** Suppliers whose goods were received, by name. */
export async function listSuppliersOfGoods(reader: Reader): Promise<readonly { id: number; name: string | null }[]> {
  const { rows } = await reader.query<{ id: number; name: string | null }>({
    name: 'suppliers_of_goods',
    text: `select t.id, t.doc ->> 'name' as name from ${t.suppliers} t
      where t.company_id = $1 and t.id in (select r.supplier_id from ${t.goods_receipts} r
          where r.company_id = $1 and r.undone_at is null)
      order by name, t.id limit ${MOST_SUPPLIERS}`,
  })
  return rows
}

/** Days of sales by which new prices are judged: today and those before it. */
const DAYS = 30

/** What some prices would have brought in the last 30 days more than the present ones, in cents, had as much been sold. */
export async function readEffectOfPrices(
  reader: Reader,
  prices: readonly NewPrice[],
  { today, timezone }: Calendar,
): Promise<bigint> {
  const bounds = [startOfDay(addDays(today, 1 - DAYS), timezone), startOfDay(addDays(today, 1), timezone)] as const
  const ids = prices.map(({ catalog_item_id }) => catalog_item_id)
  const sold = await soldQuantities(reader, ids, bounds)
  const thousandths = prices.reduce((sum, { catalog_item_id, before, after }) => {
    return sum + (sold.get(catalog_item_id) ?? 0n) * (toBigCents(after) - toBigCents(before))
  }, 0n)
  return thousandths < 0n ? -halfUp(-thousandths, 1000n) : halfUp(thousandths, 1000n)
}
