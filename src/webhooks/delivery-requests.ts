import { isDeliverable, isSubscribed, type WebhookEvent } from '#events/catalogue.ts'
import type { Envelope } from '#ledger/command.ts'
import type { OutsideRequest } from '#ledger/write/dry-run.ts'
import { parseKeyActor } from '#projections/companies.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { type DeliveryObject, getMessage } from '#queries/webhook-queries.ts'
import type { EventFeed } from './event-feed.ts'
import { testMessage } from './redelivery.ts'

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
