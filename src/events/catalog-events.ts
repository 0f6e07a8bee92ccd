import * as z from 'zod'
import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { PRICE_RULE_KINDS } from '#domain/prices.ts'
import { date, eventType, id, instant, metadata, money, quantity, text } from './event-definitions.ts'

/** Kinds of stock movements; the first three follow from sales and refunds. */
export const MOVEMENT_KINDS = ['sale', 'cancel', 'return', 'purchase', 'count', 'loss', 'adjustment'] as const

/** Kinds that a client records. */
export const RECORDED_KINDS = ['purchase', 'count', 'loss', 'adjustment'] as const

export const ITEM_TYPES = ['product', 'service'] as const

/**
 * Fields that the shop keeps although an integration replaces the item without them, as its stock. Absent in the event
 * of a new item if empty, else if unchanged.
 */
export const ITEM_SHOP_FIELDS = ['min_stock', 'picture_url', 'parent_id', 'variant', 'metadata'] as const

/** Absent if empty; null in changes. */
const taxes = Object.fromEntries(ITEM_TAX_FIELDS.map((field) => [field, text.nullable().optional()])) as Record<
  (typeof ITEM_TAX_FIELDS)[number],
  z.ZodOptional<z.ZodNullable<typeof text>>
>

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
  /** Stock at which the item has to be bought again. */
  min_stock: quantity.nullable().optional(),
  /** Address of its picture, by the digest of its content. */
  picture_url: text.nullable().optional(),
  /** Item of which it is a variant, in a size and a colour. */
  parent_id: id.nullable().optional(),
  variant: z.strictObject({ size: text.nullable(), color: text.nullable() }).nullable().optional(),
  metadata: metadata.nullable().optional(),
  ...taxes,
}

/** User who approved it on the spot, if its actor may not change the price of a barcode. */
const approved = { approved_by: id.optional() }

const category = { external_id: text.nullable(), name: text }

/** Stock has separate events: a stock movement does not change the item. */
export const catalogEvents = {
  /** `stock` is null for services and untracked items. */
  CatalogItemCreated: eventType('catalog_item', { ...item, ...approved, stock: quantity.nullable() }),
  /** `former_gtin`: the GTIN before a change of it, if there was one. */
  /** A till made or named this item under an identifier of its own; `fingerprint`: SHA-256 (hex) of what it sent. */
  OfflineItemNamed: eventType('catalog_item', { offline_id: text, fingerprint: text }),
  CatalogItemUpdated: eventType('catalog_item', {
    changes: z.strictObject(item).partial(),
    former_gtin: text.optional(),
    /** Item of which it was a variant before a change of that. */
    former_parent_id: id.optional(),
    /** User who approved a price on the spot, if its actor may not change prices. */
    approved_by: id.optional(),
    /** Change of many prices to which it belongs. */
    price_change_id: id.optional(),
  }),
  /** `gtin`: the one that the item leaves to others; `parent_id`: the item of which it was a variant; if it has one. */
  CatalogItemDeactivated: eventType('catalog_item', { gtin: text.optional(), parent_id: id.optional() }),
  /**
   * PUT by-external revived a deactivated item, with the fields of the PUT; its stock is unchanged. A variant has its
   * `parent_id`.
   */
  CatalogItemRevived: eventType('catalog_item', { ...item, ...approved }),
  /**
   * Stock count (`stock` given), signed adjustment, or goods returned with the refund of `order_id`. Both quantities are
   * recorded; null if untracked.
   */
  StockAdjusted: eventType('catalog_item', {
    reason: z.enum(['count', 'adjustment', 'return']),
    before: quantity.nullable(),
    after: quantity.nullable(),
    order_id: id.optional(),
  }),
  /** Purchase, count, loss or adjustment with its details. `before` is null if the count starts the tracking. */
  StockMovementRecorded: eventType('stock_movement', {
    catalog_item_id: id,
    kind: z.enum(RECORDED_KINDS),
    before: quantity.nullable(),
    after: quantity,
    /** Purchases only; it becomes the item's cost. */
    unit_cost: money.nullable(),
    reason: text.nullable(),
    /** The client's document, such as an invoice. */
    reference: text.nullable(),
  }),
  CategoryCreated: eventType('category', category),
  CategoryUpdated: eventType('category', { changes: z.strictObject(category).partial() }),
  /** Its items keep the category id, and show the category again once it is revived. */
  CategoryDeleted: eventType('category', {}),
  CategoryRevived: eventType('category', category),
} as const

