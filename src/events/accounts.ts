import { z } from 'zod'
import { date, eventType, id, instant, money, personal, text } from './define.ts'

/** Origin of an account; the sale manages a `sale` one (a sale on credit made it). */
export const ACCOUNT_ORIGINS = ['api', 'pdv', 'sale'] as const

const account = { external_id: text.nullable(), description: text, amount: money, due_date: date }

/** Counterparty, named as of the event; all null if there is none. */
const customer = {
  customer_id: id.nullable(),
  customer_external_id: text.nullable(),
  customer_name: personal(text, 'identity', { kind: 'customer', id: 'customer_id' }),
}
const supplier = {
  supplier_id: id.nullable(),
  supplier_external_id: text.nullable(),
  supplier_name: personal(text, 'identity', { kind: 'supplier', id: 'supplier_id' }),
}

/**
 * Full settlement only. The accounting date is recorded, so that a later change of time zone leaves the books
 * unchanged.
 */
const settlement = {
  paid_at: instant,
  /** Day of `paid_at` in the company's time zone. */
  settled_on: date,
  /** A code of /finance/payment-methods, or a text of the client. */
  payment_method: text,
}

const origin = { origin: z.enum(ACCOUNT_ORIGINS), sale_id: id.nullable() }
const receivable = { ...account, ...customer }
const payable = { ...account, ...supplier }

export const accountEvents = {
  ReceivableCreated: eventType('receivable', { ...receivable, ...origin }),
  ReceivableUpdated: eventType('receivable', { changes: z.strictObject(receivable).partial() }),
  ReceivableDeleted: eventType('receivable', {}),
  /** PUT by-external revived a deleted receivable, with the fields of the PUT. */
  ReceivableRevived: eventType('receivable', receivable),
  ReceivableSettled: eventType('receivable', settlement),
  PayableCreated: eventType('payable', { ...payable, ...origin }),
  PayableUpdated: eventType('payable', { changes: z.strictObject(payable).partial() }),
  PayableDeleted: eventType('payable', {}),
  /** As ReceivableRevived. */
  PayableRevived: eventType('payable', payable),
  PayableSettled: eventType('payable', settlement),
} as const
