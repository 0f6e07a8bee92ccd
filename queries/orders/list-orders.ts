import type { Pool } from 'pg'
import type { OrderStatus } from '#domain/order-moves.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Listing, type ListPaging, list, type Page } from '../list.ts'

export interface OrderFilters {
  readonly status?: OrderStatus
  readonly store_alias?: string
  readonly external_id?: string
}

export const orderListing: Listing<OrderFilters> = {
  resource: 'orders',
  from: 'orders t',
  record: 't.doc::text',
  filters: {
    status: (value) => `t.status = ${value}::text`,
    store_alias: (value) => `t.store_alias = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
  },
}

export const listOrders = (pool: Pool, companyId: number, query: ListPaging & OrderFilters): Promise<Page | Refusal> =>
  list(pool, orderListing, companyId, query)
