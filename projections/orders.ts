import { inZone } from '#domain/instant.ts'
import { fromCents, fromThousandths, toCents, toThousandths } from '#domain/money.ts'
import {
  commissionRefunded,
  type DeliveryState,
  decideDeliveryState,
  findCarrier,
  hasBeenPaid,
  type OrderStatus,
  type PaymentLinks,
  withPaymentUrl,
} from '#domain/order-states.ts'
import { type PersonPart, phoneKey } from '#domain/person-values.ts'
import type { Metadata } from '#domain/record-values.ts'
import { searchText } from '#domain/text.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { parseSubject, type ReadModel, type RecordView } from '#ledger/projection.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import type { Changes } from '#ledger/working-set.ts'
import { companyRef, getTimezone } from './companies.ts'
import {
  type ChangedFields,
  changedColumns,
  existing,
  INDEX_BY_CHANGE,
  INDEX_BY_PAST,
  projection,
  stamp,
} from './define-projection.ts'
import {
  type DisputeObject,
  netOfOrder,
  nextExpiry,
  type PaymentMoment,
  type PaymentObject,
  paymentRecorded,
  type RefundObject,
  refundAccepted,
  refundCompleted,
  refundRefused,
  refundRequested,
  refuseAttempt,
  startAttempt,
} from './order-payments.ts'
import { withoutParts } from './people.ts'
import { type StockMove, stockMoves, thousandthsByItem } from './stock.ts'

/** Read model that adds payment links to orders when they are shown; no table stores them. */
export function withPaymentLinks(model: ReadModel, links: PaymentLinks): ReadModel {
  const { order, ...views } = model.views
  return order ? { ...model, views: { ...views, order: linked(order, links) } } : model
}

const linked = (view: RecordView, links: PaymentLinks): RecordView => ({
  ...view,
  render(rows, id, now) {
    const record = view.render(rows, id, now)
    return record && withPaymentUrl(links, record)
  },
})

export type CommissionObject = Pick<DataOf<'CommissionSplit'>, 'percentage' | 'amount' | 'store_amount'> & {
  /** Part of `amount` refunded so far. */
  refunded: string
  reversed_at: string | null
}

/** Fields of an order that follow from its payments. */
interface PaymentSummary {
  /** Payment that paid the order or was refunded, else the latest; null before the first attempt. */
  payment: PaymentObject | null
  commission: CommissionObject | null
  /** Sum over all payments. */
  refunded_total: string
  /** What stays with the shop: paid, less refunds, less the commission that was kept; null while unpaid. */
  store_net: string | null
  /** Whether the carrying payment is partially refunded. */
  partially_refunded: boolean
  /** Latest dispute of its payments. */
  dispute: DisputeObject | null
}

interface SummarizedOrder {
  readonly total: string
  readonly status: OrderStatus
  readonly payments: readonly PaymentObject[]
  readonly commission: CommissionObject | null
}

/** `carriedBy`: provider id of the payment that carries the order; null while unpaid. */
function paymentSummaryOf(order: SummarizedOrder, carriedBy: string | null): PaymentSummary {
  const { status, payments, commission } = order
  const carrier = findCarrier(payments, carriedBy)
  const disputes = payments.flatMap(({ dispute }) => dispute ?? [])
  const total = payments.reduce((sum, { refunded }) => sum + toCents(refunded), 0)
  const split = commission && {
    ...commission,
    refunded: refundedShare(commission, carriedBy === null ? null : carrier),
  }
  return {
    payment: displayedPayment(order, carrier),
    commission: split,
    refunded_total: fromCents(total),
    store_net: hasBeenPaid(payments) ? fromCents(toCents(netOfOrder(order)) - commissionKept(split)) : null,
    partially_refunded: status === 'paid' && carrier !== null && toCents(carrier.refunded) > 0,
    dispute: disputes.sort((a, b) => Date.parse(a.since) - Date.parse(b.since)).at(-1) ?? null,
  }
}

/** Cents of the commission that did not come back. */
export const commissionKept = (commission: Pick<CommissionObject, 'amount' | 'refunded'> | null): number =>
  commission === null ? 0 : toCents(commission.amount) - toCents(commission.refunded)

