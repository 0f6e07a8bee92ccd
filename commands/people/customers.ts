import { z } from 'zod'
import { Id, NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { customerByExternalId, customerById, customerByName, type PersonFields } from '#projections/people.ts'
import { createPerson, deletePerson, type PersonCommandKind, replacePerson, updatePerson } from './person-commands.ts'
import { checkDocument, personChangesShape, personOf, personShape } from './person-input.ts'

const customerKind: PersonCommandKind<PersonFields> = {
  name: 'customer',
  byId: customerById,
  byExternalId: customerByExternalId,
  byName: customerByName,
  created: (id, fields) => event('CustomerCreated', { id, ...fields }),
  updated: (id, changes) => event('CustomerUpdated', { id, changes }),
  deleted: (id) => event('CustomerDeleted', { id }),
  revived: (id, fields) => event('CustomerRevived', { id, ...fields }),
}

/** Body of POST /customers and of PUT by-external (its external id comes from the path). */
export const CreateCustomerInput = z
  .strictObject({ external_id: NewExternalId.nullish(), ...personShape })
  .superRefine(checkDocument)
export type CreateCustomerInput = z.infer<typeof CreateCustomerInput>

export const createCustomer = createPerson<PersonFields, CreateCustomerInput>(customerKind, personOf)

/** Body of PUT /customers/by-external/{external_id}, and each item of a batch. */
export const ReplaceCustomerInput = z
  .strictObject({ external_id: NewExternalId, ...personShape })
  .superRefine(checkDocument)
export type ReplaceCustomerInput = z.infer<typeof ReplaceCustomerInput>

export const replaceCustomer = replacePerson<PersonFields, ReplaceCustomerInput>(customerKind, personOf)

/** Body of PATCH /customers/{id}. */
export const CustomerChanges = z.strictObject({ external_id: NewExternalId.nullish(), ...personChangesShape })

export const UpdateCustomerInput = z.strictObject({ id: Id, changes: CustomerChanges })
export type UpdateCustomerInput = z.infer<typeof UpdateCustomerInput>

export const updateCustomer = updatePerson(customerKind)

export const deleteCustomer = deletePerson(customerKind)
