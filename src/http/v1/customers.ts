import { CreateCustomerInput, createCustomer } from '../../../commands/customers/create-customer.ts'
import { deleteCustomer } from '../../../commands/customers/delete-customer.ts'
import { ReplaceCustomerInput, replaceCustomer } from '../../../commands/customers/replace-customer.ts'
import { CustomerChanges, updateCustomer } from '../../../commands/customers/update-customer.ts'
import { getCustomer } from '../../../queries/customers/get-customer.ts'
import { listCustomers, listDeletedCustomers } from '../../../queries/customers/list-customers.ts'
import { ExternalId, text } from '../../domain/text.ts'
import { recordRoutes } from './record-routes.ts'

export const customerRoutes = recordRoutes({
  path: '/customers',
  area: 'customers',
  one: 'um cliente',
  all: 'os clientes',
  /** The name is part of a name, the others are exact. */
  filters: { name: text(120).optional(), document: text(14).optional(), external_id: ExternalId.optional() },
  list: listCustomers,
  deleted: listDeletedCustomers,
  get: getCustomer,
  create: { body: CreateCustomerInput, command: createCustomer },
  replace: { item: ReplaceCustomerInput, command: replaceCustomer },
  update: { body: CustomerChanges, command: updateCustomer },
  remove: deleteCustomer,
})
