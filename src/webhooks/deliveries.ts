import { inZone } from '#domain/instant.ts'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { isDeliverable, isSubscribed, WEBHOOK_EVENTS } from '#events/webhooks.ts'
import type { OperationContext } from '#ledger/write/operation.ts'
import { DELIVERY_JSON, type DeliveryObject, presentDelivery } from '#queries/webhooks.ts'
import { OPEN_ENDPOINTS } from './delivery-leases.ts'

/** Most outbound events of one ledger event (outbound.ts). */
const MESSAGES_OF_AN_EVENT = 2

interface Endpoint {
  id: number
  url: string
  events: string[]
  enabled: boolean
  /** Enabled and not paused. */
  open: boolean
  api_key_id: number | null
  /** Scopes of its key; null for company endpoints. */
  scopes: string[] | null
  timezone: string
}

/** An endpoint that accepts deliveries. */
export async function findEndpoint(
  { tx, companyId }: OperationContext,
  webhookId: number,
): Promise<Endpoint | Refusal> {
  const { rows } = await tx.query<Endpoint>(
    {
      name: 'find_webhook_endpoint',
      text: `select w.id, w.url, w.doc->'events' as events, w.enabled, w.api_key_id, o.id is not null as open, o.scopes, c.timezone
             from webhooks w join companies c on c.company_id = w.company_id
             left join ${OPEN_ENDPOINTS} o on o.company_id = w.company_id and o.id = w.id
             where w.company_id = $1 and w.id = $2 and w.deleted_at is null`,
    },
    [companyId, webhookId],
  )
  const [endpoint] = rows
  if (!endpoint) return refuse('not_found')
  if (!endpoint.enabled) return refuse('webhook_disabled')
  return endpoint.open ? endpoint : refuse('webhook_paused')
}

/**
 * Queues a test message with a single attempt. It is no ledger event and does not affect the endpoint's health. It is
 * due before all pending deliveries, because an endpoint under test may have a backlog.
 */
export async function sendTest(
  operating: OperationContext,
  webhookId: number,
  newId: () => string,
): Promise<string | Refusal> {
  const endpoint = await findEndpoint(operating, webhookId)
  if ('refused' in endpoint) return endpoint
  const { tx, companyId, now } = operating
  const occurred_at = inZone(now, endpoint.timezone)
  const data = { webhook_id: webhookId, url: endpoint.url, message: 'Entrega de teste do Tillbook.' }
  const { rows } = await tx.query<{ record: object }>(
    {
      name: 'queue_test_delivery',
      text: `with message as (
               insert into webhook_messages (company_id, id, revision, event, actor, body, created_at)
               values ($1, $3, null, 'webhook.test', null, $5, $6) returning id)
             insert into webhook_deliveries as t (company_id, id, webhook_id, message_id, event, revision, sequence,
                                                  replay, status, attempts, tries, next_attempt_at, created_at)
             select $1, $4, $2, id, 'webhook.test', null, null, false, 'pending', '[]', 0,
               least($6, (select min(next_attempt_at) - interval '1 millisecond' from webhook_deliveries
                          where status = 'pending' and company_id = $1 and webhook_id = $2)), $6
             from message
             returning ${DELIVERY_JSON} as record`,
    },
    [
      companyId,
      webhookId,
      newId(),
      newId(),
      JSON.stringify({ event: 'webhook.test', occurred_at, origin: 'system', data }),
      now,
    ],
  )
  return JSON.stringify(presentDelivery(rows[0]?.record, endpoint.timezone))
}

/** Delivers again with the same id and sequence and a fresh retry schedule. */
export async function redeliver(operating: OperationContext, webhookId: number, id: string): Promise<string | Refusal> {
  const endpoint = await findEndpoint(operating, webhookId)
  if ('refused' in endpoint) return endpoint
  const { rows } = await operating.tx.query<{ record: object }>(
    {
      name: 'redeliver_delivery',
      text: `update webhook_deliveries t set status = 'pending', tries = 0, next_attempt_at = $4, leased_until = null
             where t.company_id = $1 and t.webhook_id = $2 and t.id = $3 returning ${DELIVERY_JSON} as record`,
    },
    [operating.companyId, webhookId, id, operating.now],
  )
  const [found] = rows
  return found ? JSON.stringify(presentDelivery(found.record, endpoint.timezone)) : refuse('not_found')
}

