import { z } from 'zod'
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

/** Kinds of record that are about a person. Of an order it is the buyer. */
export const PERSON_KINDS = ['customer', 'supplier', 'user', 'order'] as const
export type KindOfPerson = (typeof PERSON_KINDS)[number]

/** `identity`: what a fiscal document or an open account needs (name, document, address); `contact`: the rest. Each has a key of its own. */
export const PERSON_PARTS = ['identity', 'contact'] as const
export type PersonPart = (typeof PERSON_PARTS)[number]

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
    parts: z.array(z.enum(PERSON_PARTS)).min(1),
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
