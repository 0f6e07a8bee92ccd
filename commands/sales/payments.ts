import { fromCents, netOfSurcharge, toCents } from '#domain/money.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'

type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

/** What the customer gave, change included. */
export interface Given {
  readonly type: Pick<PaymentTypeObject, 'id' | 'name' | 'fee_percentage' | 'is_cash'>
  readonly amount: string
}

/** In cents. */
export const sumOf = (given: readonly Given[]): number => given.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * Payments, each with its surcharge taken from inside what was charged: its amount less the change that it gave (SALE-8).
 * `change`, in cents, comes out of the cash, as far as that reaches, the last cash payment first (SALE-7). Where a till gave change
 * without any cash, it comes out of the others.
 */
export function takenPayments<G extends Given>(given: readonly G[], change: number) {
  let left = change
  const isWithCash = given.some(({ type }) => type.is_cash)
  const payments = given.toReversed().map(({ type, amount, ...more }) => {
    const back = isWithCash && !type.is_cash ? 0 : Math.min(left, toCents(amount))
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
