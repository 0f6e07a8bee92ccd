import { limitedText } from './text.ts'

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
  error: ({ input }) => faultOf(input as string),
})

function faultOf(text: string): string {
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
export function percentOf(cents: number, percent: string): number {
  return exact(halfUp(natural(cents) * BigInt(percentHundredths(percent)), 10_000n))
}

/** Share of `part` of `whole` in an amount, all in cents, rounded half up. */
export const percentOfCents = (cents: number, part: number, whole: number): number => {
  const share = halfUp(natural(cents) * natural(Math.abs(part)), natural(whole))
  return part < 0 ? -exact(share) : exact(share)
}

function halfUp(numerator: bigint, denominator: bigint): bigint {
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
