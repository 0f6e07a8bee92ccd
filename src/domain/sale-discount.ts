/** A line of a sale, in cents: quantity × price, and the line's own discount. */
export interface LineAmounts {
  readonly gross: number
  readonly discount: number
}

/** A line's total is less its own discount only (SALE-24). */
export const totalOfLine = ({ gross, discount }: LineAmounts): number => gross - discount

/** Sums of a sale in cents: total = subtotal - discount + delivery fee. The caller checks that no discount exceeds its base. */
export function sumSale(lines: readonly LineAmounts[], discount: number, deliveryFee: number) {
  const subtotal = lines.reduce((sum, line) => sum + totalOfLine(line), 0)
  return { subtotal, total: subtotal - discount + deliveryFee }
}

/**
 * Shares the discount of a whole sale over its lines, in cents, in proportion to their totals and by largest remainder:
 * the shares sum to the discount exactly, and none exceeds its line if the discount does not exceed the sale. Of equal
 * remainders the earlier line gets the cent. Every sum by line uses these shares, so that products and delivery sum to
 * the sales. Throws RangeError for negative or fractional input.
 */
export function shareDiscount(lineCents: readonly number[], discountCents: number): number[] {
  const [weights, discount] = [lineCents.map(natural), natural(discountCents)]
  const sum = weights.reduce((before, weight) => before + weight, 0n)
  if (sum === 0n || discount === 0n) return lineCents.map(() => 0)
  const shares = weights.map((weight) => (weight * discount) / sum)
  const remainders = weights.map((weight, line) => ({ line, remainder: (weight * discount) % sum }))
  const rest = Number(shares.reduce((left, share) => left - share, discount))
  remainders.sort((a, b) => (a.remainder === b.remainder ? a.line - b.line : a.remainder > b.remainder ? -1 : 1))
  for (const { line } of remainders.slice(0, rest)) shares[line] = (shares[line] ?? 0n) + 1n
  return shares.map(Number)
}

/** Quantity in thousandths and amount in cents, of a sold line or of a part of it. */
export interface LinePart {
  readonly thousandths: number
  readonly cents: number
}

/**
 * Amount of a part of a sold line (RETURN-2): half up of what was paid for the line, never more than is left of it. The
 * last part takes what is left, so that all parts sum to the line. `before`: the earlier parts together.
 */
export function amountOfPart(line: LinePart, before: LinePart, thousandths: number): number {
  const left = Math.max(line.cents - before.cents, 0)
  if (before.thousandths + thousandths >= line.thousandths) return left
  const [numerator, denominator] = [natural(line.cents) * natural(thousandths), natural(line.thousandths)]
  return Math.min(left, Number((2n * numerator + denominator) / (2n * denominator)))
}

function natural(cents: number): bigint {
  if (!Number.isSafeInteger(cents) || cents < 0) throw new RangeError(`not a non-negative amount of cents: ${cents}`)
  return BigInt(cents)
}
