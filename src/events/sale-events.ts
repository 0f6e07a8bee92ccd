import * as z from 'zod'
import { FISCAL_CODES, type FiscalCodes } from '#domain/fiscal-values.ts'
import { CARD_BRANDS } from '#domain/payment-rules.ts'
import {
  date,
  eventType,
  id,
  instant,
  metadata,
  money,
  personal,
  quantity,
  signedMoney,
  text,
} from './event-definitions.ts'
import { CHAIN_WARNINGS } from './till-events.ts'

/** Party, named as of the event. */
const party = z.strictObject({
  id,
  external_id: text.nullable(),
  name: personal(text, 'identity', { kind: 'customer', id: 'id' }),
})

/** Priced line of a sale or order. */
export const saleLine = z.strictObject({
  /** Null for an ad-hoc item. */
  catalog_item_id: id.nullable(),
  external_id: text.nullable(),
  description: text,
  quantity,
  unit_price: money,
  total: money,
})

/** Codes for fiscal documents, as they were when sold; absent if the item had none. */
const fiscalCodes = Object.fromEntries(FISCAL_CODES.map((field) => [field, text.optional()])) as Record<
  keyof FiscalCodes,
  z.ZodOptional<typeof text>
>

const item = saleLine.extend({
  ...fiscalCodes,
  /** Whether the sale debited stock, i.e. the item was tracked. */
  moves_stock: z.boolean(),
})

const card = z.strictObject({
  brand: z.enum(CARD_BRANDS).nullable(),
  nsu: text.nullable(),
  authorization: text.nullable(),
  installments: z.int().positive().nullable(),
  acquirer_cnpj: text.nullable(),
  integrated: z.boolean().nullable(),
})

/** When an acquirer pays the rest of a payment; absent if unknown. */
export const settling = {
  /** The first day. */
  settles_on: date.optional(),
  /** Its payments, on working days: one for each instalment. */
  settlements: z.array(z.strictObject({ due_on: date, net: money })).optional(),
  /** Present if the fee comes back with what is given back on the card. */
  acquirer_fee_refunded: z.literal(true).optional(),
}

const payment = z.strictObject({
  payment_type_id: id,
  name: text,
  /** Amount handed over, change included. */
  amount: money,
  /** Net + surcharge is the charged amount; the surcharge is part of it, not added on top. */
  surcharge: money,
  net: money,
  /** Of a card or a Pix, if known. */
  card: card.optional(),
  end_to_end_id: text.optional(),
  /** Part of the charged amount that the acquirer keeps; absent if the payment type names no acquirer. */
  acquirer_fee: money.optional(),
  ...settling,
})

/**
 * Person who sold, named as of the sale; absent if unknown. A name without a user identifies no record: it is not
 * sealed, and stays.
 */
const seller = z
  .strictObject({
    user_id: id.nullable(),
    name: personal(text, 'identity', { kind: 'user', id: 'user_id' }),
  })
  .optional()

/** A part of the money that went back, and the payment type by which it did, named as of the event. */
const moneyBack = z.strictObject({ payment_type_id: id, name: text, amount: money })

/** Status of an uploaded sale and of each of its payments. */
export const OFFLINE_SALE_STATUSES = ['completed', 'cancelled'] as const
export const OFFLINE_PAYMENT_STATUSES = ['completed', 'pending'] as const

/** `contingency`: issued, and not authorized yet. */
export const FISCAL_DOCUMENT_STATUSES = ['authorized', 'cancelled', 'contingency'] as const