/** Refunded part of the commission; without a carrying payment all of it. */
const refundedShare = ({ amount, percentage }: CommissionObject, carrier: PaymentObject | null): string =>
  carrier === null ? amount : commissionRefunded(carrier.amount, percentage, carrier.refunded)

function displayedPayment({ status, payments }: SummarizedOrder, carrier: PaymentObject | null): PaymentObject | null {
  const last = payments.at(-1) ?? null
  if (status === 'refunded') return payments.findLast((payment) => payment.status === 'refunded') ?? last
  return carrier ?? last
}

type Placed = DataOf<'OrderPlaced'>

/** Order of an online store as the API returns it. */
export type OrderObject = Omit<Placed, 'store_id' | 'customer' | 'delivery' | 'receivable_id' | 'metadata'> &
  PaymentSummary & {
    /** Buyer; both ids are null if the buyer is not a customer of the company. */
    customer: Required<Placed['customer']>
    /** Null if it was left open. */
    delivery: NonNullable<Placed['delivery']> | null
    /** Null of a charge. */
    delivery_state: DeliveryState | null
    /** Account that it charges; null if it sells. */
    receivable_id: number | null
    metadata: Metadata | null
    /** Reference of its payments at the provider, unique across orders and installations. */
    provider_reference: string
    status: OrderStatus
    /** In the order of their first event. */
    payments: PaymentObject[]
    /** Refunds requested in this service, in that order. */
    refunds: RefundObject[]
    alarms: AlarmObject[]
    /** What of a charge became store credit; absent if nothing did. */
    surplus_credit?: SurplusCredit
    /** Latest sale that the service registered for it; null without one. */
    sale_id: number | null
    /** What left the stock with the sale and is not back; null if the service registered no sale. */
    goods_out: StockMove[] | null
    released_at: string | null
    /** When the goods left, or waited to be picked up; null before, and if they were handed over at once. */
    dispatched_at: string | null
    /** Delivery of the goods, independent of later refunds. */
    delivered_at: string | null
    refunded_at: string | null
    /** Cancellation by the store, independent of later payments. */
    cancelled_at: string | null
    cancel_reason: string | null
    /** Erasure of the personal data of buyer and payers. */
    forgotten_at: string | null
    created_at: string
    updated_at: string
  }

export interface SurplusCredit {
  readonly provider_payment_id: string
  readonly customer_id: number
  readonly amount: string
}

export type AlarmObject = Omit<DataOf<'OrderAlarmRaised'>, 'id'> & {
  raised_at: string
  acknowledged_at: string | null
  /** `user/1` or `api_key/1`. */
  acknowledged_by: string | null
}

/** Provider ids of refunds, by the refund before whose first call the provider listed them. */
type RefundsListed = Readonly<Record<string, readonly string[]>>

export interface OrderRow extends ChangedFields {
  company_id: number
  id: number
  external_id: string | null
  store_id: number
  store_alias: string
  provider_reference: string
  status: OrderStatus
  total_cents: number
  /** Provider id of the payment that carries the order; null while unpaid. */
  carrying_payment_id: string | null
  /** When it was paid (UTC); null before. */
  released_at: string | null
  /** Start of the latest attempt or refund; the sweep polls from here for missed notifications. */
  attempted_at: string | null
  /** Earliest deadline of a pending payment. */
  expires_at: string | null
  /** The buyer's customer record. */
  customer_id: number | null
  /** Name, document and e-mail of the buyer, and the external id. */
  search: string
  phone_key: string | null
  /** Erased parts of buyer and payers; null if none. */
  forgotten: readonly PersonPart[] | null
  /** Whether an alarm is not acknowledged. */
  has_open_alarm: boolean
  delivery_state: DeliveryState | null
  receivable_id: number | null
  /** Per refund, the refunds that the provider listed before its first call; null without any. */
  refunds_listed: RefundsListed | null
  doc: OrderObject
}

/** SQL of paid orders whose goods the buyer does not have. */
export const IS_TO_DELIVER = `status = 'paid' and delivery_state <> 'delivered'`

