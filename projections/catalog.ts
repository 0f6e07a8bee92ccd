import { inZone } from '#domain/instant.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { nameKey, searchText, sortKey } from '#domain/text.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { timezoneOf } from './companies.ts'
import {
  changedColumns,
  docView,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_DELETION,
  INDEX_BY_NAME,
  projection,
  stamp,
  withMore,
} from './define.ts'
import { type NameHolder, type RecordRow, recordHandlers, type ShownDeletion } from './records.ts'

/** Writable fields of a category. */
export type CategoryFields = Omit<DataOf<'CategoryCreated'>, 'id'>

/** Category of catalog items as the API returns it. */
export type CategoryObject = DataOf<'CategoryCreated'> & { created_at: string; updated_at: string } & ShownDeletion

interface CategoryColumns extends NameHolder {
  sort_key: string
}

export type CategoryRow = RecordRow<CategoryObject> & CategoryColumns

export const categories = table<CategoryRow>('categories', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name_key: 'text',
    sort_key: 'text',
    deleted_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
  indexes: [INDEX_BY_CHANGE, INDEX_BY_DELETION, INDEX_BY_NAME],
  past: { id: 'id', without: ['name_key'] },
})

export const categoryById = (id: number) => byPk(categories, id)
export const categoryByExternalId = (externalId: string) => byKey(categories, 'external', externalId)
export const categoryByName = (name: string) => byKey(categories, 'name', nameKey(name))

const onCategory = recordHandlers<DataOf<'CategoryCreated'>, CategoryObject, CategoryColumns>({
  table: categories,
  byId: categoryById,
  create: (data, at) => withMore(data, { created_at: at, updated_at: at, deleted_at: null }),
  columnsOf: ({ name }) => ({ sort_key: sortKey(name) }),
  freed: { name_key: null },
  hasUniqueNames: true,
  showsDeletion: true,
})

export const categoriesProjection = projection('categories', [categories], {
  CategoryCreated: onCategory.created,
  CategoryUpdated: onCategory.updated,
  CategoryDeleted: onCategory.deleted,
  CategoryRevived: onCategory.revived,
})

export const categoryView = docView(categoryById)

/** Writable fields of an item, without stock. */
export type ItemFields = Required<Omit<DataOf<'CatalogItemRevived'>, 'id'>>

/** Catalog item as the API returns it, without `category_name`: categories change independently, so reads join them. */
export type ItemObject = { id: number } & ItemFields &
  ShownDeletion & {
    /** Exactly 3 decimals, negative after oversold offline sales; null for services and untracked items. */
    stock: string | null
    stock_updated_at: string | null
    created_at: string
    updated_at: string
  }

interface ItemColumns {
  name: string
  /** Item names need not be unique. */
  sort_key: string
  /** Name, SKU, barcode and external id. */
  search: string
  sku: string | null
  /** Unique among live items; null when deleted. */
  barcode: string | null
  category_id: number | null
  type: ItemFields['type']
  /** Whether it is or was a product: tills may have downloaded it. */
  was_product: boolean
  price: string
  /** Last change of anything except stock (UTC). */
  updated_at: string
  stock: string | null
}

export type ItemRow = RecordRow<ItemObject> & ItemColumns

export const catalogItems = table<ItemRow>('catalog_items', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name: 'text',
    sort_key: 'text',
    search: 'text',
    sku: 'text',
    barcode: 'text',
    category_id: 'bigint',
    type: 'text',
    was_product: 'boolean',
    price: 'numeric',
    updated_at: 'timestamptz',
    deleted_at: 'timestamptz',
    // Hot columns last: WAL holds a new row version from its first to its last difference.
    doc: 'json',
    stock: 'numeric',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], barcode: ['company_id', 'barcode'] },
  indexes: [INDEX_BY_CHANGE, INDEX_BY_DELETION],
  fillfactor: 70,
  past: { id: 'id', hot: ['doc', 'stock'] },
})

export const itemById = (id: number) => byPk(catalogItems, id)
export const itemByExternalId = (externalId: string) => byKey(catalogItems, 'external', externalId)
export const itemByBarcode = (barcode: string) => byKey(catalogItems, 'barcode', barcode)