/** Problems of an uploaded sale, which is recorded nevertheless because it happened. */
export const OFFLINE_SALE_WARNINGS = [
  'negative_stock',
  'quantity_not_whole',
  'price_differs',
  'product_deactivated',
  'payment_pending',
  'change_without_cash',
  'session_of_other',
  'created_at_in_future',
  'created_at_old',
  'cancelled_at_before_sale',
  'cancelled_at_in_future',
  'line_total_rounded',
  'line_discount',
  'discount',
  'total_rounded',
  'amount_received_differs',
  'credit_exceeded',
  'voucher_expired',
  'discount_limit_exceeded',
  'payment_already_used',
  'customer_unknown',
  'customer_deleted',
  'customer_forgotten',
  'product_unknown',
  'payment_type_unknown',
  'recorded_as_is',
  'recorded_corrected',
  'recorded_from_receipt',
  'access_ended',
  ...CHAIN_WARNINGS,
] as const

const warning = z.strictObject({
  code: z.enum(OFFLINE_SALE_WARNINGS),
  /** Product concerned, if any. */
  product_id: id.nullable(),
  /**
   * `found`: value sent or its result, such as the price, or the stock after the sale. `expected`: value known to the
   * service. For sales recorded by a person, `found` is the reason.
   */
  found: text.nullable(),
  expected: text.nullable(),
  /** Of `payment_already_used`: the sale that the Pix or card in `found` paid before. */
  sale_id: id.optional(),
})

/**
 * Problems of a sale that is no upload: of a paid order, that stock was short; of one from before, that it is old; of
 * one whose Pix or card transaction another sale has, that the money came once.
 */
export const SALE_WARNINGS = ['stock_short', 'sold_at_old', 'payment_already_used'] as const

const saleWarnings = z.array(
  z.strictObject({
    code: z.enum(SALE_WARNINGS),
    /** Of `stock_short`; `available` is the stock before the sale. */
    catalog_item_id: id.optional(),
    requested: quantity.optional(),
    available: quantity.optional(),
    /** Of `payment_already_used`: the other sale. */
    sale_id: id.optional(),
  }),
)

/** Marks sales of a test company, so that their receipts cannot pass for those of real sales; absent otherwise. */
const test = z.boolean().optional()

/** A sale made at a till without a connection, and uploaded later. */
const offlineSale = {
  test,
  /** Identifier of the sale, given by the till. */
  offline_id: text,
  /** SHA-256 (hex) of the uploaded sale, which detects repeated uploads. */
  fingerprint: text,
  sold_at: instant,
  customer: party.nullable(),
  /** The user of the till. */
  seller,
  /** Cash session of the till, which may be opened later; absent if the till named none. */
  cash_session_id: text.optional(),
  /** The item's total already includes its discount. */
  items: z.array(item.extend({ discount: money })),
  payments: z.array(
    z.strictObject({ ...payment.shape, status: z.enum(OFFLINE_PAYMENT_STATUSES), voucher: text.optional() }),
  ),
  /** Deducted from the sum of the items. */
  discount: money,
  total: money,
  amount_received: money,
  change: money,
  warnings: z.array(warning),
}

/** Money that an uploaded sale took: nothing on credit, pending, of promotions or cashback, nor credit that was not there. */
const received = money

/** Problems of an uploaded return, which is recorded nevertheless because it happened. */
export const OFFLINE_RETURN_WARNINGS = [
  'refund_differs',
  'receivable_open',
  'credit_without_customer',
  'session_of_other',
  'returned_at_in_future',
  'at_old',
  ...CHAIN_WARNINGS,
] as const

/** Why an uploaded return is not recorded until a person has decided. */
export const RETURN_REFUSALS = [
  /** There is no such sale, or the user may not see it. */
  'sale_unknown',
  'too_many_waiting',
  'expired',
  'sale_cancelled',
  /** More goods than are left of the sale. */
  'already_returned',
  /** More money than is due. */
  'payment_mismatch',
  /** Above the limit of the user's role. */
  'permission_required',
  /** Made after the end of the user's access. */
  'access_ended',
] as const

const returnWarning = z.strictObject({
  code: z.enum(OFFLINE_RETURN_WARNINGS),
  /** Position in the sale's items, from 0; null if the warning is about the whole return. */
  line: z.int().min(0).nullable(),
  found: text.nullable(),
  expected: text.nullable(),
})

