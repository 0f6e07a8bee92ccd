import type { Refusal } from '#domain/refusal.ts'
import type { WebhookEvent } from '#events/webhooks.ts'
import { type WebhookHealth, type WebhookObject, type WebhookRow, webhookState } from '#projections/webhooks.ts'
import type { ListOrder } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  getPresented,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  localTime,
  type Page,
  type Paging,
} from './records.ts'
import { t } from './table-names.ts'

type Stored = Pick<WebhookRow, 'enabled' | 'watched_since' | 'api_key_id'> & {
  doc: WebhookObject
  health: Omit<WebhookHealth, 'company_id' | 'webhook_id'>
  plan: string
  key: { revoked_at: string | null; expires_at: string | null }
  now: string
}

const utc = (printed: string | null): string | null => (printed === null ? null : new Date(printed).toISOString())

/** Endpoints with their state, which dispatchers store outside the read model. */
const webhookListing: Listing<object> = {
  resource: 'webhooks',
  outlastsReset: true,
  from: `${t.webhooks} t join ${t.companies} c on c.company_id = t.company_id
         left join ${t.api_keys} k on k.company_id = t.company_id and k.id = t.api_key_id
         left join ${t.webhook_health} h on h.company_id = t.company_id and h.webhook_id = t.id`,
  record: `json_build_object('doc', t.doc, 'enabled', t.enabled, 'watched_since', t.watched_since, 'api_key_id', t.api_key_id,
             'plan', c.plan, 'now', clock_timestamp(), 'key', json_build_object('revoked_at', k.revoked_at, 'expires_at', k.expires_at), 'health',
             json_build_object('last_success_at', h.last_success_at, 'failing_since', h.failing_since,
                               'no_response_since', h.no_response_since))`,
  where: 't.deleted_at is null',
  filters: {},
  present(record, timezone) {
    const { doc, enabled, watched_since, api_key_id, health, plan, key, now } = record as Stored
    const state = webhookState(
      { enabled, watched_since: utc(watched_since) ?? '', api_key_id, doc },
      {
        last_success_at: utc(health.last_success_at),
        failing_since: utc(health.failing_since),
        no_response_since: utc(health.no_response_since),
      },
      { plan, key: { revoked_at: key.revoked_at, expires_at: utc(key.expires_at) }, now: utc(now) ?? '' },
      timezone,
    )
    const [created_at, updated_at] = [localTime(doc.created_at, timezone), localTime(doc.updated_at, timezone)]
    return { ...doc, created_at, updated_at, ...state }
  },
}

export const listWebhooks = (reader: Reader, query: ListPaging): Promise<Page | Refusal> =>
  list(reader, webhookListing, query)

export const getWebhook = (reader: Reader, id: number): Promise<FoundRecords> => getBy(reader, webhookListing, 'id', id)

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const

/** A delivery attempt: status and start of the answer, or the error. */
export interface DeliveryAttempt {
  at: string
  status: number | null
  duration_ms: number
  error: string | null
  response: string | null
}

/** A delivery as the API shows it. */
export interface DeliveryObject {
  id: string
  webhook_id: number
  event: WebhookEvent | 'webhook.test'
  /** Of the ledger and of the endpoint; both null for a test delivery. */
  revision: number | null
  sequence: number | null
  replay: boolean
  status: (typeof DELIVERY_STATUSES)[number]
  attempts: DeliveryAttempt[]
  next_attempt_at: string | null
  created_at: string
}

/**
 * SQL of a delivery's JSON; `t` is its row. Times are as Postgres prints them. A test delivery is due in the past, to
 * overtake pending ones (src/webhooks/deliveries.ts); the time shown is its creation.
 */
export const DELIVERY_JSON = `json_build_object('id', t.id, 'webhook_id', t.webhook_id, 'event', t.event,
  'revision', t.revision, 'sequence', t.sequence, 'replay', t.replay, 'status', t.status, 'attempts', t.attempts,
  'next_attempt_at', case when t.next_attempt_at < t.created_at then t.created_at else t.next_attempt_at end,
  'created_at', t.created_at)`

/** With times on the company's clock. */
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

interface DeliveryFilters {
  readonly status?: (typeof DELIVERY_STATUSES)[number]
  readonly event?: string
}

