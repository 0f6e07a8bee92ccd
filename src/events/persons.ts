import { z } from 'zod'
import { eventType, personal, text } from './define.ts'

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
