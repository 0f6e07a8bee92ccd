import * as z from 'zod'
import { inZone } from '#domain/instant.ts'
import type { StoreObject } from '#projections/stores.ts'
import { listStores } from '#queries/stores.ts'
import { Amount, ContractRecordId, Timestamp } from '../contract/formats.ts'
import { type Route, readRoute } from '../route.ts'

const storeExample = {
  id: 1,
  alias: 'minha-loja',
  enabled: true,
  sandbox: false,
  registers_sales: true,
  commission_percentage: '5.00',
  has_access_token: true,
  has_notification_secret: true,
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
}

/** There are few, so the list has no pages. */
const Store = z
  .strictObject({
    id: ContractRecordId,
    alias: z.string(),
    enabled: z.boolean(),
    sandbox: z.boolean(),
    registers_sales: z.boolean(),
    commission_percentage: Amount,
    has_access_token: z.boolean(),
    has_notification_secret: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Store', examples: [storeExample] }) satisfies z.ZodType<Omit<StoreObject, 'connection'>>

/** Stores are opened and changed in the panel and by the operator (STORE-1). */
export const storeRoutes: readonly Route[] = [
  readRoute({
    path: '/stores',
    scope: 'orders:read',
    operation: 'listStores',
    summary: 'Lista as lojas online da empresa',
    reply: z.strictObject({ data: z.array(Store) }),
    async read({ reader, caller: { timezone } }) {
      const stores = await listStores(reader)
      const local = ({ connection: _, created_at, updated_at, ...store }: StoreObject) => ({
        ...store,
        created_at: inZone(created_at, timezone),
        updated_at: inZone(updated_at, timezone),
      })
      return { body: JSON.stringify({ data: stores.map(local) }) }
    },
  }),
]
