import type { Pool } from 'pg'
import { inZone } from '#domain/instant.ts'
import { type DataOf, type EventName, isDeliverable, isSubscribed, type WebhookEvent } from '#events/catalogue.ts'
import { type Envelope, toChannel } from '#ledger/command.ts'
import { findRecordView, type Reaction, type Reactor, type ReadModel } from '#ledger/projection.ts'
import { type AnyRef, byPk, type Ref, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { coalesce } from '#lib/background-loops.ts'
import { catalogItemView, categoryById, itemById } from '#projections/catalog.ts'
import {
  companyRef,
  getTimezone,
  onCompanysClock,
  ownCompany,
  parseKeyActor,
  type WebhookRoute,
} from '#projections/companies.ts'
import { existing } from '#projections/define-projection.ts'
import { payableById, receivableById } from '#projections/finance.ts'
import { customerById, supplierById } from '#projections/people.ts'

/** Outbound events by ledger event (HOOK-11); all others are internal. */
const OUTBOUND: Partial<Record<EventName, readonly WebhookEvent[]>> = {
  CustomerCreated: ['customer.created'],
  CustomerUpdated: ['customer.updated'],
  CustomerRevived: ['customer.updated'],
  CustomerDeleted: ['customer.deleted'],
  SupplierCreated: ['supplier.created'],
  SupplierUpdated: ['supplier.updated'],
  SupplierRevived: ['supplier.updated'],
  SupplierDeleted: ['supplier.deleted'],
  CategoryCreated: ['category.created'],
  CategoryUpdated: ['category.updated'],
  CategoryRevived: ['category.updated'],
  CategoryDeleted: ['category.deleted'],
  CatalogItemCreated: ['catalog_item.created'],
  CatalogItemUpdated: ['catalog_item.updated'],
  CatalogItemRevived: ['catalog_item.updated'],
  CatalogItemDeactivated: ['catalog_item.updated', 'catalog_item.deleted'],
  // Manual adjustments only: sales and cancellations move stock without an event of their own.
  StockAdjusted: ['catalog_item.updated'],
  StockMovementRecorded: ['catalog_item.updated'],
  ReceivableCreated: ['receivable.created'],
  ReceivableUpdated: ['receivable.updated'],
  // Subscribers that keep a copy created the record once; with the basic events alone they would otherwise not see it.
  ReceivableRevived: ['receivable.created'],
  ReceivableDeleted: ['receivable.deleted'],
  ReceivablePaymentReceived: ['receivable.payment_received'],
  ReceivablePaymentReversed: ['receivable.payment_reversed'],
  ReceivableSettled: ['receivable.settled'],
  PayableCreated: ['payable.created'],
  PayableUpdated: ['payable.updated'],
  PayableRevived: ['payable.created'],
  PayableDeleted: ['payable.deleted'],
  PayablePaymentMade: ['payable.payment_received'],
  PayablePaymentReversed: ['payable.payment_reversed'],
  PayableSettled: ['payable.settled'],
  SaleCompleted: ['sale.completed'],
  OfflineSaleCompleted: ['sale.completed'],
  OfflineSaleCancelled: ['sale.cancelled'],
  SaleCancelled: ['sale.cancelled'],
  SaleReturned: ['sale.returned'],
  ReturnReversed: ['sale.return_reversed'],
  OrderPlaced: ['order.created'],
  OrderPaid: ['order.paid'],
  OrderDispatched: ['order.dispatched'],
  OrderDelivered: ['order.delivered'],
  OrderDeliveryUndone: ['order.delivery_undone'],
  OrderRefunded: ['order.refunded'],
  OrderPartiallyRefunded: ['order.refunded'],
  OrderCancelled: ['order.cancelled'],
  OrderCancelledByStore: ['order.cancelled'],
  OrderExpired: ['order.expired'],
  CashSessionClosed: ['cash_session.closed'],
  CashDifferenceExplained: ['cash_session.explained'],
  TillGapDetected: ['till.gap_detected'],
}

const TOLD_OF_PERSONS: readonly string[] = ['PersonForgotten', 'PersonForgettingQueued']
const OF_PERSONS: readonly WebhookEvent[] = [
  'customer.forgotten',
  'customer.updated',
  'supplier.forgotten',
  'supplier.updated',
]

/** Whether events of a type can be outbound. */
export const mayBeOutbound = (type: string): boolean => Object.hasOwn(OUTBOUND, type) || TOLD_OF_PERSONS.includes(type)

/** Types of events that can have one of the wanted outbound events. */
export function outboundTypes(isWanted: (name: WebhookEvent) => boolean): string[] {
  const types = Object.entries(OUTBOUND).flatMap(([type, names]) => (names.some(isWanted) ? [type] : []))
  return OF_PERSONS.some(isWanted) ? [...types, ...TOLD_OF_PERSONS] : types
}

/**
 * The outbound events of a ledger event; `next` is the following one. A request that changes price and stock writes two
 * ledger events for one change: the second one is announced.
 */
export function toOutboundEvents(event: Envelope, next: Envelope | null): readonly WebhookEvent[] {
  const item = adjustedItem(event)
  const isToldByNext =
    item !== null &&
    (next?.type === 'CatalogItemUpdated' || next?.type === 'CatalogItemRevived') &&
    next.subject === `catalog_item/${item}` &&
    next.request_id === event.request_id
  if (TOLD_OF_PERSONS.includes(event.type)) return outboundOfPerson(event)
  return isToldByNext ? [] : (OUTBOUND[event.type as EventName] ?? [])
}

/** Item of an event that changes its stock beside the item. */
function adjustedItem({ type, data }: Envelope): number | null {
  if (type === 'StockAdjusted') return (data as DataOf<'StockAdjusted'>).id
  return type === 'StockMovementRecorded' ? (data as DataOf<'StockMovementRecorded'>).catalog_item_id : null
}

/** Subscribers of changes hear of an erasure too. Fields erased ahead of their due day are announced with it. */
function outboundOfPerson({ type, data }: Envelope): readonly WebhookEvent[] {
  const { kind, parts = [] } = data as Pick<DataOf<'PersonForgotten'>, 'kind'> & { parts?: readonly string[] }
  if (kind !== 'customer' && kind !== 'supplier') return []
  if (type === 'PersonForgettingQueued') return [`${kind}.updated`]
  return parts.includes('identity') ? [`${kind}.forgotten`, `${kind}.updated`] : []
}

/** What remains of a deleted record. */
interface Removed {
  readonly id: number
  readonly external_id: string | null
  readonly deleted_at: string | null
}

const REMOVED: Partial<Record<EventName, (id: number) => Ref<Removed>>> = {
  CustomerDeleted: customerById as (id: number) => Ref<Removed>,
  SupplierDeleted: supplierById as (id: number) => Ref<Removed>,
  CategoryDeleted: categoryById as (id: number) => Ref<Removed>,
  CatalogItemDeactivated: itemById as (id: number) => Ref<Removed>,
  ReceivableDeleted: receivableById as (id: number) => Ref<Removed>,
  PayableDeleted: payableById as (id: number) => Ref<Removed>,
}

function removedRef({ type, data }: Envelope): Ref<Removed> | null {
  return REMOVED[type as EventName]?.((data as { id: number }).id) ?? null
}

/** What remains of an erased person. */
interface Forgotten {
  readonly id: number
  readonly external_id: string | null
}

const PERSONS: Partial<Record<WebhookEvent, (id: number) => Ref<Forgotten>>> = {
  'customer.forgotten': customerById as (id: number) => Ref<Forgotten>,
  'supplier.forgotten': supplierById as (id: number) => Ref<Forgotten>,
}

/** An item as GET shows it. */
export const viewItem = onCompanysClock(catalogItemView)

/** Rows of the item that is shown for a recorded movement, which `dataRefs` reads. */
const shownItemRefs = ({ type, data }: Envelope): readonly AnyRef[] =>
  type === 'StockMovementRecorded'
    ? catalogItemView.refs((data as DataOf<'StockMovementRecorded'>).catalog_item_id)
    : []

/** Rows that `dataOf` reads besides the event's own record. */
function dataRefs(rows: Rows, event: Envelope): readonly AnyRef[] {
  const [item] = shownItemRefs(event)
  if (item) return catalogItemView.refsMore?.(rows, item.values[0] as number) ?? []
  const removed = removedRef(event)
  if (!removed) return []
  const { id } = event.data as { id: number }
  const more = event.type === 'CatalogItemDeactivated' ? (catalogItemView.refsMore?.(rows, id) ?? []) : []
  return [removed, ...more]
}

/**
 * JSON text of an outbound event's data: `record`, the answer of GET. For a deleted record, its entry in the
 * deleted list; for a changed but deactivated item, its last state with `deleted_at`; for an erased person, its ids.
 * Null if there is nothing to send.
 */
function dataOf(name: WebhookEvent, rows: Rows, event: Envelope, record: string): string | null {
  const person = PERSONS[name]?.((event.data as { id: number }).id)
  if (person) {
    const { id, external_id } = existing(rows, person)
    return JSON.stringify({ id, external_id, forgotten_at: inZone(event.recorded_at, getTimezone(rows)) })
  }
  if (event.type === 'StockMovementRecorded')
    return viewItem.render(rows, (event.data as DataOf<'StockMovementRecorded'>).catalog_item_id, event.recorded_at)
  const ref = removedRef(event)
  const removed = ref && rows.get(ref)
  if (!removed) return record === '' ? null : record
  const { id, external_id } = removed
  const deleted_at = inZone(event.recorded_at, getTimezone(rows))
  if (name !== 'catalog_item.updated') return JSON.stringify({ id, external_id, deleted_at })
  const before: Rows = {
    get<R>(wanted: Ref<R>) {
      const row = rows.get(wanted)
      return (row as unknown) === removed ? ({ ...row, deleted_at: null } as R) : row
    },
  }
  return viewItem.render(before, id, event.recorded_at)
}

/** An outbound message; `body` is sent byte for byte. */
export interface OutboundMessage {
  readonly event: WebhookEvent
  readonly body: string
}

/** The body of a delivery (HOOK-9); `data` is JSON text. */
function bodyOf(
  event: WebhookEvent,
  { recorded_at, origin }: Pick<Envelope, 'recorded_at' | 'origin'>,
  data: string,
  timezone: string,
): string {
  const head = JSON.stringify({ event, occurred_at: inZone(recorded_at, timezone), origin: toChannel(origin) })
  return `${head.slice(0, -1)},"data":${data}}`
}

/**
 * Renders the messages of an opened event in its newest version; `next` as for `toOutboundEvents`. `load` returns rows as
 * they were right after the event.
 */
export async function renderMessages(
  model: ReadModel,
  event: Envelope,
  next: Envelope | null,
  load: (refs: readonly AnyRef[]) => Promise<Rows>,
): Promise<readonly OutboundMessage[]> {
  const names = toOutboundEvents(event, next)
  if (names.length === 0) return []
  const { view, id } = findRecordView(model, event.subject)
  const own = await load([ownCompany, ...view.refs(id), ...shownItemRefs(event)])
  const rows = await load([...(view.refsMore?.(own, id) ?? []), ...dataRefs(own, event)])
  const record = view.render(rows, id, event.recorded_at) ?? ''
  return names.flatMap((name) => {
    const data = dataOf(name, rows, event, record)
    return data === null ? [] : [{ event: name, body: bodyOf(name, event, data, getTimezone(rows)) }]
  })
}

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

export const sequenceByWebhook = (webhookId: number) => byPk(sequences, webhookId)

/**
 * Whether an endpoint gets a message: it is enabled, subscribes to the event, may receive it, and its own key
 * did not cause it, which avoids loops. Deliveries of a paused endpoint are queued.
 */
function wants(route: WebhookRoute, event: WebhookEvent, actor: string | null): boolean {
  const isOwnDoing = route.api_key_id !== null && route.api_key_id === parseKeyActor(actor)
  return route.enabled && isSubscribed(route.events, event) && isDeliverable(route.scopes, event) && !isOwnDoing
}

/** Endpoints that get a message; `actor` caused it. */
export function routesFor(rows: Rows, name: WebhookEvent, { actor }: Pick<Envelope, 'actor'>): WebhookRoute[] {
  return (rows.get(ownCompany)?.webhooks ?? []).filter((route) => wants(route, name, actor))
}

/** Webhook outbox: renders an event's messages for companies with endpoints and queues the deliveries. */
export const outbox: Reactor = {
  refs(rows, event, next) {
    const names = toOutboundEvents(event, next)
    if (names.length === 0 || !rows.get(ownCompany)?.webhooks.length) return null
    const told = names.flatMap((name) => routesFor(rows, name, event))
    const refs: AnyRef[] = [...new Set(told)].map(({ id }) => sequenceByWebhook(id))
    return [...refs, ...dataRefs(rows, event)]
  },
  react(rows, event, record, made) {
    for (const [position, name] of toOutboundEvents(event, null).entries()) {
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
  const last_sequence = (rows.get(sequenceByWebhook(webhook_id))?.last_sequence ?? 0) + 1
  rows.put(sequences, { company_id, webhook_id, last_sequence })
  return last_sequence
}

/** Postgres channel of the dispatchers. */
export const DELIVERIES_CHANNEL = 'webhook_deliveries'

/** Wakes the dispatchers of all processes. */
export interface DeliveryNotifier {
  /** Payload of this process's notifications: its own dispatcher was woken before. */
  readonly sender: string
  notify(): void
  /**
   * Calls `listener` at once when this process notifies, without a round trip to Postgres. Returns the unsubscribe
   * function.
   */
  onNotify(listener: () => void): () => void
  /** Resolves when everything is sent. */
  close(): Promise<void>
}

/** A process that delivers itself notifies the others, which help under load, at most twenty times a second. */
const REST_MS = 50

/**
 * Notifies after the commit: transactions that notify commit one after another in the whole database. Calls during a
 * notification are merged into one more. Polling covers a lost notification.
 */
export function createDeliveryNotifier(
  pool: Pool,
  sender: string,
  onError: (error: unknown) => void,
): DeliveryNotifier {
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  const send = () => pool.query({ ...NOTIFY, values: [sender] }).catch(onError)
  const atOnce = coalesce(send)
  const inGroups = coalesce(send, { rest_ms: REST_MS, signal: closing.signal })

  return {
    sender,
    onNotify(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    notify() {
      for (const listener of listeners) listener()
      const sending = listeners.size > 0 ? inGroups : atOnce
      sending.ask()
    },
    async close() {
      closing.abort()
      await Promise.all([atOnce.idle(), inGroups.idle()])
    },
  }
}

/** Nothing here must survive a crash: the commit does not wait for the disk. */
const NOTIFY = {
  name: 'notify_deliveries',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify('${DELIVERIES_CHANNEL}', $1)`,
}
