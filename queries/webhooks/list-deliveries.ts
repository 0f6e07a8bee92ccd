import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import type { WebhookEvent } from '#events/webhooks.ts'
import { type Listing, listInOrder, localTime, type Page, type Paging } from '../list.ts'
import type { Order } from '../list-statement.ts'

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const

/** A try to deliver: the answer's status and beginning, or why there was none. */
export interface DeliveryAttempt {
  at: string
  status: number | null
  duration_ms: number
  error: string | null
  response: string | null
}

/** A delivery as the API shows it (DESIGN section 5, Webhooks). */
export interface DeliveryObject {
  id: string
  webhook_id: number
  event: WebhookEvent | 'webhook.test'
  /** Of the ledger, and of the address; both null for a test delivery. */
  revision: number | null
  sequence: number | null
  replay: boolean
  status: (typeof DELIVERY_STATUSES)[number]
  attempts: DeliveryAttempt[]
  next_attempt_at: string | null
  created_at: string
}

/**
 * SQL of a delivery's JSON; `t` is its row. Times are Postgres's own until they are presented. A test takes its place before
 * deliveries that have waited for longer (src/webhooks/deliveries.ts), but is asked for when it was made.
 */
export const DELIVERY_JSON = `json_build_object('id', t.id, 'webhook_id', t.webhook_id, 'event', t.event,
  'revision', t.revision, 'sequence', t.sequence, 'replay', t.replay, 'status', t.status, 'attempts', t.attempts,
  'next_attempt_at', case when t.next_attempt_at < t.created_at then t.created_at else t.next_attempt_at end,
  'created_at', t.created_at)`

/** The same on the company's clock. */
export function presentDelivery(record: unknown, timezone: string): DeliveryObject {
  const delivery = record as DeliveryObject
  const { attempts, next_attempt_at, created_at } = delivery
  return {
    ...delivery,
    attempts: attempts.map((attempt) => ({ ...attempt, at: localTime(attempt.at, timezone) })),
    next_attempt_at: next_attempt_at && localTime(next_attempt_at, timezone),
    created_at: localTime(created_at, timezone),
  }
}

export interface DeliveryFilters {
  readonly status?: (typeof DELIVERY_STATUSES)[number]
  readonly event?: string
}

const listing: Listing<DeliveryFilters & { webhook: number }> = {
  resource: 'webhook_deliveries',
  from: 'webhook_deliveries t',
  record: `${DELIVERY_JSON}::text`,
  filters: {
    webhook: (id) => `t.webhook_id = ${id}::bigint`,
    status: (status) => `t.status = ${status}`,
    event: (event) => `t.event = ${event}`,
  },
  present: presentDelivery,
}

/** Their ids follow the time at which they were made. */
const NEWEST_FIRST: Order = { name: 'newest', columns: [{ name: 'id', type: 'uuid' }], descending: true }

/** Deliveries of an address of the last 30 days, the newest first: whoever looks here wonders what has just happened. */
export function listDeliveries(
  pool: Pool,
  companyId: number,
  webhook: number,
  query: Paging & DeliveryFilters,
): Promise<Page | Refusal> {
  return listInOrder(pool, listing, NEWEST_FIRST, companyId, { ...query, webhook })
}