/** Store credit without a customer, of who has the voucher; absent if there is none. */
const voucher = text.optional()
const vouchers = z.array(z.strictObject({ voucher: text, amount: money })).optional()

/** `voucher_until`: the voucher's last day, as it is printed. */
const refund = z.strictObject({
  payment_type_id: id,
  name: text,
  amount: money,
  voucher,
  voucher_until: date.optional(),
})

/** Store credit of a customer, in a sale or a return. */
const credit = z.strictObject({ customer_id: id, amount: money }).optional()

/** Goods of a sale that came back, or a part of them, and how their price was given back. */
const returnedLine = z.strictObject({
  /** Position in the sale's items, from 0. */
  line: z.int().min(0),
  catalog_item_id: id.nullable(),
  description: text,
  quantity,
  /** Its share of what was paid for the line. */
  amount: money,
  /** False if the goods do not go back to stock. */
  restock: z.boolean(),
})

const saleReturn = {
  sale_id: id,
  external_id: text.nullable(),
  reason: text,
  returned_at: instant,
  items: z.array(returnedLine),
  /** Part of the delivery fee given back. */
  delivery_fee: money,
  /** Amounts of the items + delivery fee = sum of the refunds. */
  total: money,
  refunds: z.array(refund),
  /** Stock that came back, of items that are still tracked. */
  stock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
  /** Store credit given to a customer, a part of the refunds; absent if there is none. */
  credit,
  /** Session of the till's drawer, named by the till. */
  cash_session_id: text.nullable(),
  /** Of uploads of tills: the till's identifier, and the SHA-256 (hex) of the upload; absent otherwise. */
  offline_id: text.optional(),
  fingerprint: text.optional(),
  /** Of an upload that waited for its sale, or was refused before: who uploaded it; absent otherwise. */
  returned_by: id.optional(),
  /** Of an upload that named its sale by its till's identifier, and waited or was refused; absent otherwise. */
  sale_offline_id: text.optional(),
  warnings: z.array(returnWarning).optional(),
  /** User who approved it on the spot, above the limit of the role; absent if none was needed. */
  approved_by: id.optional(),
  test,
}

/** Return as a till uploaded it, which is not recorded yet. */
const uploadedReturn = {
  /** Identifier of the sale, given by its till, or by the service. */
  sale_offline_id: text.nullable(),
  sale_id: id.nullable(),
  offline_id: text,
  fingerprint: text,
  /** Who was logged in at the till. */
  user_id: id,
  reason: text,
  returned_at: instant,
  items: z.array(z.strictObject({ line: z.int().min(0), quantity, restock: z.boolean() })),
  refunds: z.array(refund),
  /** Parts of the refunds that lower what is owed for the sale, and that are store credit. */
  on_credit: money,
  store_credit: money,
  /** Who gets store credit, if not the sale's customer. */
  customer_id: id.nullable(),
  /** Its drawer gave the money back, whatever becomes of the return. */
  cash_session_id: text.nullable(),
}

/** All known fields of a document from now on. */
const fiscalDocument = {
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
}

/**
 * Who cancelled a sale of which session at a till: openings and closings that come later may tell another drawer.
 * `owner_id`: whose session it is, or who sold if it is not known yet.
 */
const timedDrawer = z.strictObject({ session_id: text, user_id: id, owner_id: id.nullable() })

