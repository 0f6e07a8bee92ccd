import { inZone } from '#domain/instant.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { isDeliverable, isSubscribed, type WebhookEvent } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import type { OutsideRequest } from '#ledger/write/idempotency.ts'
import type { OperationContext } from '#ledger/write/run.ts'
import { parseKeyActor } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { DELIVERY_JSON, type DeliveryObject, getMessage, presentDelivery } from '#queries/webhook-queries.ts'
import { OPEN_ENDPOINTS } from './delivery-leases.ts'
import type { EventFeed } from './event-feed.ts'

export interface Endpoint {
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
  { tx, companyId }: Pick<OperationContext, 'tx' | 'companyId'>,
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

/** Body of a test message. */
const testMessage = (webhook_id: number, url: string, occurred_at: string): string =>
  JSON.stringify({
    event: 'webhook.test',
    occurred_at,
    origin: 'system',
    data: { webhook_id, url, message: 'Entrega de teste do Tillbook.' },
  })

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
    [companyId, webhookId, newId(), newId(), testMessage(webhookId, endpoint.url, inZone(now, endpoint.timezone)), now],
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

interface Target {
  readonly url: string
  readonly events: string[]
  readonly api_key_id: number | null
  /** Null for an endpoint of the company. */
  readonly scopes: string[] | null
}

async function targetOf(reader: Reader, webhookId: number): Promise<Target | null> {
  const { rows } = await reader.query<Target>({
    name: 'webhook_target',
    text: `select w.url, w.doc->'events' as events, w.api_key_id, k.doc->'scopes' as scopes from ${t.webhooks} w
           left join ${t.api_keys} k on k.company_id = w.company_id and k.id = w.api_key_id
           where w.company_id = $1 and w.id = $2`,
    values: [webhookId],
  })
  return rows[0] ?? null
}

const post = (url: string, body: string): OutsideRequest => ({ method: 'POST', url, body: JSON.parse(body) })

/** What a test would post. */
export async function testRequest(reader: Reader, delivery: string): Promise<readonly OutsideRequest[]> {
  const { webhook_id, created_at } = JSON.parse(delivery) as DeliveryObject
  const target = await targetOf(reader, webhook_id)
  return target ? [post(target.url, testMessage(webhook_id, target.url, created_at))] : []
}

/** What a redelivery would post; nothing if the message was purged. */
export async function redeliveryRequest(reader: Reader, delivery: string): Promise<readonly OutsideRequest[]> {
  const { webhook_id, id } = JSON.parse(delivery) as DeliveryObject
  const [target, body] = await Promise.all([targetOf(reader, webhook_id), getMessage(reader, webhook_id, id)])
  return target && body !== null ? [post(target.url, body)] : []
}

/** Requests of a replay that a dry run shows, and reads of the ledger for them. */
const [MOST, READS] = [20, 10]

/** The first messages that a replay would post. */
export async function replayRequests(
  reader: Reader,
  feed: Pick<EventFeed, 'read'>,
  webhookId: number,
  replay: string,
): Promise<readonly OutsideRequest[]> {
  const { after, until_revision: head } = JSON.parse(replay) as { after: number; until_revision: number }
  const target = await targetOf(reader, webhookId)
  const requests: OutsideRequest[] = []
  const { companyId } = reader
  for (let reads = 0, seen = after; target && reads < READS && seen < head && requests.length < MOST; reads++) {
    const isAllowed = (event: WebhookEvent) => isSubscribed(target.events, event) && isDeliverable(target.scopes, event)
    const by = `replay ${webhookId}`
    const page = await feed.read({ companyId, after: seen, head, opened: null, messages: { by, isAllowed } })
    for (const { frame } of page.events) {
      if (!frame) continue
      const { actor, messages } = JSON.parse(frame.toString('utf8', frame.indexOf('{'))) as Noticed
      if (target.api_key_id !== null && parseKeyActor(actor) === target.api_key_id) continue
      for (const { body } of messages) requests.push(post(target.url, body))
    }
    seen = page.seenTo
  }
  return requests.slice(0, MOST)
}

interface Noticed extends Pick<Envelope, 'actor'> {
  readonly messages: readonly { readonly body: string }[]
}
