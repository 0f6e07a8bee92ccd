import * as z from 'zod'
import { fromCents, MAX_CENTS, toCents } from './money.ts'

/** A percentage of the price in hundredths of a percent, or a multiple of the cost in ten-thousandths. */
export const PRICE_RULE_KINDS = ['percent', 'cost'] as const

const ONE = 10_000
/** Percentages up to 1,000 %, factors up to 100. */
const [MAX_PERCENT, MAX_FACTOR] = [10 * ONE, 100 * ONE]

/** How new prices follow from the present ones; `ending`: the cents in which they all end. */
export const PriceRule = z
  .strictObject({
    kind: z.enum(PRICE_RULE_KINDS),
    amount: z.int(),
    ending: z.int().min(0).max(99).nullable(),
  })
  .superRefine(({ kind, amount }, context) => {
    const problem = (message: string) => context.addIssue({ code: 'custom', path: ['amount'], message })
    if (kind === 'cost' && (amount < 1 || amount > MAX_FACTOR)) problem('o fator deve ser maior que 0 e no máximo 100')
    if (kind === 'percent' && amount === 0) problem('0% não muda nenhum preço')
    if (kind === 'percent' && (amount <= -ONE || amount > MAX_PERCENT))
      problem('o percentual deve ser maior que −100% e no máximo 1.000%')
  })
export type PriceRule = z.infer<typeof PriceRule>

interface Priced {
  readonly price: string
  readonly cost: string | null
}

/**
 * New price of an item: the nearest cent, or the nearest price with the ending, ties up and never zero. Null if the rule
 * gives none: without a cost, below one cent, or above the largest amount.
 */
export function applyPriceRule({ kind, amount, ending }: PriceRule, { price, cost }: Priced): string | null {
  if (kind === 'cost' && cost === null) return null
  const base = BigInt(toCents(kind === 'cost' ? (cost as string) : price))
  // In ten-thousandths of a cent: the ending nearest to the exact price, not to the rounded one.
  const exact = base * BigInt(kind === 'cost' ? amount : ONE + amount)
  if (exact === 0n) return null
  const cents = ending === null ? (exact + 5_000n) / BigInt(ONE) : toEnding(exact, BigInt(ending))
  return cents < 1n || cents > BigInt(MAX_CENTS) ? null : fromCents(Number(cents))
}

function toEnding(exact: bigint, ending: bigint): bigint {
  const above = exact + (50n - ending) * BigInt(ONE)
  const nearest = above < 0n ? 0n : (above / (100n * BigInt(ONE))) * 100n
  return nearest + ending === 0n ? 100n : nearest + ending
}
