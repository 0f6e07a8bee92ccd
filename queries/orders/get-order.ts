import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { orderListing } from './list-orders.ts'

export const getOrder = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, orderListing, companyId, 'id', id)
