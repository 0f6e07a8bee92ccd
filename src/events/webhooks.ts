import * as z from 'zod'
import type { Scope } from '#domain/scopes.ts'
import { eventType, id, instant, newVersion, text } from './define.ts'

/** Outbound events that `basic` stands for (HOOK-7). Events added later are never part of it. */
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

/** All outbound events of the integration API: those of `basic`, and those available by name or `*` only. */
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
  'catalog_item.stock_changed',
  'receivable.updated',
  'receivable.deleted',
  'receivable.payment_received',
  'receivable.payment_reversed',
  'payable.created',
  'payable.updated',
  'payable.deleted',
  'sale.returned',
  'sale.return_reversed',
  'payable.payment_received',
  'payable.payment_reversed',
  'order.created',
  'order.paid',
  'order.delivered',
  'order.delivery_undone',
  'order.refunded',
  'order.cancelled',
  'order.expired',
  'cash_session.closed',
] as const
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number]

type EventResource = WebhookEvent extends `${infer Resource}.${string}` ? Resource : never

/** Scope that reads the resource of an event. */
const READ_SCOPES: Readonly<Record<EventResource, Scope>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  category: 'catalog:read',
  catalog_item: 'catalog:read',
  receivable: 'finance:read',
  payable: 'finance:read',
  sale: 'sales:read',
  order: 'orders:read',
  cash_session: 'sales:read',
}

/** Scope that a key needs for its endpoints to receive an event (HOOK-50). */
export const readScopeOf = (event: WebhookEvent): Scope =>
  READ_SCOPES[event.slice(0, event.indexOf('.')) as EventResource]

/** Whether a key with these scopes may receive an event; null: the company itself, which may receive all. */
export const isDeliverable = (scopes: readonly string[] | null, event: WebhookEvent): boolean =>
  scopes === null || scopes.includes(readScopeOf(event))

/** Every event, those of later versions included; the basic ones. */
export const WEBHOOK_EVENT_GROUPS = ['*', 'basic'] as const

export const isBasicEvent = (name: string): boolean => BASIC_WEBHOOK_EVENTS.some((basic) => basic === name)

/** Whether an endpoint with these names subscribes to an event. */
export const isSubscribed = (names: readonly string[], event: WebhookEvent): boolean =>
  names.includes('*') || names.includes(event) || (names.includes('basic') && isBasicEvent(event))

/** Why an endpoint was disabled: it did not respond, it responded 410, or it was disabled on request. */
export const SWITCH_OFF_REASONS = ['no_response', 'gone', 'requested'] as const

const webhook = {
  url: text,
  /** Names of outbound events; `*` stands for all, `basic` for the basic ones. */
  events: z.array(text),
  description: text.nullable(),
}

/** In the first version of these events `*` stood for the basic ones. */
const withBasic = (events: readonly string[]): string[] => events.map((name) => (name === '*' ? 'basic' : name))

const changes = z.strictObject(webhook).partial()

/** Secrets and health of endpoints are never in an event. */
export const webhookEvents = {
  WebhookRegistered: newVersion(eventType('webhook', webhook), webhook, (data) => ({
    ...data,
    events: withBasic(data.events),
  })),
  WebhookUpdated: newVersion(
    eventType('webhook', { changes }),
    { changes },
    ({ id, changes: { events, ...others } }) => ({
      id,
      changes: events === undefined ? others : { ...others, events: withBasic(events) },
    }),
  ),
  /**
   * From then on the endpoint receives what this key may read; null: the company itself. Before, the registering actor
   * owned it.
   */
  WebhookHandedOver: eventType('webhook', { api_key_id: id.nullable() }),
  WebhookEnabled: eventType('webhook', {}),
  WebhookSwitchedOff: eventType('webhook', { reason: z.enum(SWITCH_OFF_REASONS) }),
  /** `overlap_ends_at`: when the new secret replaces the old one; null if at once. */
  WebhookSecretRotated: eventType('webhook', { overlap_ends_at: instant.nullable() }),
  WebhookDeleted: eventType('webhook', {}),
} as const
