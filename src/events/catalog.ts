import { z } from 'zod'
import { eventType, id, money, quantity, text } from './define.ts'

export const ITEM_TYPES = ['product', 'service'] as const

const item = {
  external_id: text.nullable(),
  type: z.enum(ITEM_TYPES),
  name: text,
  sku: text.nullable(),
  barcode: text.nullable(),
  category_id: id.nullable(),
  unit: text.nullable(),
  price: money,
  cost: money.nullable(),
  /** Codes for fiscal documents: digits only. */
  gtin: text.nullable(),
  ncm: text.nullable(),
  cest: text.nullable(),
}

const category = { external_id: text.nullable(), name: text }

/** Stock has separate events: a stock movement does not change the item. */
export const catalogEvents = {
  /** `stock` is null for services and untracked items. */
  CatalogItemCreated: eventType('catalog_item', { ...item, stock: quantity.nullable() }),
  /** `former_gtin`: the GTIN before a change of it, if there was one. */
  CatalogItemUpdated: eventType('catalog_item', {
    changes: z.strictObject(item).partial(),
    former_gtin: text.optional(),
  }),
  /** `gtin`: the one that the item leaves to others, if it has one. */
  CatalogItemDeactivated: eventType('catalog_item', { gtin: text.optional() }),
  /** PUT by-external revived a deactivated item, with the fields of the PUT; its stock is unchanged. */
  CatalogItemRevived: eventType('catalog_item', item),
  /** Stock count (`stock` given) or signed adjustment. Both quantities are recorded; null if untracked. */
  StockAdjusted: eventType('catalog_item', {
    reason: z.enum(['count', 'adjustment']),
    before: quantity.nullable(),
    after: quantity.nullable(),
  }),
  CategoryCreated: eventType('category', category),
  CategoryUpdated: eventType('category', { changes: z.strictObject(category).partial() }),
  /** Its items keep the category id, and show the category again once it is revived. */
  CategoryDeleted: eventType('category', {}),
  CategoryRevived: eventType('category', category),
} as const
