import {
  CreateCustomerInput,
  CustomerChanges,
  createCustomer,
  deleteCustomer,
  ReplaceCustomerInput,
  replaceCustomer,
  updateCustomer,
} from '#commands/people/customers.ts'
import { ExternalId, text } from '#domain/text.ts'
import { getCustomer, listCustomers, listDeletedCustomers } from '#queries/people.ts'
import { Customer, personExample } from '../contract/records/persons.ts'
import { recordRoutes } from './record-routes.ts'

export const customerRoutes = recordRoutes({
  path: '/customers',
  area: 'customers',
  one: 'um cliente',
  all: 'os clientes',
  names: ['Customer', 'Customers'],
  record: Customer,
  examples: { whole: personExample, changes: { phone: '(11) 3333-4444', notes: null } },
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource'],
    update: ['duplicate_resource'],
  },
  /** The name is part of a name, the others are exact. */
  filters: { name: text(120).optional(), document: text(14).optional(), external_id: ExternalId.optional() },
  list: listCustomers,
  deleted: listDeletedCustomers,
  get: getCustomer,
  create: { body: CreateCustomerInput.meta({ id: 'CustomerInput' }), command: createCustomer },
  replace: { item: ReplaceCustomerInput.meta({ id: 'CustomerBatchItem' }), command: replaceCustomer },
  update: { body: CustomerChanges.meta({ id: 'CustomerChanges' }), command: updateCustomer },
  remove: deleteCustomer,
})
