import { canBePaid } from '#domain/orders.ts'
import { isPaymentOpen, type PaymentObject } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'

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
export function checkoutStateOf(order: OrderObject, now: string): CheckoutState {
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
export function endedPaymentOf(state: CheckoutState): keyof typeof ENDED_PAYMENTS | null {
  if (state.is === 'ending') return 'expired'
  return state.is === 'unpaid' ? state.before : null
}

/**
 * Whether the buyer may request a Pix: nothing is pending, or the last request was not answered, which is safe to
 * repeat.
 */
export const mayAskForPix = ({ is }: CheckoutState): boolean => is === 'unpaid' || is === 'starting'
