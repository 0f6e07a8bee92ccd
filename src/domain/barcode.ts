import { isGtin } from './fiscal-codes.ts'

/** Why a barcode may be a mistake, or null: `not_gtin` is any other code than a GTIN, as a shop's own. */
export function barcodeProblem(barcode: string): 'wrong_check_digit' | 'not_gtin' | null {
  if (isGtin(barcode)) return null
  return /^(?:\d{8}|\d{12,14})$/.test(barcode) ? 'wrong_check_digit' : 'not_gtin'
}
