import { docView, projection } from './define.ts'
import { type PersonFields, type PersonObject, personKind, personTable } from './persons.ts'

/** A customer as the API shows it (spec, Customer). */
export type CustomerObject = PersonObject<PersonFields>

export const customers = personTable<PersonFields>('customers')

const { byId, byExternalId, byName, on } = personKind(customers)

export const customerById = byId
export const customerByExternalId = byExternalId
export const customerByName = byName

export const customersProjection = projection('customers', [customers], {
  CustomerCreated: on.created,
  CustomerUpdated: on.updated,
  CustomerDeleted: on.deleted,
  CustomerRevived: on.revived,
})

export const customerView = docView(customerById)