export const orders = table<OrderRow>('orders', {
  about: 'Orders of online stores with their payments; amounts in cents.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    store_id: 'bigint',
    store_alias: 'text',
    provider_reference: 'text',
    status: 'text',
    total_cents: 'bigint',
    carrying_payment_id: 'text',
    released_at: 'timestamptz',
    attempted_at: 'timestamptz',
    expires_at: 'timestamptz',
    customer_id: 'bigint',
    search: 'text',
    phone_key: 'text',
    forgotten: 'json',
    has_open_alarm: 'boolean',
    delivery_state: 'text',
    receivable_id: 'bigint',
    refunds_listed: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'] },
  indexes: [
    INDEX_BY_CHANGE,
    INDEX_BY_PAST,
    '(attempted_at) where attempted_at is not null',
    '(expires_at) where expires_at is not null',
    '(company_id, customer_id, id) where customer_id is not null',
    '(company_id, receivable_id, id) where receivable_id is not null',
    '(company_id, id) where has_open_alarm',
    `(company_id, id) where ${IS_TO_DELIVER}`,
    '(company_id, released_at) where released_at is not null',
  ],
  past: { id: 'id' },
})

export const orderById = (id: number) => byPk(orders, id)
export const orderByExternalId = (externalId: string) => byKey(orders, 'external', externalId)

/** Order ids among subjects. */
const ordersAmong = (subjects: readonly string[]): number[] =>
  subjects.map(parseSubject).flatMap(({ type, id }) => (type === 'order' ? [id] : []))

/** Fields of order events that all handlers read. */
interface OrderEvent {
  readonly data: { readonly id: number }
  readonly revision: number
  readonly recorded_at: string
  readonly actor: string | null
}

/**
 * Changes of an order by an event: its object, and columns of its row. `at` is the event's time in the company's zone.
 */
interface OrderChange {
  readonly doc?: Partial<OrderObject>
  readonly row?: Partial<
    Pick<OrderRow, 'carrying_payment_id' | 'released_at' | 'attempted_at' | 'forgotten' | 'refunds_listed'>
  >
}

function changeOrder(
  rows: Changes,
  event: OrderEvent,
  change: (row: Readonly<OrderRow>, moment: PaymentMoment) => OrderChange,
) {
  const before = existing(rows, orderById(event.data.id))
  const timezone = getTimezone(rows)
  const at = inZone(event.recorded_at, timezone)
  const changed = change(before, { at, timezone })
  const row = { ...before, ...changed.row }
  const shown = { ...before.doc, ...changed.doc, updated_at: at }
  // The provider may send erased data of buyer and payers again.
  const doc = row.forgotten ? withoutParts('order', shown, row.forgotten) : shown
  Object.assign(doc, paymentSummaryOf(doc, row.carrying_payment_id), { delivery_state: decideDeliveryState(doc) })
  rows.put(orders, {
    ...row,
    status: doc.status,
    expires_at: nextExpiry(doc.payments),
    ...searchedOf(doc),
    has_open_alarm: doc.alarms.some(isUnseen),
    delivery_state: doc.delivery_state,
    ...stamp(event),
    doc,
  })
}

/** Whether the alarm is not acknowledged. */
export const isUnseen = ({ acknowledged_at }: AlarmObject): boolean => acknowledged_at === null

const changing = <E extends OrderEvent>(
  change: (row: Readonly<OrderRow>, event: E, at: string, moment: PaymentMoment) => OrderChange,
) => ({
  refs: (event: E) => [orderById(event.data.id)],
  apply: (rows: Changes, event: E) => changeOrder(rows, event, (row, moment) => change(row, event, moment.at, moment)),
})

/**
 * Unique beyond the id: another system or an earlier database may use the same provider account, and its payments must
 * not match this order.
 */
const referenceOf = (event: EventOf<'OrderPlaced'>): string => `order-${event.data.id}-${event.id}`

const searchedOf = ({ customer: { name, document, email, phone }, external_id }: OrderObject) => ({
  search: searchText(name, document, email, external_id),
  phone_key: phone && phoneKey(phone),
})

