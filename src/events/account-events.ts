import * as z from 'zod'
import { ACCOUNT_PAYMENT_KINDS } from '#domain/payment-rules.ts'
import { date, eventType, id, instant, metadata, money, personal, text } from './event-definitions.ts'
import { settling } from './sale-events.ts'

/** Origin of an account; the sale manages a `sale` one (a sale on credit made it). */
export const ACCOUNT_ORIGINS = ['api', 'pdv', 'sale'] as const

const account = { external_id: text.nullable(), description: text, amount: money, due_date: date }

/** Counterparty, named as of the event; all null if there is none. */
const customer = {
  customer_id: id.nullable(),
  customer_external_id: text.nullable(),
  customer_name: personal(text, 'identity', { kind: 'customer', id: 'customer_id' }),
  /** Of the account; sealed for its customer. Absent if empty, null in changes. */
  metadata: personal(metadata, 'contact', { kind: 'customer', id: 'customer_id' }).optional(),
}
const supplier = {
  supplier_id: id.nullable(),
  supplier_external_id: text.nullable(),
  supplier_name: personal(text, 'identity', { kind: 'supplier', id: 'supplier_id' }),
  /** As of a receivable. */
  metadata: personal(metadata, 'contact', { kind: 'supplier', id: 'supplier_id' }).optional(),
}

/** The accounting date is recorded, so that a later change of time zone leaves the books unchanged. */
const settlement = {
  paid_at: instant,
  /** Day of `paid_at` in the company's time zone. */
  settled_on: date,
  /** A code of /finance/payment-methods, or another text; null if it was not said, and of goods that came back. */
  payment_method: text.nullable(),
}

/** A payment of an account. Its id is the revision of the event. */
const payment = {
  kind: z.enum(ACCOUNT_PAYMENT_KINDS),
  /** The part of the account that it covers; received is amount + interest + fine - discount + excess. */
  amount: money,
  interest: money,
  fine: money,
  discount: money,
  /** What a till received beyond the open amount. */
  excess: money,
  paid_at: instant,
  /** Day of `paid_at` in the company's time zone. */
  paid_on: date,
  payment_method: text.nullable(),
  /** First payment of several accounts that were paid together; its id is the number of their receipt. */
  receipt: id.optional(),
  /** Cash session of the till that received it. */
  cash_session_id: text.optional(),
  /** Order by whose link it was paid. */
  order_id: id.optional(),
  /** User who approved the discount on the spot. */
  approved_by: id.optional(),
  /** What an acquirer keeps and pays of it, if it was received by card. */
  acquired: z.strictObject({ payment_type_id: id, acquirer_fee: money, ...settling }).optional(),
}

/** The account owes again what the payment covered. */
const reversal = {
  payment_id: id,
  reason: text,
  /** What left the drawer of the cash session `id`, which had received it and was not closed. */
  from_drawer: z.strictObject({ id, amount: money }).optional(),
}

/**
 * One of several accounts that were created together; `group` is the id of the first. `repeats`: a bill of each month,
 * and no part of one.
 */
const installment = z.strictObject({
  group: id,
  number: z.int().positive(),
  count: z.int().positive(),
  repeats: z.literal(true).optional(),
})

/** What the customer owes less without having paid, and the user who approved it on the spot; absent if nothing. */
const forgiven = { discount: money.optional(), approved_by: id.optional() }

const origin = { origin: z.enum(ACCOUNT_ORIGINS), sale_id: id.nullable(), installment: installment.optional() }
const receivable = { ...account, ...customer }
const payable = { ...account, ...supplier }

export const accountEvents = {
  ReceivableCreated: eventType('receivable', { ...receivable, ...origin }),
  ReceivableUpdated: eventType('receivable', { changes: z.strictObject(receivable).partial(), ...forgiven }),
  /** Without a discount if the sale was cancelled. */
  ReceivableDeleted: eventType('receivable', forgiven),
  /** PUT by-external revived a deleted receivable, with the fields of the PUT. */
  ReceivableRevived: eventType('receivable', receivable),
  ReceivablePaymentReceived: eventType('receivable', payment),
  ReceivablePaymentReversed: eventType('receivable', reversal),
  /** The payments cover the whole account; announces it, and changes nothing by itself. */
  ReceivableSettled: eventType('receivable', settlement),
  PayableCreated: eventType('payable', { ...payable, ...origin }),
  PayableUpdated: eventType('payable', { changes: z.strictObject(payable).partial() }),
  PayableDeleted: eventType('payable', {}),
  /** As ReceivableRevived. */
  PayableRevived: eventType('payable', payable),
  PayablePaymentMade: eventType('payable', payment),
  PayablePaymentReversed: eventType('payable', reversal),
  /** As ReceivableSettled. */
  PayableSettled: eventType('payable', settlement),
} as const
