import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { gtinKey } from '#domain/record-values.ts'
import { nameKey, searchText, sortKey } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byKey, byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import {
  changedColumns,
  INDEX_BY_CHANGE,
  INDEX_BY_DELETION,
  INDEX_BY_NAME,
  projection,
  withMore,
} from './define-projection.ts'
import { type NameHolder, type RecordRow, recordHandlers, type ShownDeletion } from './record-handlers.ts'
import { itemStocks, stockById } from './stock.ts'

/** Item that took a barcode or GTIN last, also if it has released it since: its price is what tills knew. */
interface BarcodeHolderRow {
  company_id: number
  code: string
  item_id: number
}

const barcodeHolders = table<BarcodeHolderRow>('barcode_holders', {
  about: 'Active items by barcode without leading zeros.',
  columns: { company_id: 'bigint', code: 'text', item_id: 'bigint' },
  keys: { pk: ['company_id', 'code'] },
})

const keyOf = (code: string): string => gtinKey(code) ?? code

export const barcodeHolderByCode = (code: string): Ref<BarcodeHolderRow> => byPk(barcodeHolders, keyOf(code))

export interface Codes {
  readonly barcode?: string | null | undefined
  readonly gtin?: string | null | undefined
}

/** Spellings of one product are one code. */
export const listItemCodes = ({ barcode, gtin }: Codes): string[] => [
  ...new Set([barcode, gtin].flatMap((code) => (code ? [keyOf(code)] : []))),
]

const barcodeRefs = (item: Codes) => listItemCodes(item).map(barcodeHolderByCode)

function takeBarcode(rows: Changes, item_id: number, item: Codes): void {
  const { company_id } = companyRef(rows)
  for (const code of listItemCodes(item)) rows.put(barcodeHolders, { company_id, code, item_id })
}

export const barcodeHoldersProjection = projection('barcode_holders', [barcodeHolders], {
  CatalogItemCreated: {
    refs: ({ data }) => barcodeRefs(data),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => barcodeRefs(data.changes),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data.changes),
  },
  CatalogItemRevived: {
    refs: ({ data }) => barcodeRefs(data),
    apply: (rows, { data }) => takeBarcode(rows, data.id, data),
  },
})

/** Active items with a GTIN: several may share one, and a new one is warned of. */
interface GtinHoldersRow {
  company_id: number
  /** Without leading zeros: an EAN with a zero before it is the same product. */
  gtin: string
  /** In the order in which they took it, the first `MAX_HOLDERS` of them. */
  item_ids: readonly number[]
}

const gtinHolders = table<GtinHoldersRow>('gtin_holders', {
  about: 'Active items by GTIN without leading zeros.',
  columns: { company_id: 'bigint', gtin: 'text', item_ids: 'json' },
  keys: { pk: ['company_id', 'gtin'] },
})

/** Further items with the GTIN are not listed. One suffices for a warning. */
const MAX_HOLDERS = 50

export const gtinHoldersByGtin = (gtin: string): Ref<GtinHoldersRow> => byPk(gtinHolders, gtinKey(gtin) ?? gtin)

type Gtin = string | null | undefined

const gtinRefs = (...gtins: Gtin[]) => gtins.flatMap((gtin) => (gtin ? [gtinHoldersByGtin(gtin)] : []))

function change(rows: Changes, gtin: Gtin, idsAfter: (ids: readonly number[]) => readonly number[]): void {
  if (!gtin) return
  const ref = gtinHoldersByGtin(gtin)
  const [key] = ref.values as [string]
  const item_ids = idsAfter(rows.get(ref)?.item_ids ?? [])
  rows.put(gtinHolders, { company_id: companyRef(rows).company_id, gtin: key, item_ids })
}

const takeGtin = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => (ids.includes(id) || ids.length >= MAX_HOLDERS ? ids : [...ids, id]))

const free = (rows: Changes, gtin: Gtin, id: number): void =>
  change(rows, gtin, (ids) => ids.filter((each) => each !== id))

export const gtinHoldersProjection = projection('gtin_holders', [gtinHolders], {
  CatalogItemCreated: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => takeGtin(rows, data.gtin, data.id),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => gtinRefs(data.former_gtin, data.changes.gtin),
    apply(rows, { data: { id, former_gtin, changes } }) {
      if (changes.gtin === undefined) return
      free(rows, former_gtin, id)
      takeGtin(rows, changes.gtin, id)
    },
  },
  CatalogItemDeactivated: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => free(rows, data.gtin, data.id),
  },
  CatalogItemRevived: {
    refs: ({ data }) => gtinRefs(data.gtin),
    apply: (rows, { data }) => takeGtin(rows, data.gtin, data.id),
  },
})

