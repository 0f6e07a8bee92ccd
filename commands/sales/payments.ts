import { fromCents, netOfSurcharge, toCents } from '#domain/money.ts'
import type { SalePaymentDetails } from '#domain/sale-payment.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'

type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

/** Payment as handed over by the customer, change included. */
export interface TenderedPayment {
  readonly type: Pick<PaymentTypeObject, 'id' | 'name' | 'fee_percentage' | 'is_cash'>
  readonly amount: string
  /** Of a card or a Pix; absent if unknown. */
  readonly details?: SalePaymentDetails
}

/** In cents. */
export const sumOf = (tendered: readonly TenderedPayment[]): number =>
  tendered.reduce((sum, { amount }) => sum + toCents(amount), 0)

/**
 * Payments with surcharge and net. The surcharge is part of the charged amount, which is the amount less change
 * (SALE-8). `change`, in cents, is taken from cash, starting with the last cash payment (SALE-7). If a till gave change
 * without cash, it is taken from the other payments.
 */
export function takenPayments<G extends TenderedPayment>(tendered: readonly G[], change: number) {
  let left = change
  const isWithCash = tendered.some(({ type }) => type.is_cash)
  const payments = tendered.toReversed().map(({ type, amount, details, ...more }) => {
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
      ...details,
    }
    return { ...payment, ...more }
  })
  return payments.reverse()
}
