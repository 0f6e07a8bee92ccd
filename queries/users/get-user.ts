import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { userListing } from './list-users.ts'

/** A user of the company as lists show it, also an inactive one. */
export function getUser(pool: Pool, companyId: number, id: number): Promise<Found> {
  return getBy(pool, userListing, companyId, 'id', id)
}
