import {
  CreateSupplierInput,
  createSupplier,
  deleteSupplier,
  SupplierChanges,
  updateSupplier,
} from '#commands/people/suppliers.ts'
import type { SupplierObject } from '#projections/people.ts'
import { getSupplier, listPersonsByName, supplierListing } from '#queries/people.ts'
import { line } from '../forms/kinds.ts'
import { searched } from '../forms/searched.ts'
import { PersonSearch, personColumns, personFacts, personFields, personFilters } from './persons.tsx'
import { recordPages } from './records.tsx'

const PATH = '/fornecedores'

export const supplierPages = recordPages<SupplierObject>({
  path: PATH,
  section: 'suppliers',
  subject: 'supplier',
  words: {
    all: 'Fornecedores',
    create: 'Novo fornecedor',
    none: 'Nenhum fornecedor encontrado.',
  },
  list: {
    filters: personFilters,
    columns: personColumns<SupplierObject>(PATH, {
      head: 'Nome fantasia',
      cell: ({ trade_name }) => trade_name,
      isExtra: true,
    }),
    page: ({ books }, asked) =>
      searched(PersonSearch, asked, (search) =>
        listPersonsByName(books.pool, supplierListing, books.companyId, { ...search, limit: 50 }),
      ),
  },
  get: ({ books }, id) => getSupplier(books.pool, books.companyId, id),
  nameOf: ({ name }) => name,
  facts: (supplier, visit) => personFacts(supplier, visit, ['Nome fantasia', supplier.trade_name]),
  fields: () => personFields({ trade_name: { label: 'Nome fantasia', kind: line, columns: 4 } }),
  create: { schema: CreateSupplierInput, command: createSupplier },
  update: { label: 'Editar fornecedor', schema: SupplierChanges, command: updateSupplier },
  remove: {
    label: 'Excluir fornecedor',
    question: 'O fornecedor deixa de aparecer nas listas. Contas já lançadas ficam como estão.',
    command: deleteSupplier,
  },
})