export const saleEvents = {
  SaleCompleted: eventType('sale', {
    external_id: text.nullable(),
    customer: party.nullable(),
    seller,
    sold_at: instant,
    /** The item's total already includes its discount, which is absent if there is none. */
    items: z.array(item.extend({ discount: money.optional() })),
    payments: z.array(payment),
    subtotal: money,
    /** Deducted from the subtotal; absent if there is none. */
    discount: money.optional(),
    delivery_fee: money,
    total: money,
    change: money,
    test,
    /** Sealed for the customer. Absent if empty. */
    metadata: personal(metadata, 'contact', { kind: 'customer', id: 'customer.id' }).optional(),
    /** Absent for sales of integrations. */
    order_id: id.optional(),
    warnings: saleWarnings.optional(),
  }),
  /**
   * The provider gave back a part of what the sale's order paid: `amount`, and `refunded` so far. `amount` is negative
   * where another payment, of which less was given back, takes the place of the refunded one.
   */
  SaleRefunded: eventType('sale', {
    order_id: id,
    provider_payment_id: text,
    amount: signedMoney,
    refunded: money,
  }),
  /** Goods of the sale came back with a refund of its order; `amount`: their part of what was paid for the line. */
  SaleRestocked: eventType('sale', {
    order_id: id,
    items: z.array(returnedLine),
  }),
  /** `receivable_ids`: receivables of its credit payments, created by the events that follow. */
  OfflineSaleCompleted: eventType('sale', {
    ...offlineSale,
    received,
    receivable_ids: z.array(id),
    /** Store credit of its customer that it was paid with; absent if there is none. */
    credit,
  }),
  /** Cancelled at the till before the upload; it moved no stock. */
  OfflineSaleCancelled: eventType('sale', {
    ...offlineSale,
    /** By the till's clock; absent if it did not say it. */
    cancelled_at: instant.optional(),
    /** Session that gave the money back, null if none did; absent: that of the sale. */
    cancel_session_id: text.nullable().optional(),
    timed_drawer: timedDrawer.optional(),
  }),
  SaleReturned: eventType('return', saleReturn),
  /** A till uploaded a return before its sale: `SaleReturned` or `ReturnRefused` follows with the sale. */
  ReturnAwaited: eventType('return', uploadedReturn),
  /** A person records it, by `SaleReturned`, or resolves it otherwise. */
  ReturnRefused: eventType('return', { ...uploadedReturn, code: z.enum(RETURN_REFUSALS) }),
  RefusedReturnResolved: eventType('return', {
    offline_id: text,
    user_id: id,
    sale_offline_id: text.nullable(),
    note: text.nullable(),
  }),
  /** A return that was recorded by mistake: goods, money, accounts and credit are as if it had not been. */
  ReturnReversed: eventType('return', {
    sale_id: id,
    reason: text,
    /** Of the return: what the sale has sold again. */
    items: z.array(z.strictObject({ line: z.int().min(0), quantity, amount: money })),
    delivery_fee: money,
    total: money,
    /** Stock that the goods leave again. */
    stock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
    /** Store credit that is taken back; absent if there was none. */
    credit,
    vouchers,
    /** Whether the drawer that gave the money back is still open, and has it. */
    is_in_drawer: z.boolean(),
    approved_by: id.optional(),
  }),
  SaleCancelled: eventType('sale', {
    reason: text.nullable(),
    /** User who approved it on the spot, if its actor may not cancel the sale. */
    approved_by: id.optional(),
    /** Returned stock: items that the sale debited and that are still tracked. */
    restock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
    /** Store credit given back to the customer; absent if there is none. */
    credit,
    vouchers,
    /** Cash session that gives the money back; absent if none is known. */
    cash_session_id: text.optional(),
    /** By the clock of the till that cancelled it; absent if it did not say it. */
    cancelled_at: instant.optional(),
    timed_drawer: timedDrawer.optional(),
    /** How the money went back; absent if it was not stated. */
    refunds: z.array(moneyBack).optional(),
  }),
  /** An opening or closing that came later tells which session gave the money of a cancelled sale back; null: none. */
  SaleCancellationMoved: eventType('sale', { cash_session_id: text.nullable() }),
  /** A sale on credit that was made without a customer has one from now on, and its receivables too. */
  SaleCustomerAssigned: eventType('sale', { customer: party }),
  /** All known fields of the document from now on. */
  FiscalDocumentRecorded: eventType('sale', fiscalDocument),
  /** Document of the goods' entry, or of the credit, issued for a return. */
  ReturnDocumentRecorded: eventType('return', fiscalDocument),
} as const
