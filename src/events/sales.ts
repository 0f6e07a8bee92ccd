import { z } from 'zod'
import { eventType, id, instant, money, personal, quantity, text } from './define.ts'

/** A party as it was called at the time of the event. */
const party = z.strictObject({
  id,
  external_id: text.nullable(),
  name: personal(text, 'identity', { kind: 'customer', id: 'id' }),
})

/** What is sold or ordered, with its price. */
export const line = z.strictObject({
  /** Null for an ad-hoc item. */
  catalog_item_id: id.nullable(),
  external_id: text.nullable(),
  description: text,
  quantity,
  unit_price: money,
  total: money,
})

const item = line.extend({
  /** Whether the sale debited stock: the item was tracked then. */
  moves_stock: z.boolean(),
})

const payment = z.strictObject({
  payment_type_id: id,
  name: text,
  /** What the customer gave, change included. */
  amount: money,
  /** With the net what was charged: part of the amount, never added on top. */
  surcharge: money,
  net: money,
})

/** What a till may say of a sale and of each of its payments (UP-2). */
export const OFFLINE_SALE_STATUSES = ['completed', 'cancelled'] as const
export const OFFLINE_PAYMENT_STATUSES = ['completed', 'pending'] as const

/** `contingency`: issued, and not authorized yet. */
export const FISCAL_DOCUMENT_STATUSES = ['authorized', 'cancelled', 'contingency'] as const

/** What is odd about a sale that was recorded all the same, because it has happened. */
export const OFFLINE_SALE_WARNINGS = [
  'negative_stock',
  'price_differs',
  'product_deactivated',
  'payment_pending',
  'change_without_cash',
  'created_at_in_future',
  'line_total_rounded',
  'line_discount',
  'discount',
  'total_rounded',
  'amount_received_differs',
  'customer_unknown',
  'customer_deleted',
  'customer_forgotten',
  'product_unknown',
  'payment_type_unknown',
  'recorded_as_is',
  'recorded_corrected',
] as const

const warning = z.strictObject({
  code: z.enum(OFFLINE_SALE_WARNINGS),
  /** The product that it is about, if it is about one. */
  product_id: id.nullable(),
  /**
   * What the till sent or what came of it, as the price or the stock after the sale; and what the service knew instead. For
   * what a person has recorded: why.
   */
  found: text.nullable(),
  expected: text.nullable(),
})

/** A sale made at a till without a connection, and uploaded later. */
/** Of a test company, so that its receipts cannot be shown as those of a real sale; absent elsewhere. */
const test = z.literal(true).optional()

const offlineSale = {
  test,
  /** The till's own identifier of the sale. */
  offline_id: text,
  /** SHA-256 of all that the till said of it, in hex: a repeated upload is known by it. */
  fingerprint: text,
  sold_at: instant,
  /** Absent from sales of before 0.2, as are discounts, which were refused. */
  customer: party.nullable().optional(),
  /** The discount of an item is in its total already. */
  items: z.array(item.extend({ discount: money.optional() })),
  payments: z.array(z.strictObject({ ...payment.shape, status: z.enum(OFFLINE_PAYMENT_STATUSES) })),
  /** Taken off the sum of the items. */
  discount: money.optional(),
  total: money,
  amount_received: money,
  change: money,
  warnings: z.array(warning),
}

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
    test,
  }),
  /** `receivable_ids` are those that its credit-on-account payments made, in events that follow this one. */
  OfflineSaleCompleted: eventType('sale', { ...offlineSale, receivable_ids: z.array(id) }),
  /** It was cancelled at the till before it was uploaded, and has moved nothing. */
  OfflineSaleCancelled: eventType('sale', offlineSale),
  SaleCancelled: eventType('sale', {
    reason: text.nullable(),
    /** What goes back to stock: the items that moved it and are still tracked. */
    restock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
  }),
  /** Of version 0.1, which kept no more of a document; since then it is the next one. */
  FiscalDocumentAuthorized: eventType('sale', { number: text, issued_at: instant }),
  /** All that is known of the document from now on. */
  FiscalDocumentRecorded: eventType('sale', {
    /** Code of the tax authorities: 55, 65, 59 … */
    model: text.nullable(),
    series: text.nullable(),
    number: text,
    access_key: text.nullable(),
    protocol: text.nullable(),
    authorized_at: instant.nullable(),
    status: z.enum(FISCAL_DOCUMENT_STATUSES),
    xml_sha256: text.nullable(),
    xml_url: text.nullable(),
  }),
} as const
