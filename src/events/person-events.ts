import * as z from 'zod'
import { ACCOUNT_PAYMENT_KINDS } from '#domain/payment-rules.ts'
import { PERSON_KINDS, PERSON_PARTS } from '#domain/person-values.ts'
import { date, eventType, id, instant, metadata, money, personal, text } from './event-definitions.ts'
import { settling } from './sale-events.ts'

export const PERSON_TYPES = ['PF', 'PJ'] as const

export const IE_INDICATORS = ['1', '2', '9'] as const

/** Null where a part is not known. */
export const postalAddress = z.strictObject({
  zip: text.nullable(),
  street: text.nullable(),
  number: text.nullable(),
  complement: text.nullable(),
  district: text.nullable(),
  city: text.nullable(),
  state: text.nullable(),
})

/** Writable fields; null if empty. */
const person = {
  external_id: text.nullable(),
  name: personal(text, 'identity'),
  person_type: z.enum(PERSON_TYPES),
  document: personal(text, 'identity'),
  phone: personal(text, 'contact'),
  email: personal(text, 'contact'),
  address: personal(postalAddress, 'identity'),
  notes: personal(text, 'contact'),
  /** Absent if empty, null in changes. */
  metadata: personal(metadata, 'contact').optional(),
}

/** Fields of fiscal documents; absent if empty, null in changes. */
const customer = {
  ...person,
  state_registration: personal(text, 'identity').optional(),
  /** `indIEDest`: contributor of ICMS, exempt, not a contributor. */
  ie_indicator: z.enum(IE_INDICATORS).nullable().optional(),
}

export const customerEvents = {
  CustomerCreated: eventType('customer', customer),
  CustomerUpdated: eventType('customer', { changes: z.strictObject(customer).partial() }),
  CustomerDeleted: eventType('customer', {}),
  /** A till made or named this customer under an identifier of its own. */
  OfflineCustomerNamed: eventType('customer', { offline_id: text }),
  /** PUT by-external revived a deleted customer, with the fields of the PUT. */
  CustomerRevived: eventType('customer', customer),
} as const

const supplier = { ...person, trade_name: personal(text, 'identity') }

export const supplierEvents = {
  SupplierCreated: eventType('supplier', supplier),
  SupplierUpdated: eventType('supplier', { changes: z.strictObject(supplier).partial() }),
  SupplierDeleted: eventType('supplier', {}),
  /** As CustomerRevived. */
  SupplierRevived: eventType('supplier', supplier),
} as const

/** Ground of an erasure (LGPD, art. 15, 16 and 18). `restored_backup`: erased before, and returned with a backup. */
export const FORGETTING_GROUNDS = [
  'consent_withdrawn',
  'holder_request',
  'purpose_ended',
  'unlawful',
  'restored_backup',
] as const
export type ForgettingGround = (typeof FORGETTING_GROUNDS)[number]

const forgetting = {
  kind: z.enum(PERSON_KINDS),
  ground: z.enum(FORGETTING_GROUNDS),
  /** A reference to the request. It is not encrypted, so it must not contain personal data. */
  reason: text.nullable(),
}

/**
 * The event's actor requested the erasure. Events of the system come from operators or from a queued erasure that is
 * due.
 */
export const privacyEvents = {
  /**
   * The encryption keys of these parts of these subjects are deleted: their data is null from here on, in all events.
   */
  PersonForgotten: eventType(PERSON_KINDS, {
    ...forgetting,
    /** `identity` completes the erasure. */
    parts: z.array(z.enum(PERSON_PARTS)).min(1),
    /** The record itself and, for a customer, its orders: `customer/9`, `order/5`. */
    subjects: z.array(text).min(1),
  }),
  /** The identity is kept for the legal retention period, and erased from this day on if no record needs it then. */
  PersonForgettingQueued: eventType(PERSON_KINDS, {
    ...forgetting,
    /** Day in the company's time zone. */
    due_on: date,
    /** Contacts stay while accounts or orders of the person are open, and are erased once none is. */
    keeps_contact: z.boolean().optional(),
  }),
} as const

/** Origin of an account; the sale manages a `sale` one (a sale on credit made it). */
export const ACCOUNT_ORIGINS = ['api', 'pdv', 'sale'] as const

const account = { external_id: text.nullable(), description: text, amount: money, due_date: date }

/** Counterparty, named as of the event; all null if there is none. */
const ofCustomer = {
  customer_id: id.nullable(),
  customer_external_id: text.nullable(),
  customer_name: personal(text, 'identity', { kind: 'customer', id: 'customer_id' }),
  /** Of the account; sealed for its customer. Absent if empty, null in changes. */
  metadata: personal(metadata, 'contact', { kind: 'customer', id: 'customer_id' }).optional(),
}
const ofSupplier = {
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
const receivable = { ...account, ...ofCustomer }
const payable = { ...account, ...ofSupplier }

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
