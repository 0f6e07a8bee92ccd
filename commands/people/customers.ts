import * as z from 'zod'
import { orNone } from '#domain/codes.ts'
import { StateRegistration } from '#domain/fiscal-codes.ts'
import { Id, NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { IE_INDICATORS } from '#events/persons.ts'
import { type CustomerFields, customerByExternalId, customerById, customerByName } from '#projections/people.ts'
import { withoutEmpty } from '../records.ts'
import { createPerson, deletePerson, type PersonCommandKind, replacePerson, updatePerson } from './person-commands.ts'
import { checkDocument, personChangesShape, personOf, personShape } from './person-input.ts'

const customerKind: PersonCommandKind<CustomerFields> = {
  name: 'customer',
  accounts: 'receivables',
  byId: customerById,
  byExternalId: customerByExternalId,
  byName: customerByName,
  created: (id, fields) => event('CustomerCreated', { id, ...recordedOf(fields) }),
  updated: (id, changes) => event('CustomerUpdated', { id, changes }),
  deleted: (id) => event('CustomerDeleted', { id }),
  revived: (id, fields) => event('CustomerRevived', { id, ...recordedOf(fields) }),
}

/** Additional fields of customers: the buyer's ICMS registration in a fiscal document. */
const customerShape = {
  state_registration: orNone(StateRegistration),
  ie_indicator: z.enum(IE_INDICATORS).nullish(),
}

type CustomerInput = Parameters<typeof personOf>[0] & z.infer<z.ZodObject<typeof customerShape>>

/** Fields of a whole customer; absent ones are null. */
const customerOf = (input: CustomerInput): CustomerFields => ({
  ...personOf(input),
  state_registration: input.state_registration ?? null,
  ie_indicator: input.ie_indicator ?? null,
})

/** Events leave out these fields if they are empty. */
const recordedOf = (fields: CustomerFields) => withoutEmpty(fields, ['metadata', 'state_registration', 'ie_indicator'])

/** Body of POST /customers and of PUT by-external (its external id comes from the path). */
export const CreateCustomerInput = z
  .strictObject({ external_id: NewExternalId.nullish(), ...personShape, ...customerShape })
  .superRefine(checkDocument)
export type CreateCustomerInput = z.infer<typeof CreateCustomerInput>

export const createCustomer = createPerson<CustomerFields, CreateCustomerInput>(customerKind, customerOf)

/** Body of PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ external_id: NewExternalId, ...personShape, ...customerShape })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

export const replaceCustomer = replacePerson<CustomerFields, ReplaceCustomerInput>(customerKind, customerOf)

/** Body of PATCH /customers/{id}. */
export const CustomerChanges = z.strictObject({
  external_id: NewExternalId.nullish(),
  ...personChangesShape,
  ...customerShape,
})

export const UpdateCustomerInput = z.strictObject({ id: Id, changes: CustomerChanges })
export type UpdateCustomerInput = z.infer<typeof UpdateCustomerInput>

export const updateCustomer = updatePerson(customerKind)

export const deleteCustomer = deletePerson(customerKind)
