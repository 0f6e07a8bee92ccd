import { fromCents, toCents } from '#domain/money.ts'
import { carrierOf, commissionRefunded, hasBeenPaid, type OrderStatus } from '#domain/orders.ts'
import type { DataOf } from '#events/catalogue.ts'
import { type DisputeObject, netOfOrder, type PaymentObject } from './order-payments.ts'

export type CommissionObject = Pick<DataOf<'CommissionSplit'>, 'percentage' | 'amount' | 'store_amount'> & {
  /** Part of `amount` refunded so far. */
  refunded: string
  reversed_at: string | null
}

/** Fields of an order that follow from its payments. */
export interface PaymentSummary {
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
export function paymentSummaryOf(order: SummarizedOrder, carriedBy: string | null): PaymentSummary {
  const { status, payments, commission } = order
  const carrier = carrierOf(payments, carriedBy)
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
