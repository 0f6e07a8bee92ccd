import { z } from 'zod'
import { eventType, instant, text } from './define.ts'

/** Outbound events of the integration API (HOOK-7). */
export const WEBHOOK_EVENTS = [
  'customer.created',
  'customer.updated',
  'catalog_item.created',
  'catalog_item.updated',
  'receivable.created',
  'receivable.settled',
  'payable.settled',
  'sale.completed',
  'sale.cancelled',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Why an address gets no more deliveries: nobody answered there, it said that it is gone (410), or somebody asked for it. */
export const SWITCH_OFF_REASONS = ['no_response', 'gone', 'requested'] as const

const webhook = {
  url: text,
  /** Names of outbound events, or `*` for all of them. */
  events: z.array(text),
  description: text.nullable(),
}

/** Addresses of webhooks. Their secrets are never in an event; how they answer is no fact of the company's. */
export const webhookEvents = {
  WebhookRegistered: eventType('webhook', webhook),
  WebhookUpdated: eventType('webhook', { changes: z.strictObject(webhook).partial() }),
  WebhookEnabled: eventType('webhook', {}),
  WebhookSwitchedOff: eventType('webhook', { reason: z.enum(SWITCH_OFF_REASONS) }),
  /** `overlap_ends_at` is when the new secret takes over; null when it did at once. */
  WebhookSecretRotated: eventType('webhook', { overlap_ends_at: instant.nullable() }),
  WebhookDeleted: eventType('webhook', {}),
} as const
