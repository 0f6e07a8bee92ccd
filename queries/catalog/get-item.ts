import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { itemListing } from './list-items.ts'

export const getItem = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, itemListing, companyId, 'id', id)
