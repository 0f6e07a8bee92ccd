import { z } from 'zod'
import type { CustomerObject } from '../../../../projections/customers.ts'
import { PERSON_TYPES } from '../../../events/persons.ts'
import { NullableText, RecordId, Timestamp } from '../formats.ts'

const Address = z
  .strictObject({
    zip: NullableText,
    street: NullableText,
    number: NullableText,
    complement: NullableText,
    district: NullableText,
    city: NullableText,
    state: NullableText,
  })
  .meta({ id: 'Address' })

/** Customers and suppliers alike. */
const personShape = {
  id: RecordId,
  external_id: NullableText,
  name: z.string(),
  person_type: z.enum(PERSON_TYPES),
  document: NullableText,
  phone: NullableText,
  email: NullableText,
  address: Address.nullable(),
  notes: NullableText,
  created_at: Timestamp,
  updated_at: Timestamp,
}

export const Customer = z.strictObject(personShape).meta({ id: 'Customer' }) satisfies z.ZodType<CustomerObject>

/** A person as a request sends it. */
export const personExample = {
  external_id: 'CLI-001',
  name: 'Maria da Silva',
  person_type: 'PF',
  document: '52998224725',
  phone: '(11) 98765-4321',
  email: 'maria@example.com',
  address: {
    zip: '01310100',
    street: 'Avenida Paulista',
    number: '1000',
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
  },
}