/** Prices of many items as one act. The items' own events follow those that change prices. */
export const priceEvents = {
  /** From `starts_at`; null: now, and applied by the next event. */
  PriceChangePlanned: eventType('price_change', {
    /** Hundredths of a percent of the price, or ten-thousandths of the cost; cents in which all new prices end. */
    rule: z.strictObject({ kind: z.enum(PRICE_RULE_KINDS), amount: z.int(), ending: z.int().nullable() }),
    starts_at: instant.nullable(),
    prices: z.array(z.strictObject({ catalog_item_id: id, before: money, after: money })),
  }),
  /** `left`: items whose price was changed since, or that were deactivated. They stay as they are. */
  PriceChangeApplied: eventType('price_change', { left: z.array(id) }),
  PriceChangeCancelled: eventType('price_change', {}),
  /** Prices are as before; `left` as above. */
  PriceChangeUndone: eventType('price_change', { left: z.array(id) }),
} as const

/** Goods that a supplier delivered, with its document or by hand. Suppliers, items and payables made with it have own events. */
export const goodsReceiptEvents = {
  GoodsReceived: eventType('goods_receipt', {
    /** Of the NF-e; null by hand. */
    access_key: text.nullable(),
    /** Number of the document, as people know it. */
    reference: text.nullable(),
    issued_on: date.nullable(),
    supplier_id: id.nullable(),
    payable_ids: z.array(id),
    total_cost: money,
  }),
  /** What came of each product, up to 1,000; stocks are null where they are not tracked. */
  GoodsStocked: eventType('goods_receipt', {
    supplier_id: id.nullable(),
    lines: z.array(
      z.strictObject({
        catalog_item_id: id,
        /** The supplier's code and unit, under which item and factor are remembered; null by hand. */
        code: text.nullable(),
        unit: text.nullable(),
        /** Own units in one of the supplier's. */
        factor: quantity,
        quantity,
        before: quantity.nullable(),
        after: quantity.nullable(),
        unit_cost: money,
      }),
    ),
    /** Costs that it gave; a new item had none before. */
    costs: z.array(z.strictObject({ catalog_item_id: id, former_cost: money.nullable(), cost: money })),
  }),
  /**
   * Stocks without what it brought; unpaid payables are deleted, and the costs from before come back, by events that
   * follow. `left`: items with another cost since, or deactivated ones. The access key is free again.
   */
  GoodsReceiptUndone: eventType('goods_receipt', {
    stocks: z.array(z.strictObject({ catalog_item_id: id, before: quantity, after: quantity })),
    left: z.array(id),
  }),
} as const

export const INVENTORY_STATUSES = ['open', 'applied', 'discarded'] as const

/** Counting of many products. Differences become stock movements once it is closed. */
export const inventoryEvents = {
  InventoryOpened: eventType('inventory', { name: text }),
  /** Each count replaces what was counted of its item before; null takes the item out. */
  InventoryCounted: eventType('inventory', {
    counts: z.array(z.strictObject({ catalog_item_id: id, quantity: quantity.nullable(), counted_at: instant })),
    /** Items with a count, after this. */
    counted_items: z.int().nonnegative(),
  }),
  /** `applied`: events with the stocks that change follow. */
  InventoryClosed: eventType('inventory', { status: z.enum(['applied', 'discarded']) }),
  /** Stocks that a closed inventory changes, up to 1,000; `before` is null if it starts the tracking. */
  InventoryApplied: eventType('inventory', {
    stocks: z.array(
      z.strictObject({ catalog_item_id: id, before: quantity.nullable(), after: quantity, counted_at: instant }),
    ),
  }),
} as const
