import { isGtin } from './fiscal-codes.ts'

/** Possible mistake in a barcode, or null. `not_gtin`: not a GTIN, such as a shop's own code. */
export function barcodeProblem(barcode: string): 'wrong_check_digit' | 'not_gtin' | null {
  if (isGtin(barcode)) return null
  return /^(?:\d{8}|\d{12,14})$/.test(barcode) ? 'wrong_check_digit' : 'not_gtin'
}
