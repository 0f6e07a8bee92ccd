import {
  CreatePayableInput,
  createPayable,
  deletePayable,
  PayableChanges,
  settlePayable,
  updatePayable,
} from '#commands/finance/payables.ts'
import type { SupplierOfPayable } from '#projections/finance.ts'
import { payableListing } from '#queries/finance/accounts.ts'
import { supplierListing } from '#queries/people.ts'
import { accountPages } from './accounts.tsx'

export const payablePages = accountPages<SupplierOfPayable>({
  path: '/contas-a-pagar',
  section: 'payables',
  subject: 'payable',
  all: 'Contas a pagar',
  listing: payableListing,
  party: {
    label: 'Fornecedor',
    unknown: 'não há fornecedor',
    path: '/fornecedores',
    table: 'suppliers',
    listing: supplierListing,
    field: 'supplier_id',
    of: ({ supplier_id, supplier_name }) => ({ id: supplier_id, name: supplier_name }),
  },
  create: { schema: CreatePayableInput, command: createPayable },
  update: { schema: PayableChanges, command: updatePayable },
  remove: deletePayable,
  settle: settlePayable,
})
