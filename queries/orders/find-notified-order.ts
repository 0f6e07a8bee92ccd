import type { Pool } from 'pg'
import type { OrderStatus } from '#domain/order-moves.ts'
import { findStore, type StoreAccess } from '../stores/find-store.ts'

/** An order of a store, and the store with its secrets. */
export interface NotifiedOrder {
  readonly store: StoreAccess
  readonly id: number
  readonly status: OrderStatus
  readonly reference: string
  readonly totalCents: number
}

/** The order that a notification's address names; null when the store is missing or disabled, or the order is not its own. */
export async function findNotifiedOrder(pool: Pool, alias: string, orderId: number): Promise<NotifiedOrder | null> {
  const store = await findStore(pool, alias)
  if (!store?.enabled) return null
  const { rows } = await pool.query<Omit<NotifiedOrder, 'store'>>({
    name: 'find_notified_order',
    text: `select id, status, provider_reference as reference, total_cents as "totalCents" from orders where company_id = $1 and id = $2 and store_id = $3`,
    values: [store.companyId, orderId, store.id],
  })
  return rows[0] ? { store, ...rows[0] } : null
}
