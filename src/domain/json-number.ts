import * as z from 'zod'
import { fromCents, MAX_CENTS } from './money.ts'
import { expects } from './portuguese.ts'
import { fromThousandths, MAX_THOUSANDTHS } from './quantity.ts'

/**
 * Tolerated distance of a number from its decimal. Tills calculate with doubles: 0.1 + 0.2 arrives as
 * 0.30000000000000004 and means 0.30. A larger distance means additional decimals.
 */
const TOLERANCE = 1e-6

const MONEY = 'deve ser um número de 0 a 9999999999.99 com até duas casas decimais'
const QUANTITY = 'deve ser um número maior que zero, até 999999999.999, com até três casas decimais'

/** Money as a JSON number, never negative. Parsed to a decimal text, "10.00". */
export const JsonMoney = decimal(MONEY, (value) => {
  const cents = nearest(value, 100)
  return cents !== null && cents <= MAX_CENTS ? fromCents(cents) : null
})

/** Sold quantity as a JSON number, above zero. Parsed to a decimal text, "1.500". */
export const JsonQuantity = decimal(QUANTITY, (value) => {
  const thousandths = nearest(value, 1000)
  return thousandths !== null && thousandths > 0 && thousandths <= MAX_THOUSANDTHS ? fromThousandths(thousandths) : null
})

/** Integer number of parts that a number represents; null if it is not close enough to one. */
function nearest(value: number, parts: 100 | 1000): number | null {
  const count = Math.round(value * parts) + 0 // -0 is plain zero
  return count >= 0 && Number.isSafeInteger(count) && Math.abs(value - count / parts) <= TOLERANCE ? count : null
}

function decimal(expected: string, textOf: (value: number) => string | null) {
  return z.number(expects(expected)).transform((value, context) => {
    const text = textOf(value)
    if (text !== null) return text
    context.addIssue({ code: 'custom', message: expected })
    return z.NEVER
  })
}
