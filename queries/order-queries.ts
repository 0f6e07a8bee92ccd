import {
  canBePaid,
  type NotificationOutcome,
  type OrderStatus,
  type PaymentLinks,
  withPaymentUrl,
} from '#domain/order-states.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { Queryable } from '#postgres/database.ts'
import { centsSql } from '#projections/cash-takings.ts'
import { type CompanyObject, companysTimeSql, MASKED_NAME } from '#projections/companies.ts'
import { isPaymentOpen, type PaymentObject } from '#projections/order-payments.ts'
import { IS_TO_DELIVER, type OrderObject } from '#projections/orders.ts'
import type { PersonFields } from '#projections/people.ts'
import type { FilterValues } from '#records/field.ts'
import type { ORDER_FILTERS } from '#records/list-filters.ts'
import type { StoreAccess } from './company-queries.ts'
import { type Sum, sumColumn, sumStatement } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  localTime,
  matchingRecords,
  ORDER_BY_ID,
  type Page,
  type Paging,
} from './record-queries.ts'
import { t } from './table-names.ts'

type OrderFilters = FilterValues<typeof ORDER_FILTERS>

export const orderListing: Listing<OrderFilters> = {
  resource: 'orders',
  from: `${t.orders} t`,
  record: 't.doc',
  filters: {
    status: (value) => `t.status = ${value}::text`,
    store_alias: (value) => `t.store_alias = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
    delivery_state: (value) =>
      `case ${value}::text when 'open' then t.delivery_state <> 'delivered' else t.delivery_state = ${value}::text end`,
    receivable_id: (value) => `t.receivable_id = ${value}::bigint`,
    alarm: (value) => `t.has_open_alarm and ${value}::text = 'open'`,
  },
}

/** Bound of orders in a sum, newest first; a count of one more means that there are more. */
export const MAX_SUMMED_ORDERS = 10_000

/** Counts and sums the filtered orders. */
export async function sumOrders(reader: Reader, filters: OrderFilters): Promise<Sum> {
  const matching = matchingRecords(orderListing, filters, 3)
  const text = `select ${sumColumn('total_cents', 'true')} as found
    from (select t.total_cents from ${t.orders} t where ${matching.condition}
      order by t.id desc limit $2::bigint + 1) found`
  const values = [MAX_SUMMED_ORDERS, ...matching.values]
  const statement = sumStatement('sum_orders', text, matching.values.length)
  const { rows } = await reader.query<{ found: Sum }>({ ...statement, values, readSet: { orders: 'columns' } })
  return (rows[0] as { found: Sum }).found
}

/** Commission of the orders that were paid in a period and are sales, less what came back of it, in cents. */
export interface CommissionSums {
  readonly cents: bigint
  /** The part of sales with known costs. */
  readonly known_cents: bigint
}

const COMMISSION = {
  name: 'sum_commission',
  text: `select coalesce(sum(c.cents), 0)::text as cents,
      coalesce(sum(c.cents) filter (where s.cost_cents is not null), 0)::text as known_cents
    from ${t.orders} o
    join ${t.sales} s on s.company_id = o.company_id and s.id = (o.doc ->> 'sale_id')::bigint and s.status = 'completed'
    cross join lateral (select ${centsSql("o.doc -> 'commission' ->> 'amount'")}
      - ${centsSql("o.doc -> 'commission' ->> 'refunded'")} as cents) c
    where o.company_id = $1 and o.released_at >= $2::timestamptz and o.released_at < $3::timestamptz`,
}

export async function sumCommission(
  reader: Reader,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<CommissionSums> {
  const { rows } = await reader.query<{ cents: string; known_cents: string }>({
    ...COMMISSION,
    values: [from, to],
  })
  const { cents = '0', known_cents = '0' } = rows[0] ?? {}
  return { cents: BigInt(cents), known_cents: BigInt(known_cents) }
}

/** An order with its payment link; null once it cannot be paid. */
export type ShownOrder = OrderObject & { payment_url: string | null }

interface LinkOptions {
  readonly paymentLinks: PaymentLinks
}

const shownListing = ({ paymentLinks }: LinkOptions): Listing<OrderFilters> => ({
  ...orderListing,
  complete: (record) => withPaymentUrl(paymentLinks, record),
})

export const listOrders = (
  reader: Reader,
  query: ListPaging & OrderFilters,
  linking: LinkOptions,
): Promise<Page | Refusal> => list(reader, shownListing(linking), query)

export const getOrder = (reader: Reader, id: number, linking: LinkOptions): Promise<FoundRecords> =>
  getBy(reader, shownListing(linking), 'id', id)

export const getOrderByExternalId = (reader: Reader, externalId: string, linking: LinkOptions): Promise<FoundRecords> =>
  getBy(reader, shownListing(linking), 'external_id', externalId)

interface PayableOrder {
  readonly order: OrderObject
  /** From the customer's record, if the order has one and it still has an address. */
  readonly address: PersonFields['address']
}

/** An order with its buyer's address; null if the company has no such order. */
export async function findPayableOrder(reader: Reader, orderId: number): Promise<PayableOrder | null> {
  const { rows } = await reader.query<PayableOrder>({
    name: 'find_payable_order',
    text: `select o.doc as order, c.doc -> 'address' as address
           from ${t.orders} o
           left join ${t.customers} c on c.company_id = o.company_id and c.id = (o.doc -> 'customer' ->> 'id')::bigint
             and c.deleted_at is null
           where o.company_id = $1 and o.id = $2`,
    values: [orderId],
  })
  return rows[0] ?? null
}

/** What a shop's pages for buyers say of it. */
export type Shop = Pick<CompanyObject, 'name' | 'cnpj' | 'address' | 'phone' | 'logo_url' | 'brand_color'>

/** An order as its buyer sees it. */
export interface BuyersOrder {
  readonly companyId: number
  readonly order: OrderObject
  /** Of the last change. */
  readonly revision: number
  readonly shop: Shop
  readonly timezone: string
  /** Whether the store takes payments. */
  readonly enabled: boolean
  /** Present units by id of item. */
  readonly units: Readonly<Record<string, string>>
  /** Whether the account that it charges owes less by now. */
  readonly is_over: boolean
  /** The company's time by the database clock (UTC), which ends the time to pay. */
  readonly now: string
}

/** The order of a store by alias; null if the store has no such order. */
export async function findBuyersOrder(pool: Queryable, alias: string, orderId: number): Promise<BuyersOrder | null> {
  const { rows } = await pool.query<BuyersOrder>({
    name: 'find_buyers_order',
    text: `select o.company_id as "companyId", o.doc as order, o.revision, json_build_object(
                    'name', ${MASKED_NAME}, 'cnpj', c.doc -> 'cnpj', 'address', c.doc -> 'address', 'phone', c.doc -> 'phone',
                    'logo_url', c.doc -> 'logo_url', 'brand_color', c.doc -> 'brand_color') as shop, c.timezone,
                  s.enabled, o.receivable_id is not null and coalesce(r.open_cents, 0) < o.total_cents as is_over,
                  (select coalesce(json_object_agg(i.id, i.doc ->> 'unit'), '{}') from catalog_items i
                   where i.company_id = o.company_id and i.doc ->> 'unit' is not null and i.id in (
                     select (line ->> 'catalog_item_id')::bigint from json_array_elements(o.doc -> 'items') line)) as units,
                  ${companysTimeSql('clock_timestamp()')} as now
           from stores s
           join orders o on o.company_id = s.company_id and o.id = $2 and o.store_id = s.id
           join companies c on c.company_id = s.company_id
           left join receivables r on r.company_id = o.company_id and r.id = o.receivable_id and r.deleted_at is null
           where s.alias = $1`,
    values: [alias, orderId],
  })
  return rows[0] ?? null
}

/** Revisions of the last changes of some orders. */
export async function revisionsOfOrders(
  reader: Reader,
  ids: readonly number[],
): Promise<{ id: number; revision: number }[]> {
  const { rows } = await reader.query<{ id: number; revision: number }>({
    name: 'revisions_of_orders',
    text: `select id, revision from ${t.orders} where company_id = $1 and id = any($2::bigint[])`,
    values: [ids],
  })
  return rows
}

export interface NotifiedOrder {
  readonly store: StoreAccess
  readonly id: number
  readonly status: OrderStatus
  readonly reference: string
  readonly totalCents: number
}

/** The order in a notification's URL; null if it is not the store's. */
export async function findNotifiedOrder(
  pool: Queryable,
  store: StoreAccess,
  orderId: number,
): Promise<NotifiedOrder | null> {
  const { rows } = await pool.query<Omit<NotifiedOrder, 'store'>>({
    name: 'find_notified_order',
    text: `select id, status, provider_reference as reference, total_cents as "totalCents" from orders where company_id = $1 and id = $2 and store_id = $3`,
    values: [store.companyId, orderId, store.id],
  })
  return rows[0] ? { store, ...rows[0] } : null
}

/** A notification of the payment provider; the answer's fields are null until it is answered. */
export interface NotificationObject {
  id: number
  received_at: string
  /** The body as sent: JSON, a text if it was no JSON, null if it was not read. */
  payload: unknown
  response: object | null
  http_status: number | null
  duration_ms: number | null
  outcome: NotificationOutcome | null
}

/** Payload and answer are stored as JSON texts, byte for byte. */
interface StoredNotification extends Omit<NotificationObject, 'payload' | 'response'> {
  payload: string | null
  response: string | null
}

function presentNotification(record: unknown, timezone: string): NotificationObject {
  const { received_at, payload, response, ...rest } = record as StoredNotification
  const { id, ...outcome } = rest
  return {
    id,
    received_at: localTime(received_at, timezone),
    payload: payload === null ? null : JSON.parse(payload),
    response: response === null ? null : JSON.parse(response),
    ...outcome,
  }
}

const notificationListing: Listing<{ order: number }> = {
  resource: 'order_notifications',
  from: `${t.payment_notifications} t`,
  record: `json_build_object('id', t.id, 'received_at', t.received_at, 'payload', t.payload, 'response', t.response,
    'http_status', t.http_status, 'duration_ms', t.duration_ms, 'outcome', t.outcome)`,
  filters: { order: (id) => `t.order_id = ${id}::bigint` },
  present: presentNotification,
}

/** The notifications of an order, in order of arrival. */
export const listNotifications = (reader: Reader, order: number, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, notificationListing, ORDER_BY_ID, { ...query, order })

const COUNTED = 100

/** Orders that wait for the shop, each at most 100. */
export interface PendingOrders {
  /** With an unacknowledged alarm. */
  readonly alarmed: number
  /** Paid, and the buyer does not have the goods. */
  readonly to_deliver: number
  /** Of these the ones whose time has passed. */
  readonly late: number
}

export async function countPendingOrders(reader: Reader, now: string): Promise<PendingOrders> {
  const { rows } = await reader.query<PendingOrders>({
    name: 'count_pending_orders',
    text: `select (select count(*) from (select from ${t.orders} where company_id = $1 and has_open_alarm limit $2) a)::integer as alarmed,
                  count(*)::integer as to_deliver,
                  count(*) filter (where (w.doc -> 'delivery' ->> 'due_at')::timestamptz < $3::timestamptz)::integer as late
           from (select doc from ${t.orders} where company_id = $1 and ${IS_TO_DELIVER} order by id limit $2) w`,
    values: [COUNTED, now],
  })
  return rows[0] ?? { alarmed: 0, to_deliver: 0, late: 0 }
}

type Pix = NonNullable<PaymentObject['pix']>
type Boleto = NonNullable<PaymentObject['boleto']>

/** State of an order for its buyer, and the next action. */
export type CheckoutState =
  | { readonly is: 'paid'; readonly refunded: string | null }
  | { readonly is: 'refunded' }
  | { readonly is: 'cancelled' }
  /** Seconds left; null without an end. */
  | { readonly is: 'pix'; readonly pix: Pix; readonly secondsLeft: number | null }
  | { readonly is: 'boleto'; readonly boleto: Boleto }
  /** The time to pay is over, and ends at the provider within a minute. */
  | { readonly is: 'ending' }
  /** Pending without a way to pay here: the provider has not answered yet, or reviews a card. */
  | { readonly is: 'starting' | 'in_review' }
  /** Nothing pending; the outcome of the previous attempt, if any. */
  | { readonly is: 'unpaid'; readonly before: 'expired' | 'cancelled' | 'failed' | null }

/** `now` is an instant (UTC). */
export function toCheckoutState(order: OrderObject, now: string): CheckoutState {
  const { payments, status, refunded_total } = order
  if (status === 'paid') return { is: 'paid', refunded: order.partially_refunded ? refunded_total : null }
  if (!canBePaid(order)) return { is: status === 'refunded' ? 'refunded' : 'cancelled' }
  const open = payments.findLast(isPaymentOpen)
  return open ? waiting(open, now) : { is: 'unpaid', before: endOf(payments.at(-1) ?? null, now) }
}

function waiting({ pix, boleto, method, expires_at }: PaymentObject, now: string): CheckoutState {
  const left = expires_at === null ? null : Math.floor((Date.parse(expires_at) - Date.parse(now)) / 1000)
  if (left !== null && left <= 0) return { is: 'ending' }
  if (pix) return { is: 'pix', pix, secondsLeft: left }
  if (boleto) return { is: 'boleto', boleto }
  return { is: method === 'pix' ? 'starting' : 'in_review' }
}

function endOf(last: PaymentObject | null, now: string): 'expired' | 'cancelled' | 'failed' | null {
  if (last === null) return null
  if (last.status !== 'cancelled') return 'failed'
  const isLate = last.expires_at !== null && Date.parse(last.expires_at) <= Date.parse(now)
  return isLate || last.provider_status_detail === 'expired' ? 'expired' : 'cancelled'
}

/** Why the last payment did not pay an order that can still be paid, for shop and buyer. */
export const ENDED_PAYMENTS = {
  expired: 'Prazo para pagar encerrado',
  cancelled: 'Pagamento cancelado',
  failed: 'Pagamento não aprovado',
} as const

/** Null if nothing was tried, something is pending, or the order cannot be paid any more. */
export function findEndedPayment(state: CheckoutState): keyof typeof ENDED_PAYMENTS | null {
  if (state.is === 'ending') return 'expired'
  return state.is === 'unpaid' ? state.before : null
}

/**
 * Whether the buyer may request a Pix: nothing is pending, or the last request was not answered, which is safe to
 * repeat.
 */
export const mayAskForPix = ({ is }: CheckoutState): boolean => is === 'unpaid' || is === 'starting'
