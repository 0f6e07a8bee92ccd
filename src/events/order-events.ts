import * as z from 'zod'
import { DELIVERY_METHODS, DISPUTE_STATUSES, ORDER_STATUSES } from '#domain/order-states.ts'
import {
  eventType,
  id,
  instant,
  metadata,
  money,
  percentage,
  personal,
  quantity,
  signedMoney,
  text,
} from './event-definitions.ts'
import { postalAddress } from './person-events.ts'
import { saleLine } from './sale-events.ts'

/** Alarms: money moved that the order does not expect, or its sale needs a person. */
export const ORDER_ALARMS = [
  'second_payment',
  'paid_after_refund',
  'paid_after_cancellation',
  'refund_after_refusal',
  /** The sale took more from stock than there was. */
  'stock_short',
  /** The sale was cancelled with its payment although its fiscal document is in force. */
  'fiscal_document_issued',
  /** A charge brought more than the account owed by then. */
  'account_overpaid',
] as const

const customer = z.strictObject({
  /** Both null if the buyer is not a customer of the company. */
  id: id.nullable(),
  external_id: text.nullable(),
  name: personal(text, 'identity'),
  email: personal(text, 'contact'),
  document: personal(text, 'identity'),
  phone: personal(text, 'contact'),
})

const delivery = z.strictObject({
  method: z.enum(DELIVERY_METHODS),
  /** When the buyer expects the goods; null if nothing was agreed. */
  due_at: instant.nullable(),
  /** Null for pick-up. */
  address: personal(postalAddress, 'contact'),
})

/** Link to the provider's payment page, which shows the payer. */
const ticket_url = personal(text, 'contact')

/** Payment details of a Pix; the image is a PNG in Base64. */
const pix = z.strictObject({ qr_code: text, qr_code_base64: text.nullable(), ticket_url })
const boleto = z.strictObject({ barcode: text, digitable_line: text.nullable(), ticket_url })
const card = z.strictObject({ last_four: personal(text, 'identity'), installments: z.int().positive().nullable() })

/** Payment of the order, by its provider id. */
const ofPayment = { provider_payment_id: text }

export const orderEvents = {
  /** An unpaid order moves no stock; SaleCompleted records the sale of a paid one. */
  OrderPlaced: eventType('order', {
    external_id: text.nullable(),
    store_id: id,
    store_alias: text,
    customer,
    items: z.array(saleLine),
    subtotal: money,
    delivery_fee: money,
    total: money,
    /** Account that it charges instead of a sale; absent if it sells. */
    receivable_id: id.optional(),
    /** Absent if it was left open. */
    delivery: delivery.optional(),
    /** Absent if empty. */
    metadata: personal(metadata, 'contact').optional(),
  }),
  /** Payment attempt, recorded before the provider is called. A refused attempt may start again. */
  PaymentStarted: eventType('order', {
    /** Idempotency key at the provider: repeated calls charge this attempt once. */
    attempt_id: z.uuid(),
    /** Key of the request; one key identifies one attempt. */
    idempotency_key: text.nullable(),
    payment_method_id: text,
    amount: money,
    /** Cards only. */
    installments: z.int().positive().optional(),
    /** Payment deadline; absent for cards. */
    expires_at: instant.optional(),
    /**
     * Fixed for this attempt, because the provider receives the commission with it; later changes of the store do not
     * apply.
     */
    commission_percentage: percentage,
  }),
  /** The provider made no payment for the attempt. */
  PaymentRefused: eventType('order', { attempt_id: z.uuid(), reason: text }),
  /** Payment as reported by the provider: new, with a new state, or newly matched to an attempt. */
  PaymentRecorded: eventType('order', {
    ...ofPayment,
    /** Null if no known attempt made it. */
    attempt_id: z.uuid().nullable(),
    /** For its commission; taken from the attempt if there is one. */
    commission_percentage: percentage,
    /** In the provider's terms. */
    provider_status: text,
    status_detail: text.nullable(),
    /** Own status. */
    status: z.enum(ORDER_STATUSES),
    live_mode: z.boolean(),
    /** Payment details, recorded once; absent if already known, and for other methods. */
    pix: pix.optional(),
    boleto: boleto.optional(),
    card: card.optional(),
    /** Refunded so far; absent if nothing was. */
    refunded: money.optional(),
    dispute: z.enum(DISPUTE_STATUSES).optional(),
    /** Payment deadline, if another one than known: that of an earlier call for the attempt. */
    expires_at: instant.optional(),
    /** Last change at the provider; absent if not reported. */
    changed_at: instant.optional(),
  }),
  /** Requested refund, recorded before the provider is called. A refused refund may start again. */
  OrderRefundRequested: eventType('order', {
    ...ofPayment,
    /** Idempotency key at the provider: repeated calls refund once. */
    refund_id: z.uuid(),
    /** Key of the request; one key identifies one refund. */
    idempotency_key: text,
    amount: money,
    /** Goods returned to stock with the refund. */
    restock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
  }),
  /** The provider is about to be called. `listed`: refunds that it already had of this payment. */
  OrderRefundPrepared: eventType('order', { refund_id: z.uuid(), listed: z.array(text) }),
  /** The provider took the refund, and has not decided yet. */
  OrderRefundAccepted: eventType('order', { refund_id: z.uuid(), provider_refund_id: text }),
  /** The provider refunded nothing. */
  OrderRefundRefused: eventType('order', { refund_id: z.uuid(), reason: text }),
  OrderRefundCompleted: eventType('order', { refund_id: z.uuid(), provider_refund_id: text }),
  /**
   * Partial refund, or refund of one payment of several: the order stays paid. `refunded` is the payment's sum so far.
   */
  OrderPartiallyRefunded: eventType('order', { ...ofPayment, refunded: money }),
  OrderAlarmRaised: eventType('order', { ...ofPayment, code: z.enum(ORDER_ALARMS) }),
  /** The event's actor acknowledged the alarm of this payment. */
  OrderAlarmAcknowledged: eventType('order', ofPayment),
  /**
   * What a charge brought beyond its account became store credit: `credited` so far. `amount` is negative where the money
   * went back since.
   */
  OrderSurplusCredited: eventType('order', {
    ...ofPayment,
    credit: z.strictObject({ customer_id: id, amount: signedMoney }),
    credited: money,
  }),
  /** Released: the goods may be handed over. `provider_payment_id`: the payment that released it. */
  OrderPaid: eventType('order', ofPayment),
  /** Pending again, after another payment failed, was cancelled or refunded. */
  OrderPending: eventType('order', ofPayment),
  OrderFailed: eventType('order', ofPayment),
  /** Reported by the provider. OrderCancelledByStore records a cancellation by the store. */
  OrderCancelled: eventType('order', ofPayment),
  /** The payment expired; the order can be paid by a new attempt. */
  OrderExpired: eventType('order', ofPayment),
  OrderCancelledByStore: eventType('order', { reason: text.nullable() }),
  OrderRefunded: eventType('order', ofPayment),
  /** The goods left for the buyer, or wait to be picked up. */
  OrderDispatched: eventType('order', {}),
  OrderDelivered: eventType('order', {}),
  /** The order was marked as dispatched or delivered by mistake: it is to be done again. */
  OrderDeliveryUndone: eventType('order', {}),
  /** The payment now carries the order and is split: amount + store_amount is the paid amount. */
  CommissionSplit: eventType('order', { ...ofPayment, percentage, amount: money, store_amount: money }),
  /** The carrying payment was refunded, and the commission with it. */
  CommissionReversed: eventType('order', ofPayment),
} as const
