import { addDays, addMonths } from './instant.ts'
import { fromCents, toCents } from './money.ts'

/** `return`: goods of the credit sale came back, so that less is owed; no money moved. */
export const ACCOUNT_PAYMENT_KINDS = ['payment', 'return'] as const

/** A payment of an account, as decimal texts. */
export interface PaymentAmounts {
  /** The part of the account that it covers. */
  readonly amount: string
  readonly interest: string
  readonly fine: string
  readonly discount: string
  /** What was received beyond the open amount; only tills record it, as a fact. */
  readonly excess: string
}

/** What changed hands, in cents; negative if the discount exceeds the rest. */
export const receivedCents = ({ amount, interest, fine, discount, excess }: PaymentAmounts): number =>
  toCents(amount) + toCents(interest) + toCents(fine) - toCents(discount) + toCents(excess)

/** What each open amount gets of a sum, in the given order. What is left over covers none. */
export function shareInOrder(openCents: readonly number[], cents: number): number[] {
  let rest = cents
  return openCents.map((open) => {
    const share = Math.min(open, rest)
    rest -= share
    return share
  })
}

/** Instalments that add up to the total; the first one takes the rest of the division. */
export function instalmentAmounts(total: string, count: number): string[] {
  const cents = toCents(total)
  const each = Math.floor(cents / count)
  return Array.from({ length: count }, (_, n) => fromCents(n === 0 ? cents - each * (count - 1) : each))
}

/** Due dates of instalments: on the same day of each month, or every so many days. */
export const instalmentDates = (first: string, count: number, interval: 'month' | number): string[] =>
  Array.from({ length: count }, (_, n) => (interval === 'month' ? addMonths(first, n) : addDays(first, n * interval)))
