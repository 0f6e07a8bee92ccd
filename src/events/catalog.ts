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
  /** Codes of fiscal documents: digits only, absent in events from before items had them. */
  gtin: text.nullish(),
  ncm: text.nullish(),
  cest: text.nullish(),
}

const category = { external_id: text.nullable(), name: text }

/** The catalog. Stock has events of its own, because a movement of stock is no change of the item. */
export const catalogEvents = {
  /** `stock` is null for services and untracked items. */
  CatalogItemCreated: eventType('catalog_item', { ...item, stock: quantity.nullable() }),
  CatalogItemUpdated: eventType('catalog_item', { changes: z.strictObject(item).partial() }),
  CatalogItemDeactivated: eventType('catalog_item', {}),
  /** A deactivated item came back through PUT by-external, with the fields of the PUT; its stock is as it was left. */
  CatalogItemRevived: eventType('catalog_item', item),
  /** A count (`stock` given) or a signed adjustment; both quantities are recorded, null where untracked. */
  StockAdjusted: eventType('catalog_item', {
    reason: z.enum(['count', 'adjustment']),
    before: quantity.nullable(),
    after: quantity.nullable(),
  }),
  CategoryCreated: eventType('category', category),
  CategoryUpdated: eventType('category', { changes: z.strictObject(category).partial() }),
  /** Its items keep its id, and show it again when it is revived. */
  CategoryDeleted: eventType('category', {}),
  CategoryRevived: eventType('category', category),
} as const
