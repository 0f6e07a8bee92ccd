import { z } from 'zod'
import { WEBHOOK_EVENTS } from '#events/webhooks.ts'
import { DELIVERY_STATUSES } from '#queries/webhooks.ts'
import { NullableText, RecordId, Timestamp } from '../formats.ts'

const webhook = {
  id: 3,
  url: 'https://erp.example/tillbook/eventos',
  events: ['sale.completed', 'sale.cancelled'],
  description: 'ERP da matriz',
  created_at: '2026-11-01T10:00:00.000-03:00',
  updated_at: '2026-11-01T10:00:00.000-03:00',
  status: 'active',
  last_success_at: '2026-11-21T08:17:15.123-03:00',
  failing_since: null,
}

const fields = {
  id: RecordId,
  url: z.string(),
  events: z.array(z.enum([...WEBHOOK_EVENTS, '*'])),
  description: NullableText,
  created_at: Timestamp,
  updated_at: Timestamp,
  status: z.enum(['active', 'no_response', 'disabled']),
  last_success_at: Timestamp.nullable(),
  failing_since: Timestamp.nullable(),
}

/** An address that receives events (projections/webhooks.ts). */
export const Webhook = z.strictObject(fields).meta({ id: 'Webhook', examples: [webhook] })

/** The secret is shown once: a repeated answer leaves it out. */
export const WebhookWithSecret = z.strictObject({ ...fields, secret: z.string().optional() }).meta({
  id: 'WebhookWithSecret',
  examples: [{ ...webhook, secret: 'whsec_bm90IGEgcmVhbCBzZWNyZXQsIGp1c3QgYW4gZXhhbXBsZSE=' }],
})

const attempt = {
  at: '2026-11-21T08:17:15.130-03:00',
  status: 204,
  duration_ms: 41,
  error: null,
  response: null,
}

const DeliveryAttempt = z
  .strictObject({
    at: Timestamp,
    status: z.int().nullable(),
    duration_ms: z.int().min(0),
    error: NullableText,
    response: NullableText,
  })
  .meta({ id: 'WebhookDeliveryAttempt', examples: [attempt] })

/** An event on its way to one address (queries/webhooks.ts). */
export const Delivery = z
  .strictObject({
    id: z.uuid(),
    webhook_id: RecordId,
    event: z.enum([...WEBHOOK_EVENTS, 'webhook.test']),
    revision: z.int().min(0).nullable(),
    sequence: z.int().min(1).nullable(),
    replay: z.boolean(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.array(DeliveryAttempt),
    next_attempt_at: Timestamp.nullable(),
    created_at: Timestamp,
  })
  .meta({
    id: 'WebhookDelivery',
    examples: [
      {
        id: '019aa5c2-6c1e-7c2f-9d11-3f0c9c6f2a10',
        webhook_id: 3,
        event: 'sale.completed',
        revision: 1205,
        sequence: 87,
        replay: false,
        status: 'delivered',
        attempts: [attempt],
        next_attempt_at: null,
        created_at: '2026-11-21T08:17:15.123-03:00',
      },
    ],
  })

/** What a replay has queued (src/webhooks/deliveries.ts). */
export const Replay = z
  .strictObject({ deliveries: z.int().min(0), last_revision: z.int().min(0).nullable(), has_more: z.boolean() })
  .meta({ id: 'WebhookReplay', examples: [{ deliveries: 42, last_revision: 1246, has_more: false }] })