/** Writable fields of a category. */
export type CategoryFields = Omit<DataOf<'CategoryCreated'>, 'id'>

/** Category of catalog items as the API returns it. */
export type CategoryObject = DataOf<'CategoryCreated'> & { created_at: string; updated_at: string } & ShownDeletion

interface CategoryColumns extends NameHolder {
  sort_key: string
}

export type CategoryRow = RecordRow<CategoryObject> & CategoryColumns

export const categories = table<CategoryRow>('categories', {
  about: 'Categories of the catalog, deleted ones included.',
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

/** Writable fields of an item, without stock. */
export type ItemFields = Required<Omit<DataOf<'CatalogItemRevived'>, 'id' | 'approved_by'>>

/** Stored object of an item. Its stock and its category change independently, so reads join them. */
export type ItemDocument = { id: number } & ItemFields & ShownDeletion & { created_at: string; updated_at: string }

/** Catalog item as the API returns it, without `category_name`. */
export type ItemObject = ItemDocument & {
  /** Exactly 3 decimals, negative after oversold offline sales; null for services and untracked items. */
  stock: string | null
  stock_updated_at: string | null
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
  /** Stock at which the item has to be bought again. */
  min_stock: string | null
  picture_url: string | null
  parent_id: number | null
  variant: ItemFields['variant']
  /** Unique among the active variants of an item; null when deleted. */
  variant_key: string | null
  /** Last change of anything except stock (UTC). */
  updated_at: string
}

export type ItemRow = RecordRow<ItemDocument> & ItemColumns

export const catalogItems = table<ItemRow>('catalog_items', {
  about: 'Items of the catalog, deactivated ones included. Stocks are in item_stocks.',
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
    min_stock: 'numeric',
    picture_url: 'text',
    parent_id: 'bigint',
    variant: 'json',
    variant_key: 'text',
    updated_at: 'timestamptz',
    deleted_at: 'timestamptz',
    doc: 'json',
    ...changedColumns,
  },
  keys: {
    pk: ['company_id', 'id'],
    external: ['company_id', 'external_id'],
    barcode: ['company_id', 'barcode'],
    variant: ['company_id', 'parent_id', 'variant_key'],
  },
  indexes: [INDEX_BY_DELETION],
  past: { id: 'id' },
  companion: itemStocks,
})

export const itemById = (id: number) => byPk(catalogItems, id)
export const itemByExternalId = (externalId: string) => byKey(catalogItems, 'external', externalId)
export const itemByBarcode = (barcode: string) => byKey(catalogItems, 'barcode', barcode)

/** Sizes and colours are compared without case and accents. */
export const variantKey = (variant: ItemFields['variant']): string =>
  JSON.stringify([sortKey(variant?.size ?? ''), sortKey(variant?.color ?? '')])

export const itemByVariant = (parentId: number, variant: ItemFields['variant']) =>
  byKey(catalogItems, 'variant', parentId, variantKey(variant))

const NO_TAXES = Object.fromEntries(ITEM_TAX_FIELDS.map((field) => [field, null])) as Record<
  (typeof ITEM_TAX_FIELDS)[number],
  null
>

/** Of an item whose first event has none. */
const NO_SHOP_FIELDS = { min_stock: null, picture_url: null, parent_id: null, variant: null, metadata: null }

const on = recordHandlers<DataOf<'CatalogItemCreated'>, ItemDocument, ItemColumns>({
  table: catalogItems,
  byId: itemById,
  empty: NO_TAXES,
  create: ({ stock: _, approved_by: __, ...fields }, at) =>
    Object.assign({}, fields, NO_TAXES, NO_SHOP_FIELDS, fields, { created_at: at, updated_at: at, deleted_at: null }),
  columnsOf: (
    {
      name,
      sku,
      barcode,
      external_id,
      category_id,
      type,
      price,
      min_stock,
      picture_url,
      parent_id,
      variant,
      updated_at,
    },
    before,
  ) => ({
    name,
    sort_key: sortKey(name),
    search: searchText(name, sku, barcode, external_id),
    sku,
    barcode,
    category_id,
    type,
    was_product: type === 'product' || (before?.was_product ?? false),
    price,
    min_stock,
    picture_url,
    parent_id,
    variant,
    variant_key: parent_id === null ? null : variantKey(variant),
    updated_at: new Date(updated_at).toISOString(),
  }),
  freed: { barcode: null, variant_key: null },
  showsDeletion: true,
})

export const catalogItemsProjection = projection('catalog_items', [catalogItems], {
  CatalogItemCreated: on.created,
  CatalogItemUpdated: on.updated,
  CatalogItemDeactivated: on.deleted,
  CatalogItemRevived: {
    refs: on.revived.refs,
    apply(rows, { data: { approved_by: _, ...data }, ...event }) {
      on.revived.apply(rows, { ...event, data })
    },
  },
  // Reactors show the item, which itself does not change.
  StockMovementRecorded: { refs: (event) => [itemById(event.data.catalog_item_id)] },
})

/** Category of an item; null while the category is deleted. */
const liveCategory = (rows: Rows, categoryId: number | null): Readonly<CategoryRow> | null => {
  const category = categoryId === null ? null : rows.get(categoryById(categoryId))
  return category && !category.deleted_at ? category : null
}

/**
 * JSON text of the item with its stock and category. Spliced as the list's SQL does it, so that both give the same
 * bytes.
 */
export const catalogItemView: RecordView = {
  refs: (id) => [itemById(id), stockById(id)],
  refsMore: (rows, id) => categoryRefs(rows, id),
  render(rows, id) {
    const row = rows.get(itemById(id))
    if (!row || row.deleted_at) return null
    const category = liveCategory(rows, row.category_id)
    const doc = category ? row.doc : { ...row.doc, category_id: null }
    const stock = rows.get(stockById(id))
    const more = {
      stock: stock?.stock ?? null,
      stock_updated_at: stock?.stock_updated_at ?? null,
      category_name: category?.doc.name ?? null,
    }
    return `${JSON.stringify(doc).slice(0, -1)},${JSON.stringify(more).slice(1)}`
  },
}

function categoryRefs(rows: Rows, id: number) {
  const categoryId = rows.get(itemById(id))?.category_id
  return categoryId ? [categoryById(categoryId)] : []
}

/** Number of active variants of an item: it is not deleted and no variant of another while it has any. */
interface VariantCountRow {
  company_id: number
  item_id: number
  variants: number
}

const variantCounts = table<VariantCountRow>('variant_counts', {
  about: 'Number of active variants of each item that has some.',
  columns: { company_id: 'bigint', item_id: 'bigint', variants: 'bigint' },
  keys: { pk: ['company_id', 'item_id'] },
})

export const variantCountByItem = (itemId: number): Ref<VariantCountRow> => byPk(variantCounts, itemId)

type ParentId = number | null | undefined

const refsOf = (...parents: ParentId[]) => parents.flatMap((parent) => (parent ? [variantCountByItem(parent)] : []))

function count(rows: Changes, item_id: ParentId, change: 1 | -1): void {
  if (!item_id) return
  const before = rows.get(variantCountByItem(item_id))?.variants ?? 0
  rows.put(variantCounts, { company_id: companyRef(rows).company_id, item_id, variants: before + change })
}

export const variantCountsProjection = projection('variant_counts', [variantCounts], {
  CatalogItemCreated: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, 1),
  },
  CatalogItemUpdated: {
    refs: ({ data }) => refsOf(data.former_parent_id, data.changes.parent_id),
    apply(rows, { data: { former_parent_id, changes } }) {
      if (changes.parent_id === undefined) return
      count(rows, former_parent_id, -1)
      count(rows, changes.parent_id, 1)
    },
  },
  CatalogItemDeactivated: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, -1),
  },
  CatalogItemRevived: {
    refs: ({ data }) => refsOf(data.parent_id),
    apply: (rows, { data }) => count(rows, data.parent_id, 1),
  },
})

/**
 * Picture of an item, stored outside the ledger: replacing or deleting it destroys it. Items name it by its digest
 * (`picture_url`).
 */
export interface ItemPicture {
  company_id: number
  catalog_item_id: number
  /** SHA-256; null, like the content, after a deletion. */
  digest: Buffer | null
  content: Buffer | null
  stored_at: string
}

export const itemPictures = table<ItemPicture>('item_pictures', {
  columns: {
    company_id: 'bigint',
    catalog_item_id: 'bigint',
    digest: 'bytea',
    content: 'bytea',
    stored_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'catalog_item_id'] },
})

/** Logo of a company, stored outside the ledger like the pictures of items; `logo_url` names it by its digest. */
export interface CompanyLogo {
  company_id: number
  /** SHA-256; null, like the content, after a deletion. */
  digest: Buffer | null
  content: Buffer | null
  stored_at: string
}

export const companyLogos = table<CompanyLogo>('company_logos', {
  columns: { company_id: 'bigint', digest: 'bytea', content: 'bytea', stored_at: 'timestamptz' },
  keys: { pk: ['company_id'] },
})
