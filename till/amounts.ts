/** Cents of a JSON number such as 18.9; artefacts of binary arithmetic are rounded away. */
export const toCents = (amount: number): number => Math.round(amount * 100)

/** JSON number of whole cents. */
export const fromCents = (cents: number): number => cents / 100

export const toThousandths = (quantity: number): number => Math.round(quantity * 1000)
export const fromThousandths = (thousandths: number): number => thousandths / 1000

/** Largest amount that is typed at a till, in cents; the service refuses larger ones. */
export const MAX_CENTS = 99_999_999_99
export const MAX_THOUSANDTHS = 999_999_999

/** Price in cents times quantity in thousandths, rounded half up. */
export function priceTimes(price: number, thousandths: number): number {
  const exact = BigInt(price) * BigInt(thousandths)
  return Number((exact + 500n) / 1000n)
}

/** Share of an amount, in hundredths of a percent, rounded half up. */
export const percentOf = (cents: number, basisPoints: number): number =>
  Number((BigInt(cents) * BigInt(basisPoints) + 5000n) / 10000n)

const AMOUNT = new Intl.NumberFormat('pt-BR', { style: 'currency', currency: 'BRL' })
const QUANTITY = new Intl.NumberFormat('pt-BR', { maximumFractionDigits: 3 })

/** `R$ 1.234,50`, with a plain space, as it is read aloud and searched for. */
export const formatCents = (cents: number): string => AMOUNT.format(cents / 100).replaceAll('\u00a0', ' ')
export const formatQuantity = (thousandths: number): string => QUANTITY.format(thousandths / 1000)

/** A quantity with its unit, if that is known: `0,924 KG`. */
export const formatUnits = (thousandths: number, unit: string): string =>
  unit === '' ? formatQuantity(thousandths) : `${formatQuantity(thousandths)}\u00A0${unit}`

/** `1234,50`, for fields. */
export const fieldCents = (cents: number): string => (cents / 100).toFixed(2).replace('.', ',')

/** Digits with a comma or a point for the fraction, thousands with points: `1.234,5`. Null if it is none of these. */
function parseDecimal(text: string, digits: number): number | null {
  const trimmed = text
    .trim()
    .slice(0, 20)
    .replace(/^R\$\s*/, '')
  const plain = /^\d{1,3}(\.\d{3})+(,\d+)?$/.test(trimmed) ? trimmed.replaceAll('.', '') : trimmed
  const [, whole, fraction = ''] = /^(\d{1,9})(?:[.,](\d{1,3}))?$/.exec(plain) ?? []
  if (whole === undefined || fraction.length > digits) return null
  return Number(whole) * 10 ** digits + Number(fraction.padEnd(digits, '0'))
}

/** Typed amount in cents; null if it is none. */
export const parseCents = (text: string): number | null => parseDecimal(text, 2)

/** Typed quantity in thousandths; null if it is none or zero. */
export const parseQuantity = (text: string): number | null => {
  const parsed = parseDecimal(text, 3)
  return parsed === null || parsed === 0 || parsed > MAX_THOUSANDTHS ? null : parsed
}

/** A discount as typed, `10%` or `2,50`, of an amount; null if it is none or more than the amount. */
export function parseDiscount(text: string, of: number): number | null {
  const percentage = /^(.+)%$/.exec(text.trim())?.[1]
  if (percentage === undefined) {
    const cents = parseCents(text)
    return cents === null || cents > of ? null : cents
  }
  const basisPoints = parseDecimal(percentage, 2)
  return basisPoints === null || basisPoints > 10_000 ? null : percentOf(of, basisPoints)
}
