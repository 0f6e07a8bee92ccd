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
  rejected: 'failed',
  cancelled: 'cancelled',
  refunded: 'refunded',
}

/** A buyer's claim against a payment, at the provider or at the card's issuer: open, or decided for or against the shop. */
export const DISPUTE_STATUSES = ['open', 'lost', 'won'] as const
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number]

/** Our status for what the provider tells, and the dispute that it tells of (ORDER-3, ORDER-14). */
interface Told {
  readonly status: OrderStatus
  readonly dispute: DisputeStatus | null
}

/** Null for a status of the provider that is unknown here, which changes nothing. */
export function readStatus(providerStatus: string, detail: string | null): Told | null {
  // Only what was paid is disputed: the money stays until somebody decides.
  if (providerStatus === 'in_mediation') return { status: 'paid', dispute: 'open' }
  if (providerStatus === 'charged_back') {
    if (detail === 'reimbursed') return { status: 'paid', dispute: 'won' }
    return { status: 'refunded', dispute: detail === 'settled' ? 'lost' : 'open' }
  }
  if (!Object.hasOwn(STATUSES, providerStatus)) return null
  return { status: STATUSES[providerStatus] as OrderStatus, dispute: null }
}

/** Whether the provider still waits for a payment. */
export const isPending = (providerStatus: string): boolean => STATUSES[providerStatus] === 'pending'

/** What came of a notification (RCV-11). `refused`: it was wrong; `failed`: it was not, and should come again. */
export const NOTIFICATION_OUTCOMES = ['applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed'] as const
export type NotificationOutcome = (typeof NOTIFICATION_OUTCOMES)[number]

/** How far a payment has come. A notification may be lost, so a move may pass over what lies between. */
const RANKS: Readonly<Record<OrderStatus, number>> = { pending: 0, failed: 1, cancelled: 1, paid: 2, refunded: 3 }

/** A payment as it is known, or told. */
export interface PaymentState extends Told {
  /** Given back by refunds so far. */
  readonly refundedCents: number
  /** When the provider last changed it, in milliseconds; null where it does not say. */
  readonly changedAt: number | null
}

/**
 * What comes of what the provider tells of a payment: it only moves forward, but for a dispute that the shop wins, which
 * brings the money back (ORDER-4, ORDER-14). `before` is null for a payment not known yet.
 */
export function judge(before: PaymentState | null, told: PaymentState): 'applied' | 'duplicate' | 'stale' {
  if (before === null) return 'applied'
  const isSame = before.status === told.status && before.refundedCents === told.refundedCents
  const dispute = disputeAfter(before, told)
  if (isSame && before.dispute === dispute) return 'duplicate'
  if (isEarlier(told, before)) return 'stale'
  if (before.status !== told.status) return isMove(before, told) ? 'applied' : 'stale'
  if (before.refundedCents !== told.refundedCents)
    return told.refundedCents > before.refundedCents ? 'applied' : 'stale'
  const isOld = dispute === 'open' && before.dispute !== null && !isEarlier(before, told)
  return isOld ? 'stale' : 'applied'
}

function isMove(before: PaymentState, told: PaymentState): boolean {
  if (RANKS[told.status] > RANKS[before.status]) return true
  const isBack = before.status === 'refunded' && told.status === 'paid' && before.dispute !== null
  return isBack && (told.dispute === 'won' || isEarlier(before, told))
}

const isEarlier = (one: PaymentState, other: PaymentState): boolean =>
  one.changedAt !== null && other.changedAt !== null && one.changedAt < other.changedAt

/** The dispute that there is once `told` is known: the provider no longer speaks of one that is over. */
export function disputeAfter(before: PaymentState | null, told: PaymentState): DisputeStatus | null {
  const known = before?.dispute ?? null
  if (told.dispute !== null || before === null || known === null || known === 'won') return told.dispute ?? known
  if (told.status === 'refunded') return 'lost'
  return told.status === 'paid' && isEarlier(before, told) ? 'won' : known
}

/** What the moves of an order look at in one of its payments. */
export interface OrderPayment {
  /** Null while the provider has not told of a payment: the attempt is under way, or came to nothing. */
  readonly provider_payment_id: string | null
  readonly status: OrderStatus
}

/**
 * The status of an order follows from those of its payments, and from whether its store has cancelled it: in whatever order
 * news of them arrives, it ends the same (ORDER-5, ORDER-9, decision 15). `payments` are in the order of their attempts.
 */
export function orderStatusOf(payments: readonly OrderPayment[], isCancelledByStore = false): OrderStatus {
  const known = payments.filter((payment) => payment.provider_payment_id !== null)
  const has = (status: OrderStatus) => known.some((payment) => payment.status === status)
  if (has('paid')) return 'paid'
  if (has('pending') && !isCancelledByStore) return 'pending'
  // Money that was given back is told whatever other attempts have come to.
  if (has('refunded')) return 'refunded'
  return isCancelledByStore ? 'cancelled' : (known.at(-1)?.status ?? 'pending')
}

/** Whether money has come in, given back or not: such an order is neither paid again nor cancelled (PAY-2, ORDER-9). */
export const hasBeenPaid = (payments: readonly OrderPayment[]): boolean =>
  payments.some(({ status }) => status === 'paid' || status === 'refunded')

/** Whether an order still waits for money: none has come in, and its store has not given it up. */
export const canBePaid = ({
  payments,
  cancelled_at,
}: {
  readonly payments: readonly OrderPayment[]
  readonly cancelled_at: string | null
}): boolean => cancelled_at === null && !hasBeenPaid(payments)

/** The payment that carries a paid order: the one that already does, else the first that is paid; null when none is. */
export function carrierOf<P extends OrderPayment>(payments: readonly P[], current: string | null): P | null {
  const paid = payments.filter((payment) => payment.provider_payment_id !== null && payment.status === 'paid')
  return paid.find((payment) => payment.provider_payment_id === current) ?? paid[0] ?? null
}

/**
 * What the service gives back of its share, in cents: the share less what the percentage gives of the money that stays. It is
 * cumulative, so that parts never add up to more than was taken (ORDER-13).
 */
export function commissionRefunded(paid: string, percentage: string, refunded: string): string {
  const stays = percentOf(toCents(paid) - toCents(refunded), percentage)
  return fromCents(percentOf(toCents(paid), percentage) - stays)
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
