import { z } from 'zod'
import { eventType, id, instant, money, personal, quantity, text } from './define.ts'

/** A party as it was called at the time of the event. */
const party = z.strictObject({ id, external_id: text.nullable(), name: personal(text) })

const item = z.strictObject({
  /** Null for an ad-hoc item. */
  catalog_item_id: id.nullable(),
  external_id: text.nullable(),
  description: text,
  quantity,
  unit_price: money,
  total: money,
  /** Whether the sale debited stock: the item was tracked then. */
  moves_stock: z.boolean(),
})

const payment = z.strictObject({
  payment_type_id: id,
  name: text,
  /** Gross value charged to the customer. */
  amount: money,
  /** Part of the amount, never added on top. */
  surcharge: money,
  net: money,
})

export const saleEvents = {
  SaleCompleted: eventType('sale', {
    external_id: text.nullable(),
    customer: party.nullable(),
    sold_at: instant,
    items: z.array(item),
    payments: z.array(payment),
    subtotal: money,
    delivery_fee: money,
    total: money,
    change: money,
  }),
  SaleCancelled: eventType('sale', {
    reason: text.nullable(),
    /** What goes back to stock: the items that moved it and are still tracked. */
    restock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
  }),
  FiscalDocumentAuthorized: eventType('sale', { number: text, issued_at: instant }),
} as const
