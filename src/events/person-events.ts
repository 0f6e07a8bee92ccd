import * as z from 'zod'
import { PERSON_KINDS, PERSON_PARTS } from '#domain/person-values.ts'
import { date, eventType, metadata, personal, text } from './event-definitions.ts'

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
