import {
  CreateCustomerInput,
  CustomerChanges,
  createCustomer,
  deleteCustomer,
  updateCustomer,
} from '#commands/people/customers.ts'
import type { CustomerObject } from '#projections/people.ts'
import { customerListing, getCustomer, listPersonsByName } from '#queries/people.ts'
import { searched } from '../forms/searched.ts'
import { PersonSearch, personColumns, personFacts, personFields, personFilters } from './persons.tsx'
import { recordPages } from './records.tsx'

const PATH = '/clientes'

export const customerPages = recordPages<CustomerObject>({
  path: PATH,
  section: 'customers',
  subject: 'customer',
  words: {
    all: 'Clientes',
    create: 'Novo cliente',
    none: 'Nenhum cliente encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns(PATH),
    page: ({ books }, asked) =>
      searched(PersonSearch, asked, (search) =>
        listPersonsByName(books.pool, customerListing, books.companyId, { ...search, limit: 50 }),
      ),
  },
  get: ({ books }, id) => getCustomer(books.pool, books.companyId, id),
  nameOf: ({ name }) => name,
  facts: (customer, visit) => personFacts(customer, visit),
  fields: () => personFields(),
  create: { schema: CreateCustomerInput, command: createCustomer },
  update: { label: 'Editar cliente', schema: CustomerChanges, command: updateCustomer },
  remove: {
    label: 'Excluir cliente',
    question: 'O cliente deixa de aparecer nas listas. Vendas e contas já feitas ficam como estão.',
    command: deleteCustomer,
  },
})
