import * as z from 'zod'
import { fromCents, MAX_CENTS, toDecimal } from './money.ts'
import { expects, limitedText } from './text.ts'

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
  return limitedText(40, EXPECTED).regex(pattern, { error: ({ input }) => faultOf(input as string), abort: true })
}

/** Message for an invalid quantity: a well-formed one may be too large, or have a sign that is not allowed. */
function faultOf(text: string): string {
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
