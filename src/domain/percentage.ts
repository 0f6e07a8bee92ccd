import { limitedText } from './text.ts'

const PERCENTAGE = /^(?:100(?:\.0{1,2})?|(?:0|[1-9]\d?)(?:\.\d{1,2})?)$/
const EXPECTED = 'deve ser um percentual de "0" a "100" em texto, com até duas casas decimais, como "2.50"'

/** Percentage as decimal string, 0 to 100 inclusive, up to 2 decimals. Not normalized; see normalizePercentage. */
export const Percentage = limitedText(20, EXPECTED).regex(PERCENTAGE, EXPECTED)

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
