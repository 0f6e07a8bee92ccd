/** The 43 characters with their check digit: modulo 11, weights 2 to 9 from the right. */
export function withCheckDigit(key: string): string {
  const sum = [...key].reverse().reduce((total, place, n) => total + (place.charCodeAt(0) - 48) * (2 + (n % 8)), 0)
  return key + (sum % 11 < 2 ? 0 : 11 - (sum % 11))
}

interface KeyParts {
  readonly state: string
  readonly year: string
  readonly month: string
  readonly cnpj: string
  readonly model: string
  readonly series: string
  readonly number: string
}

/** Access key; by default one of the company of most tests, of document 1/1234 of January 2026. */
export function accessKeyOf(parts: Partial<KeyParts> = {}): string {
  const {
    state = '35',
    year = '26',
    month = '01',
    cnpj = '11222333000181',
    model = '65',
    series = '1',
    number = '1234',
  } = parts
  return withCheckDigit(
    `${state}${year}${month}${cnpj}${model}${series.padStart(3, '0')}${number.padStart(9, '0')}100001234`,
  )
}
