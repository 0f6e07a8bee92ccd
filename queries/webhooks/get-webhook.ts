import type { Pool } from 'pg'
import { type Found, getBy } from '../get.ts'
import { webhookListing } from './list-webhooks.ts'

export const getWebhook = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, webhookListing, companyId, 'id', id)
