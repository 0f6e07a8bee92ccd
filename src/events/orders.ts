import { z } from 'zod'
import { DISPUTE_STATUSES, ORDER_STATUSES } from '#domain/orders.ts'
import { eventType, id, instant, money, percentage, personal, quantity, text } from './define.ts'
import { line } from './sales.ts'

/** Why somebody should look at an order: money came in that it did not ask for. */
export const ORDER_ALARMS = ['second_payment', 'paid_after_refund', 'paid_after_cancellation'] as const

const customer = z.strictObject({
  /** Both absent from old events; null of a buyer who is no customer of the company. */
  id: id.nullable().optional(),
  external_id: text.nullable().optional(),
  name: personal(text, 'identity'),
  email: personal(text, 'contact'),
  document: personal(text, 'identity'),
})

/** Opens the provider's page of the payment, which shows the payer. */
const ticket_url = personal(text, 'contact')

/** What a buyer needs to pay a Pix; the picture is a PNG in Base64. */
const pix = z.strictObject({ qr_code: text, qr_code_base64: text.nullable(), ticket_url })
const boleto = z.strictObject({ barcode: text, digitable_line: text.nullable(), ticket_url })
const card = z.strictObject({ last_four: personal(text, 'identity'), installments: z.int().positive().nullable() })

/** Names one of the order's payments, by the provider's id of it. */
const ofPayment = { provider_payment_id: text }

export const orderEvents = {
  /** An order moves no stock and makes no sale. */
  OrderPlaced: eventType('order', {
    external_id: text.nullable(),
    store_id: id,
    store_alias: text,
    customer,
    items: z.array(line),
    subtotal: money,
    delivery_fee: money,
    total: money,
  }),
  /** An attempt to pay, recorded before the provider hears of it. The same attempt starts again after it was refused. */
  PaymentStarted: eventType('order', {
    /** The provider's idempotency key: however often it is asked, it charges this attempt once. */
    attempt_id: z.uuid(),
    /** Of the request; one key means one attempt. */
    idempotency_key: text.nullable(),
    payment_method_id: text,
    amount: money,
    /** Of a card; absent of other methods and from old events. */
    installments: z.int().positive().optional(),
    /** When the time to pay is over; absent of cards and from old events. */
    expires_at: instant.optional(),
    /** In force for this attempt, whatever the store agrees on later: the provider is told the commission with it. */
    commission_percentage: percentage,
  }),
  /** The provider made no payment of the attempt. */
  PaymentRefused: eventType('order', { attempt_id: z.uuid(), reason: text }),
  /** A payment as the provider has it: new, in another state, or found to belong to an attempt. */
  PaymentRecorded: eventType('order', {
    ...ofPayment,
    /** Null when none of ours is known to have made it. */
    attempt_id: z.uuid().nullable(),
    /** For its commission; that of the attempt, if there is one. */
    commission_percentage: percentage,
    /** In the provider's words. */
    provider_status: text,
    status_detail: text.nullable(),
    /** In ours. */
    status: z.enum(ORDER_STATUSES),
    live_mode: z.boolean(),
    /** What there is to pay with, told once; absent where it is known, of other methods and from old events. */
    pix: pix.optional(),
    boleto: boleto.optional(),
    card: card.optional(),
    /** Given back of it so far; absent where nothing was, and from old events. */
    refunded: money.optional(),
    dispute: z.enum(DISPUTE_STATUSES).optional(),
    /** When the provider last changed it; absent where it does not say, and from old events. */
    changed_at: instant.optional(),
  }),
  /** Somebody wants money to be given back, recorded before the provider hears of it. The same refund starts again after it was refused. */
  OrderRefundRequested: eventType('order', {
    ...ofPayment,
    /** The provider's idempotency key: however often it is asked, it gives back once. */
    refund_id: z.uuid(),
    /** Of the request; one key means one refund. */
    idempotency_key: text,
    amount: money,
    /** Goods that come back with it. */
    restock: z.array(z.strictObject({ catalog_item_id: id, quantity })),
  }),
  /** The provider gave nothing back. */
  OrderRefundRefused: eventType('order', { refund_id: z.uuid(), reason: text }),
  OrderRefundCompleted: eventType('order', { refund_id: z.uuid(), provider_refund_id: text }),
  /** A part was given back, or one payment of several: the order stays paid. `refunded` is of the payment so far. */
  OrderPartiallyRefunded: eventType('order', { ...ofPayment, refunded: money }),
  OrderAlarmRaised: eventType('order', { ...ofPayment, code: z.enum(ORDER_ALARMS) }),
  /** Somebody, the event's actor, has seen to the alarm that the payment raised. */
  OrderAlarmAcknowledged: eventType('order', ofPayment),
  /** Released: goods may leave. `provider_payment_id` is the payment that did it. */
  OrderPaid: eventType('order', ofPayment),
  /** Waits for a payment again, after another one failed, was cancelled or given back. */
  OrderPending: eventType('order', ofPayment),
  OrderFailed: eventType('order', ofPayment),
  /** What the provider tells of a payment; a store that gives up an order is the next one. */
  OrderCancelled: eventType('order', ofPayment),
  /** Nobody paid in time; it can be tried again. */
  OrderExpired: eventType('order', ofPayment),
  OrderCancelledByStore: eventType('order', { reason: text.nullable() }),
  OrderRefunded: eventType('order', ofPayment),
  /** The goods were handed over. */
  OrderDelivered: eventType('order', {}),
  /** The payment carries the order from now on, and is shared: amount + store_amount is what was paid. */
  CommissionSplit: eventType('order', { ...ofPayment, percentage, amount: money, store_amount: money }),
  /** The payment that carried the order was given back, and with it the service's share. */
  CommissionReversed: eventType('order', ofPayment),
} as const
