import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { customerListing } from './list-customers.ts'

export const getCustomer = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, customerListing, companyId, 'id', id)
