import { event } from '#events/catalogue.ts'
import { customerByExternalId, customerById, customerByName, type PersonFields } from '#projections/people.ts'
import type { PersonKind } from './person-kind.ts'

/** Customers as commands on persons see them. */
export const customerKind: PersonKind<PersonFields> = {
  name: 'customer',
  byId: customerById,
  byExternalId: customerByExternalId,
  byName: customerByName,
  created: (id, fields) => event('CustomerCreated', { id, ...fields }),
  updated: (id, changes) => event('CustomerUpdated', { id, changes }),
  deleted: (id) => event('CustomerDeleted', { id }),
  revived: (id, fields) => event('CustomerRevived', { id, ...fields }),
}
