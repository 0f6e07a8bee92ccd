import { fromCents, netOfSurcharge, toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'

type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

/** What the customer gave, change included. */
export interface Given {
  readonly type: PaymentTypeObject
  readonly amount: string
}

/** In cents. */
export const sumOf = (given: readonly Given[]): number => given.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * Payments, each with its surcharge taken from inside what was charged: its amount less the change that it gave (SALE-8).
 * `change`, in cents, comes out of the cash, as far as that reaches: out of the last cash payment first (SALE-7).
 */
export function takenPayments<G extends Given>(given: readonly G[], change: number) {
  let left = change
  const payments = given.toReversed().map(({ type, amount, ...more }) => {
    const back = type.is_cash ? Math.min(left, toCents(amount)) : 0
    left -= back
    const charged = toCents(amount) - back
    const net = netOfSurcharge(charged, type.fee_percentage)
    const { id: payment_type_id, name } = type
    const payment: SalePayment = {
      payment_type_id,
      name,
      amount,
      surcharge: fromCents(charged - net),
      net: fromCents(net),
    }
    return { ...payment, ...more }
  })
  return payments.reverse()
}
