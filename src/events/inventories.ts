import { z } from 'zod'
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
  /** `applied`: the movements follow. */
  InventoryClosed: eventType('inventory', { status: z.enum(['applied', 'discarded']) }),
} as const
