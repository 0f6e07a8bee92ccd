import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import type { AccountListing } from './list-accounts.ts'

/** `today` is the company's day, which decides whether the account is overdue. */
export function getAccount(
  pool: Pool,
  listing: AccountListing,
  companyId: number,
  id: number,
  today: string,
): Promise<Found> {
  return getBy(pool, listing, companyId, 'id', id, today)
}
