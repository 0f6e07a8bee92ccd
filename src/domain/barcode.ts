import { isGtin } from './fiscal-values.ts'
import { isPlaceholderCode, limitedText, storedText, withoutInvisible } from './text.ts'

/** Without invisible characters, and a GTIN without the blanks and hyphens of labels: `789 1234 567895`. */
export function plainBarcode(text: string): string {
  const code = withoutInvisible(text)
  const digits = code.replace(/[\s-]/g, '')
  return isGtin(digits) ? digits : code
}

/** Barcode of 1 to 60 characters; what stands for none is null. */
export const Barcode = storedText(limitedText(400, 'deve ser um texto').overwrite(plainBarcode), 60).transform(
  (text) => (isPlaceholderCode(text) ? null : text),
)

/**
 * A GTIN without leading zeros, or null if the code is none: a UPC-A of 12 digits, the same as an EAN of 13 digits with a zero
 * before it, and the one that lost its zero in a spreadsheet are one product.
 */
export function gtinKey(code: string): string | null {
  if (!/^\d{11,14}$/.test(code) || !isGtin(code.padStart(14, '0'))) return null
  return code.replace(/^0+/, '')
}

/** Spellings of a code that mean the same product; only the code itself if it is no GTIN. */
export function sameBarcodes(code: string): string[] {
  const key = gtinKey(code)
  if (key === null) return [code]
  return [
    ...new Set([code, ...[11, 12, 13, 14].flatMap((length) => (key.length > length ? [] : key.padStart(length, '0')))]),
  ]
}

/** Possible mistake in a barcode, or null. `not_gtin`: not a GTIN, such as a shop's own code. */
export function barcodeProblem(barcode: string): 'wrong_check_digit' | 'not_gtin' | null {
  if (isGtin(barcode)) return null
  return /^(?:\d{8}|\d{12,14})$/.test(barcode) ? 'wrong_check_digit' : 'not_gtin'
}
