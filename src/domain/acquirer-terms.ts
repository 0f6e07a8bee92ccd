import { addDays } from './instant.ts'
import { fromCents, percentOf } from './money.ts'
import { workingDayFrom } from './working-days.ts'

/** Terms of an acquirer in a payment type; rates in percent, null if there is none of its own. */
export interface AcquirerTerms {
  /** Of one instalment, and of as many as have no rate of their own. */
  readonly acquirer_rate: string | null
  readonly acquirer_rate_2_6: string | null
  /** Of 7 instalments and more. */
  readonly acquirer_rate_7_12: string | null
  /** Calendar days from one payment of the acquirer to the next; null if unknown. */
  readonly settles_in_days: number | null
}

/** One payment of the acquirer. */
export interface AcquirerPayout {
  readonly due_on: string
  readonly net: string
}

/** What the acquirer keeps of a payment, and how it pays the rest; without days if the term is unknown. */
export interface Acquired {
  readonly acquirer_fee: string
  /** The first day on which it pays. */
  readonly settles_on?: string
  readonly settlements?: AcquirerPayout[]
}

function rateOf(terms: AcquirerTerms, instalments: number): string | null {
  if (instalments >= 7) return terms.acquirer_rate_7_12 ?? terms.acquirer_rate
  return (instalments >= 2 ? terms.acquirer_rate_2_6 : null) ?? terms.acquirer_rate
}

/** Cents in equal parts; the first one takes the rest of the division. */
export function equalParts(cents: number, count: number): number[] {
  const each = Math.floor(cents / count)
  return Array.from({ length: count }, (_, n) => (n === 0 ? cents - each * (count - 1) : each))
}

/** The acquirer's part of a payment, and its payments of the rest on working days; null without an acquirer (TYPE-5). */
export function acquiredOf(
  terms: AcquirerTerms,
  { cents, instalments, daySold }: { readonly cents: number; readonly instalments: number; daySold(): string },
): Acquired | null {
  const { settles_in_days: days } = terms
  const hasRate = [terms.acquirer_rate, terms.acquirer_rate_2_6, terms.acquirer_rate_7_12].some((rate) => rate !== null)
  if (!hasRate && days === null) return null
  const rate = rateOf(terms, instalments)
  const fee = rate === null ? 0 : percentOf(cents, rate)
  const acquirer_fee = fromCents(fee)
  if (days === null) return { acquirer_fee }
  const day = daySold()
  const settlements = equalParts(cents - fee, instalments).map((net, n) => ({
    due_on: workingDayFrom(addDays(day, (n + 1) * days)),
    net: fromCents(net),
  }))
  return { acquirer_fee, settles_on: settlements[0]?.due_on as string, settlements }
}
