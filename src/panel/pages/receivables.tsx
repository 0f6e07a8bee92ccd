import {
  CreateReceivableInput,
  createReceivable,
  deleteReceivable,
  ReceivableChanges,
  settleReceivable,
  updateReceivable,
} from '#commands/finance/receivables.ts'
import type { CustomerOfReceivable } from '#projections/finance.ts'
import { receivableListing } from '#queries/finance/accounts.ts'
import { customerListing } from '#queries/people.ts'
import { accountPages } from './accounts.tsx'

export const receivablePages = accountPages<CustomerOfReceivable>({
  path: '/contas-a-receber',
  section: 'receivables',
  subject: 'receivable',
  all: 'Contas a receber',
  listing: receivableListing,
  party: {
    label: 'Cliente',
    unknown: 'não há cliente',
    path: '/clientes',
    table: 'customers',
    listing: customerListing,
    field: 'customer_id',
    of: ({ customer_id, customer_name }) => ({ id: customer_id, name: customer_name }),
  },
  create: { schema: CreateReceivableInput, command: createReceivable },
  update: { schema: ReceivableChanges, command: updateReceivable },
  remove: deleteReceivable,
  settle: settleReceivable,
})
