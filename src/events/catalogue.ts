import * as z from 'zod'
import type { Scope } from '#domain/rights.ts'
import type { Envelope, NewEvent } from '#ledger/command.ts'
import type { PersonalField } from '#ledger/sealed-fields.ts'
import { catalogEvents, goodsReceiptEvents, inventoryEvents, priceEvents } from './catalog-events.ts'
import { companyEvents, storeEvents } from './company-events.ts'
import { type EventType, eventType, id, instant, newVersion, type PersonalMark, text } from './event-definitions.ts'
import { orderEvents } from './order-events.ts'
import { accountEvents, customerEvents, privacyEvents, supplierEvents } from './person-events.ts'
import { saleEvents } from './sale-events.ts'
import { cashEvents, tillEvents } from './till-events.ts'

/** Returns the personal fields of an event by type and version; none for unknown types. */
export function indexPersonalFields(
  types: Readonly<Record<string, EventType<unknown>>>,
): (event: { readonly type: string; readonly version: number }) => readonly PersonalField[] {
  const known = new Map(Object.entries(types))
  /** By type, then by version; filled on first use. */
  const compiled = new Map<string, (readonly PersonalField[])[]>()
  return ({ type, version }) => {
    let versions = compiled.get(type)
    if (!versions) {
      const found = known.get(type)
      versions = found ? [...found.former, found].map(({ data }) => fieldsIn(data, [])) : []
      compiled.set(type, versions)
    }
    return versions[version - 1] ?? NONE
  }
}

const NONE: readonly PersonalField[] = []

/** Marked fields of a shape; never in lists (LEDGER-5). */
function fieldsIn(schema: z.core.$ZodType, path: readonly string[]): PersonalField[] {
  const { personal } = (z.globalRegistry.get(schema) ?? {}) as { readonly personal?: PersonalMark }
  if (personal) return [{ path, ...personal }]
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsIn(schema.unwrap(), path)
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).flatMap(([name, member]) => fieldsIn(member as z.core.$ZodType, [...path, name]))
}

/** Outbound events that `basic` stands for. Events added later are never part of it. */
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
  'order.dispatched',
  'order.delivered',
  'order.delivery_undone',
  'order.refunded',
  'order.cancelled',
  'order.expired',
  'cash_session.closed',
  'cash_session.explained',
  'till.gap_detected',
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
  till: 'sales:read',
}

/** Scope that a key needs for its endpoints to receive an event. */
export const getReadScope = (event: WebhookEvent): Scope =>
  READ_SCOPES[event.slice(0, event.indexOf('.')) as EventResource]

/** Whether a key with these scopes may receive an event; null: the company itself, which may receive all. */
export const isDeliverable = (scopes: readonly string[] | null, event: WebhookEvent): boolean =>
  scopes === null || scopes.includes(getReadScope(event))

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
const webhookEvents = {
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

/** All event types of a ledger, by the page of `/docs/eventos` that shows them. */
export const EVENT_AREAS = {
  empresa: companyEvents,
  clientes: customerEvents,
  fornecedores: supplierEvents,
  catalogo: { ...catalogEvents, ...priceEvents },
  inventarios: { ...inventoryEvents, ...goodsReceiptEvents },
  vendas: saleEvents,
  caixas: { ...cashEvents, ...tillEvents },
  contas: accountEvents,
  webhooks: webhookEvents,
  lojas: storeEvents,
  pedidos: orderEvents,
  privacidade: privacyEvents,
} as const

export const EVENT_TYPES = {
  ...companyEvents,
  ...customerEvents,
  ...supplierEvents,
  ...catalogEvents,
  ...priceEvents,
  ...inventoryEvents,
  ...goodsReceiptEvents,
  ...saleEvents,
  ...cashEvents,
  ...tillEvents,
  ...accountEvents,
  ...webhookEvents,
  ...storeEvents,
  ...orderEvents,
  ...privacyEvents,
} as const

export type EventName = keyof typeof EVENT_TYPES
export type DataOf<N extends EventName> = z.infer<(typeof EVENT_TYPES)[N]['data']>
export type EventOf<N extends EventName> = Omit<Envelope, 'data'> & { readonly type: N; readonly data: DataOf<N> }

/** New event of a type, in its newest version. Its subject is the record in the data. */
export function event<N extends EventName>(name: N, data: DataOf<N>): NewEvent {
  const { version, subject } = EVENT_TYPES[name]
  const { id, kind } = data as { id: number; kind?: string }
  return { type: name, version, subject: `${typeof subject === 'string' ? subject : kind}/${id}`, data }
}

/** Members that events of a type leave out if they are empty. */
export const optionalMembers = (name: EventName): string[] =>
  Object.entries<z.ZodType>(EVENT_TYPES[name].data.shape).flatMap(([member, schema]) =>
    schema instanceof z.ZodOptional ? [member] : [],
  )
