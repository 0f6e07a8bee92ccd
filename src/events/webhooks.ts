import { z } from 'zod'
import type { Scope } from '#domain/scopes.ts'
import { eventType, id, instant, text } from './define.ts'

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
  'customer.forgotten',
  'supplier.created',
  'supplier.updated',
  'supplier.deleted',
  'supplier.forgotten',
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
  'order.delivered',
  'order.refunded',
  'order.cancelled',
  'order.expired',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

type Told = WebhookEvent extends `${infer Resource}.${string}` ? Resource : never

/** The scope that reads what the events of a resource tell. */
const READ_SCOPES: Readonly<Record<Told, Scope>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  category: 'catalog:read',
  catalog_item: 'catalog:read',
  receivable: 'finance:read',
  payable: 'finance:read',
  sale: 'sales:read',
  order: 'orders:read',
}

/** The scope that a key needs for its endpoints to be told of an event (HOOK-50). */
export const readScopeOf = (event: WebhookEvent): Scope => READ_SCOPES[event.slice(0, event.indexOf('.')) as Told]

/** Whether a key with these scopes may be told of an event; null are those of the company itself, which are all. */
export const mayBeTold = (scopes: readonly string[] | null, event: WebhookEvent): boolean =>
  scopes === null || scopes.includes(readScopeOf(event))

/** Whether an endpoint that lists these names asks for an event. */
export const isAskedFor = (names: readonly string[], event: WebhookEvent): boolean =>
  names.includes(event) || (names.includes('*') && BASIC_WEBHOOK_EVENTS.some((basic) => basic === event))

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
  /** Its deliveries are what this key may read from then on; null is the company itself. Before, it was that of whoever had registered it. */
  WebhookHandedOver: eventType('webhook', { api_key_id: id.nullable() }),
  WebhookEnabled: eventType('webhook', {}),
  WebhookSwitchedOff: eventType('webhook', { reason: z.enum(SWITCH_OFF_REASONS) }),
  /** `overlap_ends_at` is when the new secret takes over; null when it did at once. */
  WebhookSecretRotated: eventType('webhook', { overlap_ends_at: instant.nullable() }),
  WebhookDeleted: eventType('webhook', {}),
} as const
