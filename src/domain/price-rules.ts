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

/** Price of a kilogram or litre: of what is sold by it, or has its content in the name. */
export interface UnitPrice {
  readonly amount: string
  readonly unit: 'kg' | 'litro'
  /** Whether the price of the item itself is that of the unit. */
  readonly isOwn: boolean
}

const SOLD_BY: Readonly<Record<string, UnitPrice['unit']>> = {
  KG: 'kg',
  KILO: 'kg',
  L: 'litro',
  LT: 'litro',
  LITRO: 'litro',
}

/** Content at the end of a name or before a space: `500 g`, `1,5L`, `6x350ml`. */
const CONTENT = /(?:(?<![\d,.])(\d{1,3}) ?[xX×] ?)?(?<![\d,.])(\d{1,4})(?:[,.](\d{1,3}))? ?(kg|g|ml|l)(?![a-zà-ú\d])/gi

/** Names have at most 120 characters. */
const MAX_NAME = 120

/** Price by kilogram or litre; null if neither unit nor name tells the content. */
export function priceByUnit(name: string, unit: string | null, price: string): UnitPrice | null {
  const own = SOLD_BY[(unit ?? '').trim().toUpperCase()]
  if (own) return { amount: price, unit: own, isOwn: true }
  const [, count = '1', whole = '', fraction = '', measure = ''] =
    [...name.slice(0, MAX_NAME).matchAll(CONTENT)].at(-1) ?? []
  // Grams or millilitres, in thousandths.
  const isLarge = /^(?:kg|l)$/i.test(measure)
  // `1.000 g` has thousands, `1.500 kg` has decimals.
  const thousandths =
    !isLarge && fraction.length === 3 ? `${whole}${fraction}000` : `${whole}${fraction.padEnd(3, '0')}`
  const content = BigInt(count) * BigInt(thousandths) * (isLarge ? 1000n : 1n)
  if (measure === '' || content === 0n) return null
  const cents = (BigInt(toCents(price)) * 2_000_000n + content) / (2n * content)
  if (cents > BigInt(MAX_CENTS)) return null
  return { amount: fromCents(Number(cents)), unit: /g$/i.test(measure) ? 'kg' : 'litro', isOwn: false }
}
