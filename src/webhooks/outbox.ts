import { isDeliverable, isSubscribed, type WebhookEvent } from '#events/webhooks.ts'
import type { Envelope } from '#ledger/envelope.ts'
import type { Reaction, Reactor } from '#ledger/reactor.ts'
import { type AnyRef, byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { apiKeyIdOf, companyRef, ownCompany, type WebhookRoute } from '#projections/companies.ts'
import { bodyOf } from './messages.ts'
import { dataOf, dataRefs, outboundOf } from './outbound.ts'

/** The body of an event, one for all endpoints, stored for later deliveries. */
interface WebhookMessage {
  company_id: number
  id: string
  revision: number | null
  event: string
  actor: string | null
  traceparent: string | null
  body: string
  created_at: string
}

/** A message for one endpoint. */
interface WebhookDelivery {
  company_id: number
  id: string
  webhook_id: number
  message_id: string
  event: string
  revision: number | null
  sequence: number | null
  replay: boolean
  status: 'pending'
  attempts: object[]
  tries: number
  next_attempt_at: string
  created_at: string
}

/** Deliveries of an endpoint are numbered without gaps, so that a receiver can detect a loss. */
interface WebhookSequence {
  company_id: number
  webhook_id: number
  last_sequence: number
}

const messages = table<WebhookMessage>('webhook_messages', {
  columns: {
    company_id: 'bigint',
    id: 'uuid',
    revision: 'bigint',
    event: 'text',
    actor: 'text',
    traceparent: 'text',
    body: 'text',
    created_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'id'] },
})

const deliveries = table<WebhookDelivery>('webhook_deliveries', {
  columns: {
    company_id: 'bigint',
    id: 'uuid',
    webhook_id: 'bigint',
    message_id: 'uuid',
    event: 'text',
    revision: 'bigint',
    sequence: 'bigint',
    replay: 'boolean',
    status: 'text',
    attempts: 'json',
    tries: 'integer',
    next_attempt_at: 'timestamptz',
    created_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'webhook_id', 'id'] },
})

const sequences = table<WebhookSequence>('webhook_sequences', {
  columns: { company_id: 'bigint', webhook_id: 'bigint', last_sequence: 'bigint' },
  keys: { pk: ['company_id', 'webhook_id'] },
})

export const sequenceOf = (webhookId: number) => byPk(sequences, webhookId)

/**
 * Whether an endpoint gets a message: it is enabled, subscribes to the event, may receive it (HOOK-50), and its own key
 * did not cause it, which avoids loops (HOOK-10). Deliveries of a paused endpoint are queued (HOOK-53).
 */
function wants(route: WebhookRoute, event: WebhookEvent, actor: string | null): boolean {
  const isOwnDoing = route.api_key_id !== null && route.api_key_id === apiKeyIdOf(actor)
  return route.enabled && isSubscribed(route.events, event) && isDeliverable(route.scopes, event) && !isOwnDoing
}

/** Endpoints that get a message; `actor` caused it. */
export function routesFor(rows: Rows, name: WebhookEvent, { actor }: Pick<Envelope, 'actor'>): WebhookRoute[] {
  return (rows.get(ownCompany)?.webhooks ?? []).filter((route) => wants(route, name, actor))
}

/** Webhook outbox: renders an event's messages for companies with endpoints and queues the deliveries. */
export const outbox: Reactor = {
  refs(rows, event, next) {
    const names = outboundOf(event, next)
    if (names.length === 0 || !rows.get(ownCompany)?.webhooks.length) return null
    const told = names.flatMap((name) => routesFor(rows, name, event))
    const refs: AnyRef[] = [...new Set(told)].map(({ id }) => sequenceOf(id))
    return [...refs, ...dataRefs(rows, event)]
  },
  react(rows, event, record, made) {
    for (const [position, name] of outboundOf(event, null).entries()) {
      const data = dataOf(name, rows, event, record)
      if (data !== null) queueMessage(rows, event, { id: position === 0 ? event.id : made.newId(), name, data }, made)
    }
  },
}

/** An outbound event; `data` is JSON text. */
interface OutboxMessage {
  readonly id: string
  readonly name: WebhookEvent
  readonly data: string
}

/** What caused a message; `revision` is null if it is no event of the ledger. */
export type MessageCause = Pick<Envelope, 'actor' | 'origin' | 'recorded_at'> & { readonly revision: number | null }

/** Adds a message and its deliveries. The sequences of its endpoints are loaded. */
export function queueMessage(
  rows: Changes,
  event: MessageCause,
  { id: message_id, name, data }: OutboxMessage,
  { newId, now, traceparent }: Pick<Reaction, 'newId' | 'now' | 'traceparent'>,
): void {
  const { company_id, timezone } = companyRef(rows)
  const { revision, actor } = event
  const body = bodyOf(name, event, data, timezone)
  const message = {
    company_id,
    id: message_id,
    revision,
    event: name,
    actor,
    traceparent: traceparent ?? null,
    body,
    created_at: now,
  }
  rows.add(messages, message)
  for (const route of routesFor(rows, name, event)) {
    rows.add(deliveries, {
      company_id,
      id: newId(),
      webhook_id: route.id,
      message_id,
      event: name,
      revision,
      sequence: nextSequence(rows, company_id, route.id),
      replay: false,
      status: 'pending',
      attempts: [],
      tries: 0,
      next_attempt_at: now,
      created_at: now,
    })
  }
}

function nextSequence(rows: Changes, company_id: number, webhook_id: number): number {
  const last_sequence = (rows.get(sequenceOf(webhook_id))?.last_sequence ?? 0) + 1
  rows.put(sequences, { company_id, webhook_id, last_sequence })
  return last_sequence
}
