import { inZone } from '#domain/instant.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'
import type { WebhookEvent } from '#events/webhooks.ts'
import type { Envelope } from '#ledger/envelope.ts'
import type { AnyRef, Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { catalogItemView, categoryById, itemById } from '#projections/catalog.ts'
import { onCompanysClock, timezoneOf } from '#projections/companies.ts'
import { existing } from '#projections/define.ts'
import { payableById, receivableById } from '#projections/finance.ts'
import { customerById, supplierById } from '#projections/people.ts'

/** Outbound events by ledger event (HOOK-7); all others are internal. */
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
  OrderDelivered: ['order.delivered'],
  OrderDeliveryUndone: ['order.delivery_undone'],
  OrderRefunded: ['order.refunded'],
  OrderPartiallyRefunded: ['order.refunded'],
  OrderCancelled: ['order.cancelled'],
  OrderCancelledByStore: ['order.cancelled'],
  OrderExpired: ['order.expired'],
  CashSessionClosed: ['cash_session.closed'],
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
export function outboundOf(event: Envelope, next: Envelope | null): readonly WebhookEvent[] {
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
export const shownItem = onCompanysClock(catalogItemView)

/** Rows of the item that is shown for a recorded movement, which `dataRefs` reads. */
export const shownItemRefs = ({ type, data }: Envelope): readonly AnyRef[] =>
  type === 'StockMovementRecorded'
    ? catalogItemView.refs((data as DataOf<'StockMovementRecorded'>).catalog_item_id)
    : []

/** Rows that `dataOf` reads besides the event's own record. */
export function dataRefs(rows: Rows, event: Envelope): readonly AnyRef[] {
  const [item] = shownItemRefs(event)
  if (item) return catalogItemView.refsMore?.(rows, item.values[0] as number) ?? []
  const removed = removedRef(event)
  if (!removed) return []
  const { id } = event.data as { id: number }
  const more = event.type === 'CatalogItemDeactivated' ? (catalogItemView.refsMore?.(rows, id) ?? []) : []
  return [removed, ...more]
}

/**
 * JSON text of an outbound event's data: `record`, the answer of GET (HOOK-9). For a deleted record, its entry in the
 * deleted list; for a changed but deactivated item, its last state with `deleted_at`; for an erased person, its ids.
 * Null if there is nothing to send.
 */
export function dataOf(name: WebhookEvent, rows: Rows, event: Envelope, record: string): string | null {
  const person = PERSONS[name]?.((event.data as { id: number }).id)
  if (person) {
    const { id, external_id } = existing(rows, person)
    return JSON.stringify({ id, external_id, forgotten_at: inZone(event.recorded_at, timezoneOf(rows)) })
  }
  if (event.type === 'StockMovementRecorded')
    return shownItem.render(rows, (event.data as DataOf<'StockMovementRecorded'>).catalog_item_id, event.recorded_at)
  const ref = removedRef(event)
  const removed = ref && rows.get(ref)
  if (!removed) return record === '' ? null : record
  const { id, external_id } = removed
  const deleted_at = inZone(event.recorded_at, timezoneOf(rows))
  if (name !== 'catalog_item.updated') return JSON.stringify({ id, external_id, deleted_at })
  const before: Rows = {
    get<R>(wanted: Ref<R>) {
      const row = rows.get(wanted)
      return (row as unknown) === removed ? ({ ...row, deleted_at: null } as R) : row
    },
  }
  return shownItem.render(before, id, event.recorded_at)
}
