import { createHmac, timingSafeEqual } from 'node:crypto'
import { fromCents, takePercent, toCents } from './money.ts'

/** Statuses of an order and of each of its payments (ORDER-3, ORDER-4). */
export const ORDER_STATUSES = ['pending', 'paid', 'failed', 'cancelled', 'refunded'] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

/** How the goods of an order reach the buyer. */
export const DELIVERY_METHODS = ['delivery', 'pickup'] as const
export type DeliveryMethod = (typeof DELIVERY_METHODS)[number]

/** States of the goods of an order. */
export const DELIVERY_STATES = ['to_do', 'out_for_delivery', 'ready_for_pickup', 'delivered'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** State of an order's goods by its marks; null of a charge, which has none. */
export function decideDeliveryState(order: {
  readonly delivery: { readonly method: DeliveryMethod } | null
  readonly dispatched_at: string | null
  readonly delivered_at: string | null
  readonly receivable_id: number | null
}): DeliveryState | null {
  if (order.receivable_id !== null) return null
  if (order.delivered_at !== null) return 'delivered'
  if (order.dispatched_at === null) return 'to_do'
  return stateAfterDispatch(order.delivery)
}

export const stateAfterDispatch = (delivery: { readonly method: DeliveryMethod } | null): DeliveryState =>
  delivery?.method === 'pickup' ? 'ready_for_pickup' : 'out_for_delivery'

/** Own status for each status of the provider (ORDER-3). */
const STATUSES: Readonly<Record<string, OrderStatus>> = {
  approved: 'paid',
  pending: 'pending',
  in_process: 'pending',
  authorized: 'pending',
  rejected: 'failed',
  cancelled: 'cancelled',
  refunded: 'refunded',
}

/** Buyer's claim at the provider or card issuer: open, or decided for or against the shop. */
export const DISPUTE_STATUSES = ['open', 'lost', 'won'] as const
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number]

/** Own status and dispute for the provider's status (ORDER-3, ORDER-14). */
interface ReportedStatus {
  readonly status: OrderStatus
  readonly dispute: DisputeStatus | null
}

/** Null for an unknown status of the provider, which changes nothing. */
export function readStatus(providerStatus: string, detail: string | null): ReportedStatus | null {
  // Only paid payments are disputed: the money stays until a decision.
  if (providerStatus === 'in_mediation') return { status: 'paid', dispute: 'open' }
  if (providerStatus === 'charged_back') {
    if (detail === 'reimbursed') return { status: 'paid', dispute: 'won' }
    return { status: 'refunded', dispute: detail === 'settled' ? 'lost' : 'open' }
  }
  if (!Object.hasOwn(STATUSES, providerStatus)) return null
  return { status: STATUSES[providerStatus] as OrderStatus, dispute: null }
}

/** Whether a payment is pending at the provider. */
export const isPending = (providerStatus: string): boolean => STATUSES[providerStatus] === 'pending'

/** Outcome of a notification. `refused`: invalid; `failed`: valid, and should be repeated. */
export const NOTIFICATION_OUTCOMES = ['applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed'] as const
export type NotificationOutcome = (typeof NOTIFICATION_OUTCOMES)[number]

/** Progress of a payment. Notifications may be lost, so a move may skip steps. */
const RANKS: Readonly<Record<OrderStatus, number>> = { pending: 0, failed: 1, cancelled: 1, paid: 2, refunded: 3 }

/** State of a payment, recorded or reported. */
export interface PaymentState extends ReportedStatus {
  /** Refunded so far. */
  readonly refundedCents: number
  /** Last change at the provider, Unix ms; null if it reports none. */
  readonly changedAt: number | null
}

/**
 * Decides whether a reported state applies. Payments only move forward, except that a dispute won by the shop returns
 * the money. `before` is null for a new payment.
 */
export function classifyReport(before: PaymentState | null, reported: PaymentState): 'applied' | 'duplicate' | 'stale' {
  if (before === null) return 'applied'
  const isSame = before.status === reported.status && before.refundedCents === reported.refundedCents
  const dispute = disputeAfter(before, reported)
  if (isSame && before.dispute === dispute) return 'duplicate'
  if (isEarlier(reported, before)) return 'stale'
  if (before.status !== reported.status) return isForwardMove(before, reported) ? 'applied' : 'stale'
  if (before.refundedCents !== reported.refundedCents)
    return reported.refundedCents > before.refundedCents ? 'applied' : 'stale'
  const isOld = dispute === 'open' && before.dispute !== null && !isEarlier(before, reported)
  return isOld ? 'stale' : 'applied'
}

function isForwardMove(before: PaymentState, reported: PaymentState): boolean {
  if (RANKS[reported.status] > RANKS[before.status]) return true
  const isBack = before.status === 'refunded' && reported.status === 'paid' && before.dispute !== null
  return isBack && (reported.dispute === 'won' || isEarlier(before, reported))
}

const isEarlier = (one: PaymentState, other: PaymentState): boolean =>
  one.changedAt !== null && other.changedAt !== null && one.changedAt < other.changedAt

/** Dispute after a report: the provider no longer mentions a finished dispute. */
export function disputeAfter(before: PaymentState | null, reported: PaymentState): DisputeStatus | null {
  const known = before?.dispute ?? null
  if (reported.dispute !== null || before === null || known === null || known === 'won')
    return reported.dispute ?? known
  if (reported.status === 'refunded') return 'lost'
  return reported.status === 'paid' && isEarlier(before, reported) ? 'won' : known
}

/** Payment fields that determine the order's status. */
interface OrderPayment {
  /** Null until the provider reports a payment: the attempt is pending, or failed. */
  readonly provider_payment_id: string | null
  readonly status: OrderStatus
}

