import type { Transaction } from '#postgres/transaction.ts'

/** Fields of a notification without personal data. */
const KEPT = ['id', 'type', 'action', 'api_version', 'date_created', 'live_mode', 'user_id']

/**
 * Removes all other fields from the notifications of erased orders, because their content is not specified (PRIV-34).
 * Notifications are found by order.
 */
export async function eraseNotifications(
  tx: Transaction,
  companyId: number,
  orderIds: readonly number[],
): Promise<void> {
  if (orderIds.length === 0) return
  const { rows } = await tx.query<{ id: number; payload: string }>(FIND, [companyId, orderIds])
  const changed = rows.map(({ id, payload }) => ({ id, before: payload, payload: keptOf(payload) }))
  const other = changed.filter(({ before, payload }) => payload !== before)
  if (other.length === 0) return
  await tx.query(WRITE, [other.map(({ id }) => id), other.map(({ payload }) => payload), companyId])
}

function keptOf(payload: string): string | null {
  const told = JSON.parse(payload) as Record<string, unknown> | string
  if (typeof told !== 'object' || told === null) return null
  const kept = Object.entries(told).filter(([name, value]) => KEPT.includes(name) && typeof value !== 'object')
  const { id } = (told.data ?? {}) as { id?: unknown }
  const isId = typeof id === 'string' || typeof id === 'number'
  return JSON.stringify({ ...Object.fromEntries(kept), ...(isId && { data: { id } }) })
}

const FIND = {
  name: 'find_notifications_about',
  text: `select id, payload from payment_notifications
         where company_id = $1 and order_id = any($2::bigint[]) and payload is not null`,
}

const WRITE = {
  name: 'write_notifications',
  text: `update payment_notifications n set payload = new.payload
         from unnest($1::bigint[], $2::text[]) as new(id, payload) where n.company_id = $3 and n.id = new.id`,
}