function orderObject(event: EventOf<'OrderPlaced'>, timezone: string): OrderObject {
  const {
    id,
    external_id,
    store_alias,
    customer,
    items,
    subtotal,
    delivery_fee,
    total,
    delivery,
    receivable_id = null,
  } = event.data
  const at = inZone(event.recorded_at, timezone)
  return {
    id,
    external_id,
    store_alias,
    provider_reference: referenceOf(event),
    status: 'pending',
    customer,
    items,
    subtotal,
    delivery_fee,
    total,
    delivery: delivery ? { ...delivery, due_at: delivery.due_at && inZone(delivery.due_at, timezone) } : null,
    delivery_state: receivable_id === null ? 'to_do' : null,
    receivable_id,
    metadata: event.data.metadata ?? null,
    payment: null,
    payments: [],
    commission: null,
    refunded_total: '0.00',
    store_net: null,
    partially_refunded: false,
    dispute: null,
    refunds: [],
    alarms: [],
    sale_id: null,
    goods_out: null,
    released_at: null,
    dispatched_at: null,
    delivered_at: null,
    refunded_at: null,
    cancelled_at: null,
    cancel_reason: null,
    forgotten_at: null,
    created_at: at,
    updated_at: at,
  }
}

/** Goods out of stock after further ones left, or came back (negative quantities). */
function goodsAfter(out: readonly StockMove[], moves: readonly StockMove[]): StockMove[] {
  return [...thousandthsByItem([...out, ...moves])].flatMap(([catalog_item_id, thousandths]) =>
    thousandths > 0 ? [{ catalog_item_id, quantity: fromThousandths(thousandths) }] : [],
  )
}

