import { fromBigCents, fromBigThousandths, halfUp, MAX_CENTS, MAX_THOUSANDTHS, toBigThousandths } from './money.ts'
import { limitedText } from './text.ts'

/** Decimals of the finest number of an NF-e: unit prices have up to ten. */
const DECIMALS = 10
const ONE = 10n ** BigInt(DECIMALS)

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
  const cent = ONE / 100n
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
  const thousandths = halfUp(ownQuantity(part), ONE)
  return thousandths > 0n && thousandths <= BigInt(MAX_THOUSANDTHS) ? fromBigThousandths(thousandths) : null
}

/**
 * Cost of an own unit over some lines, in reais: all costs by all exact quantities, rounded once, half up, to cents. Null
 * if it is too large.
 */
export function unitCostOf(parts: readonly ReceivedPart[]): string | null {
  const cost = parts.reduce((sum, part) => sum + part.cost, 0n)
  const quantity = parts.reduce((sum, part) => sum + ownQuantity(part), 0n)
  // Cost in 10^-10 reais by quantity in 10^-13 units: times 10^3 for units, times 100 for cents.
  const cents = quantity === 0n ? null : halfUp(cost * 100_000n, quantity)
  return cents === null || cents > BigInt(MAX_CENTS) ? null : fromBigCents(cents)
}

/** Cost of some lines in reais, rounded half up to cents. */
export const totalCostOf = (costs: readonly bigint[]): string =>
  fromBigCents(
    halfUp(
      costs.reduce((sum, cost) => sum + cost, 0n),
      ONE / 100n,
    ),
  )
