import { inZone } from '#domain/instant.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { nameKey } from '#domain/text.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyOf, timezoneOf } from './companies.ts'
import {
  BY_CHANGE,
  BY_DELETION,
  type Changed,
  changedColumns,
  docView,
  existing,
  projection,
  stamp,
  withMore,
} from './define.ts'
import { type RecordRow, recordHandlers } from './records.ts'
import { stockMoves } from './sales.ts'

/** A category of catalog items as the API shows it. */
export type CategoryObject = DataOf<'CategoryCreated'> & { created_at: string; updated_at: string }

interface CategoryRow extends Changed {
  company_id: number
  id: number
  external_id: string | null
  name_key: string
  doc: CategoryObject
}

export const categories = table<CategoryRow>('categories', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name_key: 'text',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
  indexes: [BY_CHANGE],
})

export const categoryById = (id: number) => byPk(categories, id)
export const categoryByExternalId = (externalId: string) => byKey(categories, 'external', externalId)
export const categoryByName = (name: string) => byKey(categories, 'name', nameKey(name))

export const categoriesProjection = projection('categories', [categories], {
  CategoryCreated: {
    apply(rows, event) {
      const { company_id } = companyOf(rows)
      const { id, external_id, name } = event.data
      const at = inZone(event.recorded_at, timezoneOf(rows))
      const doc: CategoryObject = { id, external_id, name, created_at: at, updated_at: at }
      rows.add(categories, { company_id, id, external_id, name_key: nameKey(name), ...stamp(event), doc })
    },
  },
})

export const categoryView = docView(categoryById)

/** All fields of an item that a caller sets, stock aside. */
export type ItemFields = Required<Omit<DataOf<'CatalogItemRevived'>, 'id'>>

/** A catalog item as the API shows it, without `category_name`: categories change by themselves, so it is joined on reading. */
export type ItemObject = { id: number } & ItemFields & {
    /** Exactly 3 decimals, negative after oversold offline sales; null for services and untracked items. */
    stock: string | null
    stock_updated_at: string | null
    created_at: string
    updated_at: string
  }

interface ItemColumns {
  /** What lists look for; names of items need not be unique. */
  name_key: string
  sku: string | null
  /** Unique among live items; null when deleted. */
  barcode: string | null
  category_id: number | null
  type: ItemFields['type']
  /** Whether it is a product or has been one: tills may have it. */
  was_product: boolean
}

export type ItemRow = RecordRow<ItemObject> & ItemColumns

export const catalogItems = table<ItemRow>('catalog_items', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name_key: 'text',
    sku: 'text',
    barcode: 'text',
    category_id: 'bigint',
    type: 'text',
    was_product: 'boolean',
    deleted_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], barcode: ['company_id', 'barcode'] },
  indexes: [BY_CHANGE, BY_DELETION],
})

export const itemById = (id: number) => byPk(catalogItems, id)
export const itemByExternalId = (externalId: string) => byKey(catalogItems, 'external', externalId)
export const itemByBarcode = (barcode: string) => byKey(catalogItems, 'barcode', barcode)

const on = recordHandlers<DataOf<'CatalogItemCreated'>, ItemObject, ItemColumns>({
  table: catalogItems,
  byId: itemById,
  create: (data, at) =>
    withMore(data, {
      gtin: data.gtin ?? null,
      ncm: data.ncm ?? null,
      cest: data.cest ?? null,
      stock_updated_at: data.stock === null ? null : at,
      created_at: at,
      updated_at: at,
    }),
  columnsOf: ({ name, sku, barcode, category_id, type }, before) => ({
    name_key: nameKey(name),
    sku,
    barcode,
    category_id,
    type,
    was_product: type === 'product' || (before?.was_product ?? false),
  }),
  freed: { barcode: null },
})

/** Sets the stock of an item, deleted or not. */
function setStock(
  rows: Changes,
  event: EventOf<never>,
  id: number,
  stock: (before: string | null) => string | null,
): void {
  const before = existing(rows, itemById(id))
  const doc = {
    ...before.doc,
    stock: stock(before.doc.stock),
    stock_updated_at: inZone(event.recorded_at, timezoneOf(rows)),
  }
  rows.put(catalogItems, { ...before, ...stamp(event), doc })
}

const plus = (before: string | null, quantity: string, sign: 1 | -1): string | null =>
  before === null ? null : fromThousandths(toThousandths(before) + sign * toThousandths(quantity))

type Sold = EventOf<'SaleCompleted'> | EventOf<'OfflineSaleCompleted'>

/** However a sale was made, its lines that move stock take it. */
const takesStock = {
  refs: ({ data }: Sold) => stockMoves(data.items).map((move) => itemById(move.catalog_item_id)),
  apply(rows: Changes, event: Sold) {
    for (const { catalog_item_id, quantity } of stockMoves(event.data.items)) {
      setStock(rows, event as never, catalog_item_id, (before) => plus(before, quantity, -1))
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
        setStock(rows, event as never, item.catalog_item_id, (before) => plus(before, item.quantity, 1))
      }
    },
  },
})

/** The item's JSON text with the name of its category, spliced in as the list's SQL does it: the same bytes. */
export const catalogItemView: RecordView = {
  refs: (id) => [itemById(id)],
  refsMore: (rows, id) => categoryRefs(rows, id),
  render(rows, id) {
    const row = rows.get(itemById(id))
    if (!row || row.deleted_at) return null
    const category = row.category_id === null ? null : rows.get(categoryById(row.category_id))
    return `${JSON.stringify(row.doc).slice(0, -1)},"category_name":${JSON.stringify(category?.doc.name ?? null)}}`
  },
}

function categoryRefs(rows: Rows, id: number) {
  const categoryId = rows.get(itemById(id))?.category_id
  return categoryId ? [categoryById(categoryId)] : []
}
