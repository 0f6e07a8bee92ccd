import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { categoryListing } from './list-categories.ts'

export const getCategory = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, categoryListing, companyId, 'id', id)
