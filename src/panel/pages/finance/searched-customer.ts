import { customerListing } from '#queries/people.ts'
import type { SearchedParty } from '../party-field.ts'
import { RECEIVABLE } from './open-balances.tsx'

/** Customers, as one is chosen in a form. */
export const SEARCHED_CUSTOMER: SearchedParty = {
  label: 'Cliente',
  path: '/clientes',
  table: 'customers',
  listing: customerListing,
  owed: { side: RECEIVABLE.side, path: RECEIVABLE.accounts, verb: 'deve' },
  field: 'customer_id',
}