const deliveryListing: Listing<DeliveryFilters & { webhook: number }> = {
  resource: 'webhook_deliveries',
  from: `${t.webhook_deliveries} t`,
  record: DELIVERY_JSON,
  filters: {
    webhook: (id) => `t.webhook_id = ${id}::bigint`,
    status: (status) => `t.status = ${status}`,
    event: (event) => `t.event = ${event}`,
  },
  present: presentDelivery,
}

/** Ids are UUIDs ordered by time. */
const NEWEST_FIRST: ListOrder = { name: 'newest', columns: [{ name: 'id', type: 'uuid' }], descending: true }

/** Deliveries of an endpoint in the last 30 days, newest first. */
export function listDeliveries(
  reader: Reader,
  webhook: number,
  query: Paging & DeliveryFilters,
): Promise<Page | Refusal> {
  return listInOrder(reader, deliveryListing, NEWEST_FIRST, { ...query, webhook })
}

export function getDelivery(reader: Reader, webhookId: number, id: string): Promise<FoundRecords> {
  const record = `select ${DELIVERY_JSON} from ${t.webhook_deliveries} t
    join ${t.webhooks} w on w.company_id = t.company_id and w.id = t.webhook_id and w.deleted_at is null
    where t.company_id = $1 and t.webhook_id = $2 and t.id = $3`
  const values = [webhookId, id]
  return getPresented(reader, { name: 'get_webhook_delivery', record, values }, presentDelivery)
}

/** The signed body of a delivery; null once it was purged. */
export async function getMessage(reader: Reader, webhookId: number, deliveryId: string): Promise<string | null> {
  const { rows } = await reader.query<{ body: string }>({
    name: 'get_webhook_message',
    text: `select m.body
           from ${t.webhook_deliveries} d join ${t.webhook_messages} m on m.company_id = d.company_id and m.id = d.message_id
           where d.company_id = $1 and d.webhook_id = $2 and d.id = $3`,
    values: [webhookId, deliveryId],
  })
  return rows[0]?.body ?? null
}

/** The last replay of an endpoint. */
export interface ReplayObject {
  status: 'running' | 'finished' | 'cancelled'
  /** Revisions: start (exclusive), end (inclusive), and progress. */
  after: number
  until_revision: number
  last_revision: number
  /** Deliveries created so far. */
  deliveries: number
  requested_at: string
  finished_at: string | null
}

/** SQL of a replay's JSON; `t` is its row. */
export const REPLAY_JSON = `json_build_object('status', t.status, 'after', t.after_revision, 'until_revision', t.until_revision,
  'last_revision', t.last_revision, 'deliveries', t.deliveries, 'requested_at', t.requested_at, 'finished_at', t.finished_at)`

/** With times on the company's clock. */
export function presentReplay(record: unknown, timezone: string): ReplayObject {
  const replay = record as ReplayObject
  const { requested_at, finished_at } = replay
  return {
    ...replay,
    requested_at: localTime(requested_at, timezone),
    finished_at: finished_at && localTime(finished_at, timezone),
  }
}

/** The last replay of an endpoint; no record if there was none. */
export function getReplay(reader: Reader, webhookId: number): Promise<FoundRecords> {
  const record = `select ${REPLAY_JSON} from ${t.webhook_replays} t
    join ${t.webhooks} w on w.company_id = t.company_id and w.id = t.webhook_id and w.deleted_at is null
    where t.company_id = $1 and t.webhook_id = $2`
  return getPresented(reader, { name: 'get_webhook_replay', record, values: [webhookId] }, presentReplay)
}

/** A notification about an endpoint; `reason` if it was switched off. */
export interface ListedNotification {
  readonly kind: 'webhook_switched_off' | 'webhook_failing' | 'webhook_well'
  readonly data: { readonly webhook_id: number; readonly url: string; readonly reason?: 'no_response' | 'gone' }
  readonly created_at: string
}

const SHOWN_DAYS = 30
const SHOWN = 20

/** Notifications of the last 30 days, newest first. */
export async function listWebhookNotifications(reader: Reader): Promise<ListedNotification[]> {
  const { rows } = await reader.query<ListedNotification>({
    name: 'list_notices',
    text: `select kind, data, created_at from ${t.notices}
           where company_id = $1 and created_at > now() - make_interval(days => $2)
           order by created_at desc limit $3`,
    values: [SHOWN_DAYS, SHOWN],
  })
  return rows
}
