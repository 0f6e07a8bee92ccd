import type { Pool } from 'pg'
import type { NotificationOutcome } from '#domain/notification-outcome.ts'
import type { Refusal } from '#domain/refusal.ts'
import { type Listing, listInOrder, localTime, type Page, type Paging } from '../list.ts'
import type { Order } from '../list-statement.ts'

/** A notification of the payment provider as the API shows it; what was answered is null until it was. */
export interface NotificationObject {
  id: number
  received_at: string
  /** The body as it was sent: any JSON, a text where it was none, null where it was not read. */
  payload: unknown
  response: object | null
  http_status: number | null
  duration_ms: number | null
  outcome: NotificationOutcome | null
}

/** Payload and answer are kept as the JSON texts that they were. */
interface Printed extends Omit<NotificationObject, 'payload' | 'response'> {
  payload: string | null
  response: string | null
}

function presentNotification(record: unknown, timezone: string): NotificationObject {
  const { received_at, payload, response, ...rest } = record as Printed
  const { id, ...outcome } = rest
  return {
    id,
    received_at: localTime(received_at, timezone),
    payload: payload === null ? null : JSON.parse(payload),
    response: response === null ? null : JSON.parse(response),
    ...outcome,
  }
}

const listing: Listing<{ order: number }> = {
  resource: 'order_notifications',
  from: 'payment_notifications t',
  record: `json_build_object('id', t.id, 'received_at', t.received_at, 'payload', t.payload, 'response', t.response,
    'http_status', t.http_status, 'duration_ms', t.duration_ms, 'outcome', t.outcome)::text`,
  filters: { order: (id) => `t.order_id = ${id}::bigint` },
  present: presentNotification,
}

const AS_RECEIVED: Order = { name: 'id', columns: [{ name: 'id', type: 'bigint' }] }

/** What the payment provider sent about an order, in the order of arrival. */
export const listNotifications = (
  pool: Pool,
  companyId: number,
  order: number,
  query: Paging,
): Promise<Page | Refusal> => listInOrder(pool, listing, AS_RECEIVED, companyId, { ...query, order })
