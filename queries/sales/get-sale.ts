import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { saleListing } from './list-sales.ts'

export const getSale = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, saleListing, companyId, 'id', id)

/** A cancelled sale keeps its external id. */
export const getSaleByExternalId = (pool: Pool, companyId: number, externalId: string): Promise<Found> =>
  getBy(pool, saleListing, companyId, 'external_id', externalId)
