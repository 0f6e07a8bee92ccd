import * as z from 'zod'
import { eventType, id, instant, quantity, text } from './define.ts'

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
