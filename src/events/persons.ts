import { z } from 'zod'
import { PARTS, PERSON_KINDS } from '#domain/personal-data.ts'
import { date, eventType, personal, text } from './define.ts'

export const PERSON_TYPES = ['PF', 'PJ'] as const

const address = z.strictObject({
  zip: text.nullable(),
  street: text.nullable(),
  number: text.nullable(),
  complement: text.nullable(),
  district: text.nullable(),
  city: text.nullable(),
  state: text.nullable(),
})

/** All fields that a caller sets; null where empty. */
const person = {
  external_id: text.nullable(),
  name: personal(text, 'identity'),
  person_type: z.enum(PERSON_TYPES),
  document: personal(text, 'identity'),
  phone: personal(text, 'contact'),
  email: personal(text, 'contact'),
  address: personal(address, 'identity'),
  notes: personal(text, 'contact'),
}

export const customerEvents = {
  CustomerCreated: eventType('customer', person),
  CustomerUpdated: eventType('customer', { changes: z.strictObject(person).partial() }),
  CustomerDeleted: eventType('customer', {}),
  /** A deleted customer came back through PUT by-external, with the fields of the PUT. */
  CustomerRevived: eventType('customer', person),
} as const

const supplier = { ...person, trade_name: personal(text, 'identity') }

export const supplierEvents = {
  SupplierCreated: eventType('supplier', supplier),
  SupplierUpdated: eventType('supplier', { changes: z.strictObject(supplier).partial() }),
  SupplierDeleted: eventType('supplier', {}),
  /** As CustomerRevived. */
  SupplierRevived: eventType('supplier', supplier),
} as const

/** Why a person is forgotten (LGPD, art. 15, 16 and 18). `restored_backup`: was forgotten before, and came back with a backup. */
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
  /** As a reference to the request; it is not sealed, so it must say nothing about the person. */
  reason: text.nullable(),
}

/** Who asked is the actor of the event; the system's own ones are of operators, or of the day that was waited for. */
export const privacyEvents = {
  /** The keys of these parts of these subjects have ended with the event: what they sealed is null from here on, in every event. */
  PersonForgotten: eventType(PERSON_KINDS, {
    ...forgetting,
    /** With `identity` the whole person is forgotten. */
    parts: z.array(z.enum(PARTS)).min(1),
    /** The record itself and, of a customer, its orders: `customer/9`, `order/5`. */
    subjects: z.array(text).min(1),
  }),
  /** The identity is kept for as long as the law asks, and forgotten from this day on, if nothing else needs it then. */
  PersonForgettingQueued: eventType(PERSON_KINDS, {
    ...forgetting,
    /** A day of the company's calendar. */
    due_on: date,
  }),
} as const
