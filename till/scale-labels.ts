/** What the labels of the shop's scales have: a SKU of `digits` and then a price in cents or a weight in grams. */
export interface ScaleSetting {
  readonly digits: 4 | 5 | 6
  readonly value: 'price' | 'weight'
}

export const DEFAULT_SCALE: ScaleSetting = { digits: 5, value: 'price' }

export interface ScaleLabel {
  /** With its leading zeros. */
  readonly sku: string
  /** Cents or grams. */
  readonly value: number
}

/** Check digit of the first twelve digits of an EAN-13. */
export function checkDigit(digits: string): number {
  let sum = 0
  for (let place = 0; place < 12; place++) sum += Number(digits[place]) * (place % 2 === 0 ? 1 : 3)
  return (10 - (sum % 10)) % 10
}

/** A label of a scale: an EAN-13 that begins with 2. Null for any other code. */
export function readScaleLabel(code: string, { digits }: ScaleSetting): ScaleLabel | null {
  if (!/^2\d{12}$/.test(code) || checkDigit(code) !== Number(code[12])) return null
  return { sku: code.slice(1, 1 + digits), value: Number(code.slice(1 + digits, 12)) }
}
