/** Digits of a GTIN-8, GTIN-12 (UPC-A), GTIN-13 (EAN-13) and GTIN-14. */
const GTIN = /^(?:\d{8}|\d{12,14})$/

/** Why a barcode may be a mistake, or null: `not_gtin` is any other code than a GTIN, as a shop's own. */
export function barcodeProblem(barcode: string): 'wrong_check_digit' | 'not_gtin' | null {
  if (!GTIN.test(barcode)) return 'not_gtin'
  return checkDigit(barcode.slice(0, -1)) === Number(barcode.slice(-1)) ? null : 'wrong_check_digit'
}

/** GS1: the digits count three and one times in turn, three times the last one; the check digit makes it a multiple of 10. */
function checkDigit(digits: string): number {
  const sum = [...digits].reverse().reduce((sum, digit, at) => sum + Number(digit) * (at % 2 === 0 ? 3 : 1), 0)
  return (10 - (sum % 10)) % 10
}
