import * as z from 'zod'
import { expects, limitedText } from './text.ts'

const PERCENTAGE = /^(?:100(?:\.0{1,2})?|(?:0|[1-9]\d?)(?:\.\d{1,2})?)$/
const EXPECTED_PERCENTAGE = 'deve ser um percentual de "0" a "100" em texto, com até duas casas decimais, como "2.50"'

/** Percentage as decimal string, 0 to 100 inclusive, up to 2 decimals. Not normalized; see normalizePercentage. */
export const Percentage = limitedText(20, EXPECTED_PERCENTAGE).regex(PERCENTAGE, EXPECTED_PERCENTAGE)

/** Hundredths of a percent ("2.5" → 250): an integer, for exact arithmetic. Throws RangeError. */
export function percentHundredths(text: string): number {
  if (!PERCENTAGE.test(text)) throw new RangeError(`not a percentage: ${JSON.stringify(text)}`)
  const [whole = '', fraction = ''] = text.split('.')
  return Number(whole + fraction.padEnd(2, '0'))
}

/** Percentage with exactly 2 decimals ("2.5" → "2.50"), the format of storage and responses. Throws RangeError. */
export function normalizePercentage(text: string): string {
  const hundredths = String(percentHundredths(text)).padStart(3, '0')
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`
}

/** Largest amount of the contract: R$ 9.999.999.999,99, in cents. */
export const MAX_CENTS = 999_999_999_999

const EXPECTED_MONEY = 'deve ser um valor em texto com exatamente duas casas decimais, como "10.00"'

/**
 * Money: decimal string with exactly 2 decimals, 1 to 10 integer digits without superfluous leading zeros,
 * never negative. JSON numbers are refused, because senders hold them as floats.
 */
export const Money = limitedText(40, EXPECTED_MONEY).regex(/^(?:0|[1-9]\d{0,9})\.\d{2}$/, {
  error: ({ input }) => moneyFault(input as string),
})

function moneyFault(text: string): string {
  if (/^-(?:0|[1-9]\d*)\.\d{2}$/.test(text)) return 'não pode ser negativo'
  return /^[1-9]\d{10,}\.\d{2}$/.test(text) ? `deve ser no máximo ${fromCents(MAX_CENTS)}` : EXPECTED_MONEY
}

/**
 * Cents of a text with exactly 2 decimals; negative ones in the format of fromCents are allowed. Throws RangeError on
 * any other text.
 */
export function toCents(text: string): number {
  const cents = /^-?\d+\.\d{2}$/.test(text) ? Number(text.slice(0, -3) + text.slice(-2)) : Number.NaN
  if (!Number.isSafeInteger(cents)) throw new RangeError(`not an amount of money: ${JSON.stringify(text)}`)
  return cents + 0 // "-0.00" is plain zero
}

/** Decimal string of integer cents; balances may be negative ("-1.50"). Throws RangeError. */
export function fromCents(cents: number): string {
  if (!Number.isSafeInteger(cents)) throw new RangeError(`not an integer number of cents: ${cents}`)
  const digits = String(Math.abs(cents)).padStart(3, '0')
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** As toCents, for sums of any size; the text is known to be an amount. */
export const toBigCents = (text: string): bigint => BigInt(text.replace('.', ''))

/** As fromCents, for sums of any size. */
export const fromBigCents = (cents: bigint): string => toDecimal(cents, 2)

export const addAmounts = (...amounts: readonly string[]): string =>
  fromBigCents(amounts.reduce((sum, amount) => sum + toBigCents(amount), 0n))

export const subtractAmounts = (amount: string, ...others: readonly string[]): string =>
  fromBigCents(others.reduce((sum, other) => sum - toBigCents(other), toBigCents(amount)))

/** Decimal text of a number of hundredths (2) or thousandths (3). */
export function toDecimal(parts: bigint, decimals: 2 | 3): string {
  const digits = String(parts < 0n ? -parts : parts).padStart(decimals + 1, '0')
  return `${parts < 0n ? '-' : ''}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

/**
 * Quantity (thousandths) × unit price (cents), rounded half up to cents. May exceed MAX_CENTS: the caller checks.
 * Throws RangeError beyond 2^53 − 1 and for negative or fractional input. The largest Quantity at the largest Money
 * exceeds it, so check external input with lineTotalFits first.
 */
export function lineTotal(thousandths: number, unitCents: number): number {
  return exact(halfUp(natural(thousandths) * natural(unitCents), 1000n))
}

/** Whether lineTotal is at most MAX_CENTS. Never throws for valid quantities and prices. */
export function lineTotalFits(thousandths: number, unitCents: number): boolean {
  return halfUp(natural(thousandths) * natural(unitCents), 1000n) <= BigInt(MAX_CENTS)
}

/**
 * Net part of a gross amount (cents) that includes a surcharge of `feePercent`: amount ÷ (1 + fee/100), rounded half
 * up. The surcharge is amount − net, so that both always add up.
 */
export function netOfSurcharge(amountCents: number, feePercent: string): number {
  return exact(halfUp(natural(amountCents) * 10_000n, BigInt(10_000 + percentHundredths(feePercent))))
}

/** `percent` of a non-negative amount (cents), rounded half up; for commissions. */
export function takePercent(cents: number, percent: string): number {
  return exact(halfUp(natural(cents) * BigInt(percentHundredths(percent)), 10_000n))
}

/** Share of `part` of `whole` in an amount, all in cents, rounded half up. */
export const percentOfCents = (cents: number, part: number, whole: number): number => {
  const share = halfUp(natural(cents) * natural(Math.abs(part)), natural(whole))
  return part < 0 ? -exact(share) : exact(share)
}

/** Quotient of non-negative numbers, rounded half up. */
export function halfUp(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator)
}