export const ordersProjection = projection('orders', [orders], {
  OrderPlaced: {
    apply(rows, event) {
      const { id, external_id, store_id, store_alias, total } = event.data
      const doc = orderObject(event, getTimezone(rows))
      rows.add(orders, {
        company_id: companyRef(rows).company_id,
        id,
        external_id,
        store_id,
        store_alias,
        provider_reference: doc.provider_reference,
        status: doc.status,
        total_cents: toCents(total),
        carrying_payment_id: null,
        released_at: null,
        attempted_at: null,
        expires_at: null,
        customer_id: doc.customer.id,
        ...searchedOf(doc),
        forgotten: null,
        has_open_alarm: false,
        delivery_state: doc.delivery_state,
        receivable_id: doc.receivable_id,
        refunds_listed: null,
        ...stamp(event),
        doc,
      })
    },
  },
  PaymentStarted: changing(({ doc }, { data, recorded_at }: EventOf<'PaymentStarted'>, _at, moment) => ({
    doc: { payments: startAttempt(doc.payments, data, moment) },
    row: { attempted_at: recorded_at },
  })),
  OrderRefundRequested: changing(({ doc }, { data, recorded_at }: EventOf<'OrderRefundRequested'>, at) => ({
    doc: { refunds: refundRequested(doc.refunds, data, at) },
    // Schedules the sweep, because notifications of the refund may be lost.
    row: { attempted_at: recorded_at },
  })),
  OrderRefundPrepared: changing(({ refunds_listed }, { data }: EventOf<'OrderRefundPrepared'>) => ({
    row: { refunds_listed: { ...refunds_listed, [data.refund_id]: data.listed } },
  })),
  OrderRefundAccepted: changing(({ doc }, { data }: EventOf<'OrderRefundAccepted'>) => ({
    doc: { refunds: refundAccepted(doc.refunds, data) },
  })),
  OrderRefundRefused: changing(({ doc }, { data }: EventOf<'OrderRefundRefused'>) => ({
    doc: { refunds: refundRefused(doc.refunds, data) },
  })),
  OrderRefundCompleted: changing(({ doc }, { data }: EventOf<'OrderRefundCompleted'>, at) => ({
    doc: { refunds: refundCompleted(doc.refunds, data, at) },
  })),
  OrderPartiallyRefunded: changing(() => ({})),
  PaymentRefused: changing(({ doc }, { data }: EventOf<'PaymentRefused'>, at) => ({
    doc: { payments: refuseAttempt(doc.payments, data, at) },
  })),
  PaymentRecorded: changing(({ doc }, { data }: EventOf<'PaymentRecorded'>, _at, moment) => ({
    doc: { payments: paymentRecorded(doc.payments, data, doc.total, moment) },
  })),
  OrderAlarmRaised: changing(({ doc }, { data }: EventOf<'OrderAlarmRaised'>, raised_at) => {
    const { code, provider_payment_id } = data
    const raised = { code, provider_payment_id, raised_at, acknowledged_at: null, acknowledged_by: null }
    return { doc: { alarms: [...doc.alarms, raised] } }
  }),
  OrderSurplusCredited: changing((_row, { data }: EventOf<'OrderSurplusCredited'>) => {
    const { provider_payment_id, credit, credited: amount } = data
    return { doc: { surplus_credit: { provider_payment_id, customer_id: credit.customer_id, amount } } }
  }),
  OrderAlarmAcknowledged: changing(({ doc }, { data, actor }: EventOf<'OrderAlarmAcknowledged'>, acknowledged_at) => ({
    doc: {
      alarms: doc.alarms.map((alarm) =>
        alarm.provider_payment_id === data.provider_payment_id && isUnseen(alarm)
          ? { ...alarm, acknowledged_at, acknowledged_by: actor }
          : alarm,
      ),
    },
  })),
  SaleCompleted: {
    refs: ({ data: { order_id } }) => (order_id === undefined ? [] : [orderById(order_id)]),
    apply(rows, event) {
      const { id: sale_id, order_id, items } = event.data
      if (order_id === undefined) return
      changeOrder(rows, { ...event, data: { id: order_id } }, ({ doc: { goods_out } }) => ({
        doc: { sale_id, goods_out: goodsAfter(goods_out ?? [], stockMoves(items)) },
      }))
    },
  },
  StockAdjusted: {
    refs: ({ data: { order_id } }) => (order_id === undefined ? [] : [orderById(order_id)]),
    apply(rows, event) {
      const { id: catalog_item_id, order_id, before, after } = event.data
      if (order_id === undefined || before === null || after === null) return
      const quantity = fromThousandths(toThousandths(before) - toThousandths(after))
      changeOrder(rows, { ...event, data: { id: order_id } }, ({ doc: { goods_out } }) => ({
        doc: { goods_out: goods_out && goodsAfter(goods_out, [{ catalog_item_id, quantity }]) },
      }))
    },
  },
  OrderDispatched: changing((_row, _event, dispatched_at) => ({ doc: { dispatched_at } })),
  OrderDelivered: changing((_row, _event, delivered_at) => ({ doc: { delivered_at } })),
  OrderDeliveryUndone: changing(() => ({ doc: { dispatched_at: null, delivered_at: null } })),
  OrderPaid: changing((_row, { recorded_at }: EventOf<'OrderPaid'>, at) => ({
    doc: { status: 'paid', released_at: at, refunded_at: null },
    row: { released_at: recorded_at },
  })),
  OrderPending: changing(() => ({ doc: { status: 'pending', refunded_at: null } })),
  OrderFailed: changing(() => ({ doc: { status: 'failed' } })),
  OrderCancelled: changing(() => ({ doc: { status: 'cancelled' } })),
  OrderExpired: changing(() => ({ doc: { status: 'cancelled' } })),
  OrderCancelledByStore: changing((_row, { data: { reason } }: EventOf<'OrderCancelledByStore'>, cancelled_at) => ({
    doc: { status: 'cancelled', cancelled_at, cancel_reason: reason },
  })),
  OrderRefunded: changing((_row, _event, at) => ({ doc: { status: 'refunded', refunded_at: at } })),
  CommissionSplit: changing((_row, { data }: EventOf<'CommissionSplit'>) => {
    const { percentage, amount, store_amount, provider_payment_id } = data
    return {
      doc: { commission: { percentage, amount, store_amount, refunded: '0.00', reversed_at: null } },
      row: { carrying_payment_id: provider_payment_id },
    }
  }),
  CommissionReversed: changing(({ doc: { commission } }, _event, reversed_at) => ({
    doc: { commission: commission && { ...commission, reversed_at } },
    row: { carrying_payment_id: null },
  })),
  PersonForgotten: {
    refs: ({ data }) => ordersAmong(data.subjects).map(orderById),
    apply(rows, event) {
      const { subjects, parts } = event.data
      for (const id of ordersAmong(subjects)) {
        if (!rows.wants(orderById(id))) continue
        changeOrder(rows, { ...event, data: { id } }, ({ forgotten }, { at }) => ({
          ...(parts.includes('identity') && { doc: { forgotten_at: at } }),
          row: { forgotten: [...new Set([...(forgotten ?? []), ...parts])] },
        }))
      }
    },
  },
})
