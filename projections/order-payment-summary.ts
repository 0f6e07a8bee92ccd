import { fromCents, toCents } from '#domain/money.ts'
import { carrierOf, commissionRefunded, type OrderStatus } from '#domain/orders.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { DisputeObject, PaymentObject } from './order-payments.ts'

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
  /** Whether the carrying payment is partially refunded. */
  partially_refunded: boolean
  /** Latest dispute of its payments. */
  dispute: DisputeObject | null
}

interface SummarizedOrder {
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
  return {
    payment: displayedPayment(order, carrier),
    commission: commission && {
      ...commission,
      refunded: refundedShare(commission, carriedBy === null ? null : carrier),
    },
    refunded_total: fromCents(total),
    partially_refunded: status === 'paid' && carrier !== null && toCents(carrier.refunded) > 0,
    dispute: disputes.sort((a, b) => Date.parse(a.since) - Date.parse(b.since)).at(-1) ?? null,
  }
}

/** Refunded part of the commission; without a carrying payment all of it. */
const refundedShare = ({ amount, percentage }: CommissionObject, carrier: PaymentObject | null): string =>
  carrier === null ? amount : commissionRefunded(carrier.amount, percentage, carrier.refunded)

function displayedPayment({ status, payments }: SummarizedOrder, carrier: PaymentObject | null): PaymentObject | null {
  const last = payments.at(-1) ?? null
  if (status === 'refunded') return payments.findLast((payment) => payment.status === 'refunded') ?? last
  return carrier ?? last
}
