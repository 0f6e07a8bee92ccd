import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { supplierListing } from './list-suppliers.ts'

export const getSupplier = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, supplierListing, companyId, 'id', id)