interface KeptMessage {
  readonly id: string
  readonly event: DeliveryObject['event']
  readonly revision: number
}

/** Messages scanned by a replay, and the revision of the last one. */
interface StepRow {
  readonly looked_at: number
  readonly looked_until: number | null
}

/** Deliveries queued by a step, and where the next step continues. */
export interface ReplayResult {
  deliveries: number
  /** Revision after which to continue, or of the last queued event; null if there was none. */
  last_revision: number | null
  has_more: boolean
}

/**
 * Queues new deliveries, with new ids and sequence numbers, of all stored messages between two revisions (the first
 * exclusive) that the endpoint subscribes to and may receive, including those missed while it was off. Events caused by
 * its own key are skipped.
 */
export async function replayMessages(
  operating: OperationContext,
  { id, after, until }: { readonly id: number; readonly after: number; readonly until: number },
  newId: () => string,
  { maxMessages, maxLooks }: { readonly maxMessages: number; readonly maxLooks: number },
): Promise<string | Refusal> {
  const endpoint = await findEndpoint(operating, id)
  if ('refused' in endpoint) return endpoint
  const { tx, companyId, now } = operating
  const { rows } = await tx.query<StepRow & (KeptMessage | { id: null })>(FIND_REPLAY, [
    companyId,
    after,
    WEBHOOK_EVENTS.filter((event) => isSubscribed(endpoint.events, event) && isDeliverable(endpoint.scopes, event)),
    endpoint.api_key_id === null ? null : `api_key/${endpoint.api_key_id}`,
    maxMessages + MESSAGES_OF_AN_EVENT,
    maxLooks,
    until,
  ])
  const [looked] = rows
  const found = rows.filter((row): row is StepRow & KeptMessage => row.id !== null)
  // A step ends with all messages of an event: the next one continues after it.
  const end = found[maxMessages - 1]?.revision ?? Number.POSITIVE_INFINITY
  const messages = found.filter(({ revision }) => revision <= end)
  if (messages.length > 0) {
    await tx.query(QUEUE_REPLAY, [
      companyId,
      id,
      messages.map(() => newId()),
      messages.map((message) => message.id),
      messages.map((message) => message.event),
      messages.map((message) => message.revision),
      now,
    ])
  }
  // The bound of results or of scanned messages was reached.
  const isCut = found.length > messages.length
  const isShort = !isCut && looked !== undefined && looked.looked_at >= maxLooks
  const result: ReplayResult = {
    deliveries: messages.length,
    last_revision: isShort ? looked.looked_until : (messages.at(-1)?.revision ?? null),
    has_more: isCut || isShort,
  }
  return JSON.stringify(result)
}

/** Always returns a row, with a null id if nothing was found. */
const FIND_REPLAY = {
  name: 'find_webhook_messages',
  text: `with looked as materialized (
           select id, event, revision, actor from webhook_messages
           where company_id = $1 and revision > $2 and revision <= $7 order by revision fetch first $6 rows with ties)
         select at.looked_at, at.looked_until, m.id, m.event, m.revision
         from (select count(*)::int as looked_at, max(revision) as looked_until from looked) as at
         left join lateral (
           select id, event, revision from looked
           where event = any($3::text[]) and ($4::text is null or actor is distinct from $4)
           order by revision limit $5) as m on true
         order by m.revision, m.id`,
}

const QUEUE_REPLAY = {
  name: 'queue_replay',
  text: `with numbered as (
           insert into webhook_sequences as s (company_id, webhook_id, last_sequence)
           values ($1, $2, cardinality($3::uuid[]))
           on conflict (company_id, webhook_id) do update set last_sequence = s.last_sequence + excluded.last_sequence
           returning last_sequence - cardinality($3::uuid[]) as before)
         insert into webhook_deliveries (company_id, id, webhook_id, message_id, event, revision, sequence,
                                         replay, status, attempts, tries, next_attempt_at, created_at)
         select $1, m.id, $2, m.message_id, m.event, m.revision, n.before + m.position, true, 'pending', '[]', 0, $7, $7
         from numbered n, unnest($3::uuid[], $4::uuid[], $5::text[], $6::bigint[]) with ordinality
           as m(id, message_id, event, revision, position)`,
}