function natural(value: number): bigint {
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not a non-negative safe integer: ${value}`)
  return BigInt(value)
}

function exact(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new RangeError(`too large for exact arithmetic: ${value}`)
  return Number(value)
}

/** Largest quantity of the contract: 999999999.999, in thousandths. */
export const MAX_THOUSANDTHS = 999_999_999_999

const EXPECTED = 'deve ser uma quantidade em texto com até três casas decimais, como "1.500"'
const NOT_ZERO = 'deve ser diferente de zero'

/** Sold quantity: decimal string, up to 3 decimals and 9 integer digits, above zero. */
export const Quantity = decimal(/^(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/).refine(isNotZero, 'deve ser maior que zero')

/** Stock quantity: like Quantity, or zero. Negative stock is returned, never accepted. */
export const StockQuantity = decimal(/^(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/)

/** Any of these quantities: its sign and zero are judged by what it is used for. */
export const AnyQuantity = decimal(/^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/)

/** Stock movement: like Quantity, with an optional leading "-"; never zero. */
export const SignedQuantity = decimal(/^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/).refine(isNotZero, NOT_ZERO)

/** Thousandths of a decimal text with up to 3 decimals, possibly negative. Throws RangeError on any other text. */
export function toThousandths(text: string): number {
  const match = /^(-?\d+)(?:\.(\d{1,3}))?$/.exec(text)
  const thousandths = match ? Number(match[1] + (match[2] ?? '').padEnd(3, '0')) : Number.NaN
  if (!Number.isSafeInteger(thousandths)) throw new RangeError(`not a quantity: ${JSON.stringify(text)}`)
  return thousandths + 0 // "-0" is plain zero
}

/**
 * Decimal string of integer thousandths, with exactly 3 decimals ("-1.500"), the format of all responses. Throws
 * RangeError.
 */
export function fromThousandths(thousandths: number): string {
  if (!Number.isSafeInteger(thousandths)) throw new RangeError(`not an integer number of thousandths: ${thousandths}`)
  const digits = String(Math.abs(thousandths)).padStart(4, '0')
  return `${thousandths < 0 ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`
}

/** As toThousandths, for sums of any size; the text is known to have exactly 3 decimals. */
export const toBigThousandths = (text: string): bigint => BigInt(text.replace('.', ''))

/** As fromThousandths, for sums of any size. */
export const fromBigThousandths = (thousandths: bigint): string => toDecimal(thousandths, 3)

/**
 * Units of some lines: each counts its quantity, a weighed or measured one (a fraction) as one unit, because kilograms
 * and pieces have no sum.
 */
export const countUnits = (quantities: readonly string[]): number =>
  quantities.map(toThousandths).reduce((sum, n) => sum + (n % 1000 === 0 ? n / 1000 : 1), 0)

/** Units of pieces, of which there are no fractions. */
const PIECE = /^un(?:d|id|idades?)?\.?$/i

/** Whether a quantity is a fraction of a piece: `1.500` of `UN`. */
export const isBrokenPiece = (unit: string | null | undefined, quantity: string): boolean =>
  PIECE.test(unit ?? '') && toThousandths(quantity) % 1000 !== 0

function decimal(pattern: RegExp) {
  return limitedText(40, EXPECTED).regex(pattern, { error: ({ input }) => quantityFault(input as string), abort: true })
}

/** Message for an invalid quantity: a well-formed one may be too large, or have a sign that is not allowed. */
function quantityFault(text: string): string {
  const [, sign, digits = ''] = /^(-?)(0|[1-9]\d*)(?:\.\d{1,3})?$/.exec(text) ?? []
  if (digits.length > 9) return `deve ser no máximo ${fromThousandths(MAX_THOUSANDTHS)}`
  return sign ? 'não pode ser negativa' : EXPECTED
}

function isNotZero(text: string): boolean {
  return /[1-9]/.test(text)
}

/**
 * Tolerated distance of a number from its decimal. Tills calculate with doubles: 0.1 + 0.2 arrives as
 * 0.30000000000000004 and means 0.30. A larger distance means additional decimals.
 */
const TOLERANCE = 1e-6

const MONEY = 'deve ser um número de 0 a 9999999999.99 com até duas casas decimais'
const QUANTITY = 'deve ser um número maior que zero, até 999999999.999, com até três casas decimais'

/** Money as a JSON number, never negative. Parsed to a decimal text, "10.00". */
export const JsonMoney = jsonDecimal(MONEY, (value) => {
  const cents = nearest(value, 100)
  return cents !== null && cents <= MAX_CENTS ? fromCents(cents) : null
})

/** Sold quantity as a JSON number, above zero. Parsed to a decimal text, "1.500". */
export const JsonQuantity = jsonDecimal(QUANTITY, (value) => {
  const thousandths = nearest(value, 1000)
  return thousandths !== null && thousandths > 0 && thousandths <= MAX_THOUSANDTHS ? fromThousandths(thousandths) : null
})

/** Integer number of parts that a number represents; null if it is not close enough to one. */
function nearest(value: number, parts: 100 | 1000): number | null {
  const count = Math.round(value * parts) + 0 // -0 is plain zero
  return count >= 0 && Number.isSafeInteger(count) && Math.abs(value - count / parts) <= TOLERANCE ? count : null
}

function jsonDecimal(expected: string, textOf: (value: number) => string | null) {
  return z.number(expects(expected)).transform((value, context) => {
    const text = textOf(value)
    if (text !== null) return text
    context.addIssue({ code: 'custom', message: expected })
    return z.NEVER
  })
}