/**
 * Derives the order's status from its payments and a cancellation by its store, so that the order of their news does
 * not matter (ORDER-5, ORDER-9, ADR-0014). `payments` are in the order of their attempts.
 */
export function decideOrderStatus(payments: readonly OrderPayment[], isCancelledByStore = false): OrderStatus {
  const known = payments.filter((payment) => payment.provider_payment_id !== null)
  const has = (status: OrderStatus) => known.some((payment) => payment.status === status)
  if (has('paid')) return 'paid'
  if (has('pending') && !isCancelledByStore) return 'pending'
  // A refund is shown regardless of the other attempts.
  if (has('refunded')) return 'refunded'
  return isCancelledByStore ? 'cancelled' : (known.at(-1)?.status ?? 'pending')
}

/**
 * Whether money was ever received, refunded or not. If so, the order is neither paid again nor cancelled.
 */
export const hasBeenPaid = (payments: readonly OrderPayment[]): boolean =>
  payments.some(({ status }) => status === 'paid' || status === 'refunded')

/** Whether the order can still be paid: no money received, and not cancelled by its store. */
export const canBePaid = ({
  payments,
  cancelled_at,
}: {
  readonly payments: readonly OrderPayment[]
  readonly cancelled_at: string | null
}): boolean => cancelled_at === null && !hasBeenPaid(payments)

/** Whether less is owed of the account than the order would take: it was paid, lowered or deleted since. */
export const isChargeOver = (
  account: { readonly open_cents: number; readonly deleted_at: string | null } | null,
  total: string,
): boolean => account === null || account.deleted_at !== null || account.open_cents < toCents(total)

/** Payment that carries a paid order: the current one while it is paid, else the first paid one; null if none. */
export function findCarrier<P extends OrderPayment>(payments: readonly P[], current: string | null): P | null {
  const paid = payments.filter((payment) => payment.provider_payment_id !== null && payment.status === 'paid')
  return paid.find((payment) => payment.provider_payment_id === current) ?? paid[0] ?? null
}

/**
 * Refunded commission in cents: the commission less the percentage of the remaining money. Cumulative, so that partial
 * refunds never exceed the commission.
 */
export function commissionRefunded(paid: string, percentage: string, refunded: string): string {
  const stays = takePercent(toCents(paid) - toCents(refunded), percentage)
  return fromCents(takePercent(toCents(paid), percentage) - stays)
}

/** Split of a paid amount between service and store, in exact cents. */
interface Split {
  readonly percentage: string
  /** The service's commission, sent to the provider as application fee. */
  readonly amount: string
  readonly store_amount: string
}

/**
 * The commission is the percentage of the amount, rounded half up to cents; the store gets the rest, so that both add
 * up.
 */
export function splitCommission(amount: string, percentage: string): Split {
  const cents = toCents(amount)
  const share = takePercent(cents, percentage)
  return { percentage, amount: fromCents(share), store_amount: fromCents(cents - share) }
}

/** Settings of the buyers' payment links. */
export interface PaymentLinks {
  /** Secret of the installation; with it the link of any order can be made. */
  readonly secret: Buffer
  /** Public base URL without trailing slash. Null without public access: then there are no links. */
  readonly publicUrl: string | null
}

/** Identifies an order, even across discarded or restored databases. */
interface LinkedOrder {
  readonly id: number
  readonly store_alias: string
  readonly provider_reference: string
}

/** 132 bits each. */
const HALF = 22
const TOKEN = new RegExp(`^([1-9]\\d{0,14})-([A-Za-z0-9_-]{${HALF}})[A-Za-z0-9_-]{${HALF}}$`)

const macOf = (secret: Buffer, ...parts: (string | number)[]): string =>
  createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url').slice(0, HALF)

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const aliasHalf = (secret: Buffer, alias: string, id: number): string => macOf(secret, 'order', alias, id)

/** Token of an order: its id, a MAC of store and id, and a MAC of the unique reference (ORDER-30, ADR-0025). */
export const createOrderToken = (secret: Buffer, { id, store_alias, provider_reference }: LinkedOrder): string =>
  `${id}-${aliasHalf(secret, store_alias, id)}${macOf(secret, 'reference', provider_reference)}`

/** Order id of a token that was issued here for the store; null otherwise. Needs no database. */
export function parseOrderToken(secret: Buffer, alias: string, token: string): number | null {
  const [, id, half = ''] = TOKEN.exec(token) ?? []
  return id !== undefined && isSame(half, aliasHalf(secret, alias, Number(id))) ? Number(id) : null
}

/** Verifies the token of an order in constant time. */
export const isOrderToken = (secret: Buffer, token: string, order: LinkedOrder): boolean =>
  isSame(token, createOrderToken(secret, order))

/** CSRF code of forms on the token's page: only the page contains it. */
export const createFormCode = (secret: Buffer, token: string): string => macOf(secret, 'form', token)

export const isFormCode = (secret: Buffer, token: string, code: string): boolean =>
  isSame(code, createFormCode(secret, token))

/** Path of the pages for buyers. */
export const CHECKOUT = '/pagar'

type Payable = LinkedOrder & { readonly payments: readonly OrderPayment[]; readonly cancelled_at: string | null }

/** Payment link of an order; null if it can no longer be paid. */
export const toPaymentUrl = ({ secret, publicUrl }: PaymentLinks, order: Payable): string | null =>
  publicUrl !== null && canBePaid(order)
    ? `${publicUrl}${CHECKOUT}/${order.store_alias}/${createOrderToken(secret, order)}`
    : null

/** Adds the payment link to an order's JSON text. */
export function withPaymentUrl(links: PaymentLinks, record: string): string {
  const url = toPaymentUrl(links, JSON.parse(record))
  return `${record.slice(0, -1)},"payment_url":${JSON.stringify(url)}}`
}
