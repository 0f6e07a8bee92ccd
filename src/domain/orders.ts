import { fromCents, percentOf, toCents } from './money.ts'

/** States of an order and of each of its payments (ORDER-3, ORDER-4). */
export const ORDER_STATUSES = ['pending', 'paid', 'failed', 'cancelled', 'refunded'] as const
export type OrderStatus = (typeof ORDER_STATUSES)[number]

/** Our status for each of the provider's (ORDER-3). */
const STATUSES: Readonly<Record<string, OrderStatus>> = {
  approved: 'paid',
  pending: 'pending',
  in_process: 'pending',
  authorized: 'pending',
  in_mediation: 'pending',
  rejected: 'failed',
  cancelled: 'cancelled',
  refunded: 'refunded',
  charged_back: 'refunded',
}

/** Null for a status of the provider that is unknown here, which changes nothing. */
export const statusOfProvider = (providerStatus: string): OrderStatus | null =>
  Object.hasOwn(STATUSES, providerStatus) ? (STATUSES[providerStatus] as OrderStatus) : null

/** What came of a notification (RCV-11). `refused`: it was wrong; `failed`: it was not, and should come again. */
export const NOTIFICATION_OUTCOMES = ['applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed'] as const
export type NotificationOutcome = (typeof NOTIFICATION_OUTCOMES)[number]

/** How far a payment has come. A notification may be lost, so a move may pass over what lies between. */
const RANKS: Readonly<Record<OrderStatus, number>> = { pending: 0, failed: 1, cancelled: 1, paid: 2, refunded: 3 }

/** What comes of a status that the provider tells of a payment: only forward moves are made. `before` is null for a payment not known yet. */
export function judge(before: OrderStatus | null, told: OrderStatus): 'applied' | 'duplicate' | 'stale' {
  if (before === told) return 'duplicate'
  return before === null || RANKS[told] > RANKS[before] ? 'applied' : 'stale'
}

/** What the moves of an order look at in one of its payments. */
export interface OrderPayment {
  /** Null while the provider has not told of a payment: the attempt is under way, or came to nothing. */
  readonly provider_payment_id: string | null
  readonly status: OrderStatus
}

/** The first of these that any payment has is the order's status. */
const BY_WEIGHT = ['paid', 'refunded', 'cancelled', 'failed'] as const

/**
 * The status of an order follows from those of its payments and from nothing else: in whatever order news of them arrives,
 * it ends the same (decision 15).
 */
export function orderStatusOf(payments: readonly OrderPayment[]): OrderStatus {
  const known = payments.filter((payment) => payment.provider_payment_id !== null)
  return BY_WEIGHT.find((status) => known.some((payment) => payment.status === status)) ?? 'pending'
}

/** The payment that carries a paid order: the one that already does, else the first that is paid; null when none is. */
export function carrierOf<P extends OrderPayment>(payments: readonly P[], current: string | null): P | null {
  const paid = payments.filter((payment) => payment.provider_payment_id !== null && payment.status === 'paid')
  return paid.find((payment) => payment.provider_payment_id === current) ?? paid[0] ?? null
}

/** How a paid amount is shared between the service and the store, to the cent. */
interface Split {
  readonly percentage: string
  /** The service's share, which the provider is asked to keep apart as its application fee. */
  readonly amount: string
  readonly store_amount: string
}

/** The service's share is the percentage of the amount, half up to the cent; the store has the rest, so that both add up. */
export function splitOf(amount: string, percentage: string): Split {
  const cents = toCents(amount)
  const share = percentOf(cents, percentage)
  return { percentage, amount: fromCents(share), store_amount: fromCents(cents - share) }
}