const on = recordHandlers<DataOf<'CatalogItemCreated'>, ItemObject, ItemColumns>({
  table: catalogItems,
  byId: itemById,
  create: (data, at) =>
    withMore(data, {
      stock_updated_at: data.stock === null ? null : at,
      created_at: at,
      updated_at: at,
      deleted_at: null,
    }),
  columnsOf: ({ name, sku, barcode, external_id, category_id, type, price, updated_at, stock }, before) => ({
    name,
    sort_key: sortKey(name),
    search: searchText(name, sku, barcode, external_id),
    sku,
    barcode,
    category_id,
    type,
    was_product: type === 'product' || (before?.was_product ?? false),
    price,
    updated_at: new Date(updated_at).toISOString(),
    stock,
  }),
  freed: { barcode: null },
  showsDeletion: true,
})

/** Sets the stock of an item, deleted ones included. */
function setStock(
  rows: Changes,
  event: EventOf<never>,
  id: number,
  stockAfter: (before: string | null) => string | null,
): void {
  if (!rows.wants(itemById(id))) return
  const before = existing(rows, itemById(id))
  const stock = stockAfter(before.doc.stock)
  const doc = { ...before.doc, stock, stock_updated_at: inZone(event.recorded_at, timezoneOf(rows)) }
  rows.put(catalogItems, { ...before, ...stamp(event), stock, doc })
}

const addQuantity = (before: string | null, quantity: string, sign: 1 | -1): string | null =>
  before === null ? null : fromThousandths(toThousandths(before) + sign * toThousandths(quantity))

export interface StockMove {
  catalog_item_id: number
  quantity: string
}

/** Stock movements of sale lines. */
export function stockMoves(items: readonly DataOf<'SaleCompleted'>['items'][number][]): StockMove[] {
  return items.flatMap(({ catalog_item_id, quantity, moves_stock }) =>
    moves_stock && catalog_item_id !== null ? [{ catalog_item_id, quantity }] : [],
  )
}

type Sold = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'>

/** Lines of every kind of sale debit their stock. */
const takesStock = {
  refs: ({ data }: Sold) => stockMoves(data.items).map((move) => itemById(move.catalog_item_id)),
  apply(rows: Changes, event: Sold) {
    for (const { catalog_item_id, quantity } of stockMoves(event.data.items)) {
      setStock(rows, event as never, catalog_item_id, (before) => addQuantity(before, quantity, -1))
    }
  },
}

export const catalogItemsProjection = projection('catalog_items', [catalogItems], {
  CatalogItemCreated: on.created,
  CatalogItemUpdated: on.updated,
  CatalogItemDeactivated: on.deleted,
  CatalogItemRevived: on.revived,
  StockAdjusted: {
    refs: (event) => [itemById(event.data.id)],
    apply: (rows, event) => setStock(rows, event as never, event.data.id, () => event.data.after),
  },
  SaleCompleted: takesStock,
  OfflineSaleCompleted: takesStock,
  SaleCancelled: {
    refs: (event) => event.data.restock.map((item) => itemById(item.catalog_item_id)),
    apply(rows, event) {
      for (const item of event.data.restock) {
        setStock(rows, event as never, item.catalog_item_id, (before) => addQuantity(before, item.quantity, 1))
      }
    },
  },
})

/** Category of an item; null while the category is deleted. */
const liveCategory = (rows: Rows, categoryId: number | null): Readonly<CategoryRow> | null => {
  const category = categoryId === null ? null : rows.get(categoryById(categoryId))
  return category && !category.deleted_at ? category : null
}

/** JSON text of the item with its category. Spliced as the list's SQL does it, so that both give the same bytes. */
export const catalogItemView: RecordView = {
  refs: (id) => [itemById(id)],
  refsMore: (rows, id) => categoryRefs(rows, id),
  render(rows, id) {
    const row = rows.get(itemById(id))
    if (!row || row.deleted_at) return null
    const category = liveCategory(rows, row.category_id)
    const doc = category ? row.doc : { ...row.doc, category_id: null }
    return `${JSON.stringify(doc).slice(0, -1)},"category_name":${JSON.stringify(category?.doc.name ?? null)}}`
  },
}

function categoryRefs(rows: Rows, id: number) {
  const categoryId = rows.get(itemById(id))?.category_id
  return categoryId ? [categoryById(categoryId)] : []
}
