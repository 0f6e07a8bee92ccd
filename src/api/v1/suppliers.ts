import {
  CreateSupplierInput,
  createSupplier,
  deleteSupplier,
  ReplaceSupplierInput,
  replaceSupplier,
  SupplierChanges,
  updateSupplier,
} from '#commands/people/suppliers.ts'
import { ExternalId, text } from '#domain/text.ts'
import { getSupplier, listDeletedSuppliers, listSuppliers } from '#queries/people.ts'
import { Supplier, supplierExample } from '../contract/records/persons.ts'
import { recordRoutes } from './record-routes.ts'

export const supplierRoutes = recordRoutes({
  path: '/suppliers',
  area: 'suppliers',
  one: 'um fornecedor',
  all: 'os fornecedores',
  names: ['Supplier', 'Suppliers'],
  record: Supplier,
  examples: { whole: supplierExample, changes: { phone: '(11) 3333-5555', notes: null } },
  refusals: {
    create: ['duplicate_resource'],
    replace: ['duplicate_resource'],
    update: ['duplicate_resource'],
  },
  /** The name is part of a name, the others are exact. */
  filters: { name: text(120).optional(), document: text(14).optional(), external_id: ExternalId.optional() },
  list: listSuppliers,
  deleted: listDeletedSuppliers,
  get: getSupplier,
  create: { body: CreateSupplierInput.meta({ id: 'SupplierInput' }), command: createSupplier },
  replace: { item: ReplaceSupplierInput.meta({ id: 'SupplierBatchItem' }), command: replaceSupplier },
  update: { body: SupplierChanges.meta({ id: 'SupplierChanges' }), command: updateSupplier },
  remove: deleteSupplier,
})
