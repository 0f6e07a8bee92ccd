import { z } from 'zod'
import { eventType, instant, text } from './define.ts'

/** The outbound events that `*` stands for (HOOK-7); names that come later are never among them. */
export const BASIC_WEBHOOK_EVENTS = [
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

/** All outbound events of the integration API: those of `*`, and those that are subscribed to by name only. */
export const WEBHOOK_EVENTS = [
  ...BASIC_WEBHOOK_EVENTS,
  'customer.deleted',
  'supplier.created',
  'supplier.updated',
  'supplier.deleted',
  'category.created',
  'category.updated',
  'category.deleted',
  'catalog_item.deleted',
  'receivable.updated',
  'receivable.deleted',
  'payable.created',
  'payable.updated',
  'payable.deleted',
  'order.created',
  'order.paid',
  'order.refunded',
  'order.cancelled',
  'order.expired',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

/** Why an address gets no more deliveries: nobody answered there, it said that it is gone (410), or somebody asked for it. */
export const SWITCH_OFF_REASONS = ['no_response', 'gone', 'requested'] as const

const webhook = {
  url: text,
  /** Names of outbound events; `*` stands for the basic ones. */
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
