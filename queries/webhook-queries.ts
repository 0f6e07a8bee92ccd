import type { Refusal } from '#domain/refusals.ts'
import type { WebhookEvent } from '#events/catalogue.ts'
import { groupBy } from '#lib/collections.ts'
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
} from './record-queries.ts'
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
 * overtake pending ones (src/webhooks/redelivery.ts); the time shown is its creation.
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
    text: `select kind, data, created_at from ${t.notifications}
           where company_id = $1 and created_at > now() - make_interval(days => $2)
           order by created_at desc limit $3`,
    values: [SHOWN_DAYS, SHOWN],
  })
  return rows
}

/** A failed attempt. */
interface FailedAttempt {
  at: string
  status: number | null
  error: string | null
  delivery_id: string
}

/** Attempts of some hours. */
export interface HealthOfSpan {
  attempts: number
  failures: number
  /** Percent with two decimals, rounded down, so that `100.00` means all; null without attempts. */
  success_rate: string | null
  /** 95th percentile in ms, estimated from DURATION_BOUNDS_MS; null without answers. */
  p95_ms: number | null
  last_failure: FailedAttempt | null
}

/** Health of an endpoint (HOOK-71). */
export interface HealthObject {
  webhook_id: number
  /** Start of the outage that the company was notified of; null if there is none. */
  outage_since: string | null
  last_24_hours: HealthOfSpan
  last_7_days: HealthOfSpan
}

/** Upper bounds of the duration buckets, in ms; the first bucket is 0. An attempt has 10 s. */
export const DURATION_BOUNDS_MS = [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2500, 5000]
const LONGEST_MS = 10_000

/** The present hour and those before it. */
const [HOURS_OF_DAY, HOURS_OF_WEEK] = [24, 7 * 24]

/** Attempts of a span in one bucket. */
interface BucketCounts {
  readonly bucket: number
  readonly attempts: number
  readonly failures: number
  readonly last_failure: FailedAttempt | null
}

/** Adds up attempts by bucket. */
export function healthOfSpan(counted: readonly BucketCounts[], timezone: string): HealthOfSpan {
  const sum = (of: (one: BucketCounts) => number) => counted.reduce((total, one) => total + of(one), 0)
  const [attempts, failures] = [sum((one) => one.attempts), sum((one) => one.failures)]
  const failed = counted.flatMap(({ last_failure }) => last_failure ?? []).sort((a, b) => (a.at < b.at ? 1 : -1))[0]
  return {
    attempts,
    failures,
    success_rate: attempts === 0 ? null : percentOf(attempts - failures, attempts),
    p95_ms: percentile95(counted.filter(({ bucket }) => bucket >= 0)),
    last_failure: failed ? { ...failed, at: localTime(failed.at, timezone) } : null,
  }
}

function percentOf(part: number, whole: number): string {
  const hundredths = String(Math.floor((part * 10_000) / whole)).padStart(3, '0')
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`
}

/** Assumes an even distribution within the bucket. */
function percentile95(answered: readonly BucketCounts[]): number | null {
  const byBucket = new Map<number, number>()
  for (const { bucket, attempts } of answered) byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + attempts)
  const all = [...byBucket.values()].reduce((total, one) => total + one, 0)
  const wanted = Math.ceil((all * 95) / 100)
  let before = 0
  for (const [bucket, attempts] of [...byBucket].sort(([a], [b]) => a - b)) {
    if (before + attempts >= wanted) {
      const from = DURATION_BOUNDS_MS[bucket - 1] ?? 0
      const to = DURATION_BOUNDS_MS[bucket] ?? LONGEST_MS
      return Math.round(from + ((to - from) * (wanted - before)) / attempts)
    }
    before += attempts
  }
  return null
}

interface HealthRow extends BucketCounts {
  readonly webhook_id: number
  readonly outage_since: string | null
  readonly timezone: string
  readonly revision: number
  readonly is_today: boolean | null
}

/** Start of the notified outage of an enabled endpoint; failures before `watched_since` do not count. */
const OUTAGE = 'case when w.enabled and h.outage_since >= w.watched_since then h.outage_since end'

/** An endpoint without attempts has one row, without a bucket. */
const READ_HEALTH = {
  name: 'read_webhook_health',
  text: `select w.id as webhook_id, ${OUTAGE} as outage_since, c.timezone, l.revision, s.*
         from ${t.ledgers} l
         join ${t.companies} c on c.company_id = l.company_id
         join ${t.webhooks} w on w.company_id = l.company_id and w.deleted_at is null and ($2::bigint is null or w.id = $2)
         left join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
         left join lateral (
           select hour > now() - make_interval(hours => ${HOURS_OF_DAY}) as is_today, bucket, sum(attempts)::int as attempts, sum(failures)::int as failures,
             (array_agg(last_failure order by last_failure ->> 'at' desc) filter (where last_failure is not null))[1] as last_failure
           from ${t.webhook_hours} s
           where s.company_id = w.company_id and s.webhook_id = w.id and s.hour > now() - make_interval(hours => ${HOURS_OF_WEEK})
           group by 1, 2) as s on true
         where l.company_id = $1 order by w.id`,
}

/** Health of a company's endpoints by id, or of one if `webhookId` is given. */
async function readHealth(reader: Reader, webhookId: number | null): Promise<Map<number, HealthRow[]>> {
  const { rows } = await reader.query<HealthRow>({ ...READ_HEALTH, values: [webhookId] })
  return groupBy(rows, ({ webhook_id }) => webhook_id)
}

function healthOf(webhook_id: number, rows: readonly HealthRow[]): HealthObject {
  const [first] = rows
  const { outage_since, timezone } = first as HealthRow
  const counted = rows.filter(({ is_today }) => is_today !== null)
  return {
    webhook_id,
    outage_since: outage_since && localTime(outage_since, timezone),
    last_24_hours: healthOfSpan(
      counted.filter(({ is_today }) => is_today),
      timezone,
    ),
    last_7_days: healthOfSpan(counted, timezone),
  }
}

/** Health of an endpoint; no record if it does not exist or is another company's. */
export async function getHealth(reader: Reader, webhookId: number): Promise<FoundRecords> {
  const rows = (await readHealth(reader, webhookId)).get(webhookId)
  if (!rows) return { record: null, revision: 0 }
  return { record: JSON.stringify(healthOf(webhookId, rows)), revision: rows[0]?.revision ?? 0 }
}

/** Health of all endpoints of a company, by id. */
export async function listHealth(reader: Reader): Promise<ReadonlyMap<number, HealthObject>> {
  const found = await readHealth(reader, null)
  return new Map([...found].map(([id, rows]) => [id, healthOf(id, rows)]))
}

/** An endpoint that needs attention. */
export interface FailingEndpoint {
  readonly webhook_id: number
  readonly url: string
  /** Time of its first failure, UTC. */
  readonly outage_since: string
}

/** Enabled endpoints that have failed for some minutes, longest first (HOOK-74). */
export async function failingEndpoints(reader: Reader): Promise<FailingEndpoint[]> {
  const { rows } = await reader.query<FailingEndpoint>({
    name: 'failing_endpoints',
    text: `select w.id as webhook_id, w.url, h.outage_since
           from ${t.webhooks} w join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
           where w.company_id = $1 and w.deleted_at is null and w.enabled and h.outage_since >= w.watched_since
           order by h.outage_since, w.id`,
  })
  return rows
}
