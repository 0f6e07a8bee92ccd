import { z } from 'zod'
import { expects } from './portuguese.ts'

/** The largest quantity that the contract can carry: 999999999.999, in thousandths. */
export const MAX_THOUSANDTHS = 999_999_999_999

const EXPECTED = 'deve ser uma quantidade em texto com até três casas decimais, como "1.500"'
const NOT_ZERO = 'deve ser diferente de zero'

/** A quantity that is sold (VAL-2): a decimal string, up to 3 decimals and 9 integer digits, above zero. */
export const Quantity = decimal(/^(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/).refine(isNotZero, 'deve ser maior que zero')

/** A quantity in stock: as Quantity, zero included. Stock that went negative is answered, never accepted. */
export const StockQuantity = decimal(/^(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/)

/** A movement of stock: as Quantity, with an optional leading "-"; never zero. */
export const SignedQuantity = decimal(/^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,3})?$/).refine(isNotZero, NOT_ZERO)

/** Thousandths of a decimal text with up to 3 decimals, negative ones included. Throws RangeError on any other text. */
export function toThousandths(text: string): number {
  const match = /^(-?\d+)(?:\.(\d{1,3}))?$/.exec(text)
  const thousandths = match ? Number(match[1] + (match[2] ?? '').padEnd(3, '0')) : Number.NaN
  if (!Number.isSafeInteger(thousandths)) throw new RangeError(`not a quantity: ${JSON.stringify(text)}`)
  return thousandths + 0 // "-0" is plain zero
}

/** The decimal string of integer thousandths, with exactly 3 decimals ("-1.500"): the form of every answer. Throws RangeError. */
export function fromThousandths(thousandths: number): string {
  if (!Number.isSafeInteger(thousandths)) throw new RangeError(`not an integer number of thousandths: ${thousandths}`)
  const digits = String(Math.abs(thousandths)).padStart(4, '0')
  return `${thousandths < 0 ? '-' : ''}${digits.slice(0, -3)}.${digits.slice(-3)}`
}

function decimal(pattern: RegExp) {
  return z.string(expects(EXPECTED)).regex(pattern, { error: ({ input }) => faultOf(input as string), abort: true })
}

/** Of a text that is no such quantity: one that is written well may be too large, or have a sign where none is taken. */
function faultOf(text: string): string {
  const [, sign, digits = ''] = /^(-?)(0|[1-9]\d*)(?:\.\d{1,3})?$/.exec(text) ?? []
  if (digits.length > 9) return `deve ser no máximo ${fromThousandths(MAX_THOUSANDTHS)}`
  return sign ? 'não pode ser negativa' : EXPECTED
}

function isNotZero(text: string): boolean {
  return /[1-9]/.test(text)
}
