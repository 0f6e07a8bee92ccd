import { z } from 'zod'
import { PAYMENT_METHODS } from '#domain/payment-method.ts'
import { date, eventType, id, instant, money, personal, text } from './define.ts'

/** Where an account comes from: `sale` ones were made by a sale on credit, which keeps them. */
export const ACCOUNT_ORIGINS = ['api', 'pdv', 'sale'] as const

const account = { external_id: text.nullable(), description: text, amount: money, due_date: date }

/** The other party as it was called at the time of the event; all null where there is none. */
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

/** Full settlement only. The accounting date is decided once, so that a company that moves to another zone keeps its books. */
const settlement = {
  paid_at: instant,
  /** The day of `paid_at` on the company's calendar. */
  settled_on: date,
  payment_method: z.enum(PAYMENT_METHODS),
}

const origin = { origin: z.enum(ACCOUNT_ORIGINS), sale_id: id.nullable() }
const receivable = { ...account, ...customer }
const payable = { ...account, ...supplier }

/** What is to be received from customers and to be paid to suppliers. */
export const accountEvents = {
  ReceivableCreated: eventType('receivable', { ...receivable, ...origin }),
  ReceivableUpdated: eventType('receivable', { changes: z.strictObject(receivable).partial() }),
  ReceivableDeleted: eventType('receivable', {}),
  /** A deleted receivable came back through PUT by-external, with the fields of the PUT. */
  ReceivableRevived: eventType('receivable', receivable),
  ReceivableSettled: eventType('receivable', settlement),
  PayableCreated: eventType('payable', { ...payable, ...origin }),
  PayableUpdated: eventType('payable', { changes: z.strictObject(payable).partial() }),
  PayableDeleted: eventType('payable', {}),
  /** As ReceivableRevived. */
  PayableRevived: eventType('payable', payable),
  PayableSettled: eventType('payable', settlement),
} as const
