import { type AcquirerTerms, acquiredOf } from '#domain/acquirer-terms.ts'
import { fromCents, netOfSurcharge, toCents } from '#domain/money.ts'
import type { SalePaymentDetails } from '#domain/sale-payment.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'

type SalePayment = DataOf<'SaleCompleted'>['payments'][number]

type Terms = AcquirerTerms & Pick<PaymentTypeObject, 'acquirer_fee_refunded'>

/** Payment as handed over by the customer, change included. */
export interface TenderedPayment {
  readonly type: Pick<PaymentTypeObject, 'id' | 'name' | 'fee_percentage' | 'is_cash'> & Partial<Terms>
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
 * without cash, it is taken from the other payments. `daySold` returns the company's day of the sale.
 */
export function takenPayments<G extends TenderedPayment>(
  tendered: readonly G[],
  change: number,
  daySold: () => string,
) {
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
      ...acquired(type, { cents: charged, instalments: details?.card?.installments ?? 1, daySold }),
    }
    return { ...payment, ...more }
  })
  return payments.reverse()
}

/** The acquirer's part of a payment, and when it pays the rest (TYPE-5). */
function acquired(
  type: Partial<Terms>,
  charged: Parameters<typeof acquiredOf>[1],
): Partial<Pick<SalePayment, 'acquirer_fee' | 'settles_on' | 'settlements' | 'acquirer_fee_refunded'>> {
  const { acquirer_rate = null, acquirer_rate_2_6 = null, acquirer_rate_7_12 = null, settles_in_days = null } = type
  const terms = { acquirer_rate, acquirer_rate_2_6, acquirer_rate_7_12, settles_in_days }
  const parts = acquiredOf(terms, charged)
  return parts ? { ...parts, ...(type.acquirer_fee_refunded && { acquirer_fee_refunded: true }) } : {}
}
