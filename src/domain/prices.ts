import * as z from 'zod'
import {
  fromBigCents,
  fromBigThousandths,
  fromCents,
  halfUp,
  MAX_CENTS,
  MAX_THOUSANDTHS,
  toBigThousandths,
  toCents,
} from './money.ts'
import { limitedText } from './text.ts'

/** Decimals of the finest number of an NF-e: unit prices have up to ten. */
const DECIMALS = 10
const ONE_UNIT = 10n ** BigInt(DECIMALS)

const EXPECTED = 'deve ser um número em texto, sem sinal, com até 15 dígitos inteiros e 10 casas decimais'
const FORM = /^\d{1,15}(?:\.\d{1,10})?$/

/** Number of a supplier's document: `12.5000`, `0.0833333333`. */
export const DocumentNumber = limitedText(30, EXPECTED).regex(FORM, EXPECTED)

/** Number in units of 10^-10; null if the text is none. */
export function parseDocumentNumber(text: string): bigint | null {
  if (text.length > 30 || !FORM.test(text)) return null
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'))
}

/** The same as decimal text, without zeros at its end. */
export function formatDocumentNumber(number: bigint): string {
  const digits = String(number).padStart(DECIMALS + 1, '0')
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '')
}

/** Amount with two decimals; null if it has more, or is too large. */
export function toExactAmount(number: bigint): string | null {
  const cent = ONE_UNIT / 100n
  return number % cent === 0n && number / cent <= BigInt(MAX_CENTS) ? fromBigCents(number / cent) : null
}

/** Goods of a line: what was delivered in the supplier's unit, own units in one of these, and what all of it cost. */
export interface ReceivedPart {
  readonly quantity: bigint
  /** With up to three decimals. */
  readonly factor: string
  readonly cost: bigint
}

const ownQuantity = ({ quantity, factor }: ReceivedPart): bigint => quantity * factorThousandths(factor)

const factorThousandths = (factor: string): bigint => {
  const [whole = '', fraction = ''] = factor.split('.')
  return toBigThousandths(`${whole}.${fraction.padEnd(3, '0')}`)
}

/** Own units with three decimals, rounded half up; null if that is none, or too many. */
export function quantityReceived(part: ReceivedPart): string | null {
  const thousandths = halfUp(ownQuantity(part), ONE_UNIT)
  return thousandths > 0n && thousandths <= BigInt(MAX_THOUSANDTHS) ? fromBigThousandths(thousandths) : null
}

/**
 * Cost of an own unit over some lines, in reais: all costs by all exact quantities, rounded once, half up, to cents. Null
 * if it is too large.
 */
export function averageUnitCost(parts: readonly ReceivedPart[]): string | null {
  const cost = parts.reduce((sum, part) => sum + part.cost, 0n)
  const quantity = parts.reduce((sum, part) => sum + ownQuantity(part), 0n)
  // Cost in 10^-10 reais by quantity in 10^-13 units: times 10^3 for units, times 100 for cents.
  const cents = quantity === 0n ? null : halfUp(cost * 100_000n, quantity)
  return cents === null || cents > BigInt(MAX_CENTS) ? null : fromBigCents(cents)
}

/** Cost of some lines in reais, rounded half up to cents. */
export const sumLineCosts = (costs: readonly bigint[]): string =>
  fromBigCents(
    halfUp(
      costs.reduce((sum, cost) => sum + cost, 0n),
      ONE_UNIT / 100n,
    ),
  )

/** A percentage of the price in hundredths of a percent, or a multiple of the cost in ten-thousandths. */
export const PRICE_RULE_KINDS = ['percent', 'cost'] as const

const WHOLE = 10_000
/** Percentages up to 1,000 %, factors up to 100. */
const [MAX_PERCENT, MAX_FACTOR] = [10 * WHOLE, 100 * WHOLE]

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
    if (kind === 'percent' && (amount <= -WHOLE || amount > MAX_PERCENT))
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
  const exact = base * BigInt(kind === 'cost' ? amount : WHOLE + amount)
  if (exact === 0n) return null
  const cents = ending === null ? (exact + 5_000n) / BigInt(WHOLE) : toEnding(exact, BigInt(ending))
  return cents < 1n || cents > BigInt(MAX_CENTS) ? null : fromCents(Number(cents))
}

function toEnding(exact: bigint, ending: bigint): bigint {
  const above = exact + (50n - ending) * BigInt(WHOLE)
  const nearest = above < 0n ? 0n : (above / (100n * BigInt(WHOLE))) * 100n
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
