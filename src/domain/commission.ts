import { fromCents, percentOf, toCents } from './money.ts'

/** How a paid amount is shared between the service and the store, to the cent. */
export interface Split {
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
