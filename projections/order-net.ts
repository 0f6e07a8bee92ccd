import { fromCents, toCents } from '#domain/money.ts'
import { hasBeenPaid } from '#domain/orders.ts'
import type { PaymentObject } from './order-payments.ts'

interface PaidOrder {
  readonly total: string
  readonly payments: readonly PaymentObject[]
}

/**
 * What a paid order leaves the shop after refunds, before the commission. A second payment that was given back returns
 * nothing of the order.
 */
export function netOfOrder({ total, payments }: PaidOrder): string {
  if (!hasBeenPaid(payments)) return total
  const isCharged = ({ status }: PaymentObject) => status === 'paid' || status === 'refunded'
  const left = payments.filter(isCharged).map(({ amount, refunded }) => toCents(amount) - toCents(refunded))
  const sum = left.reduce((all, cents) => all + cents, 0)
  return fromCents(Math.min(sum, toCents(total)))
}
