import { isPlaceholderCode } from './codes.ts'
import { limitedText, withoutInvisible } from './text.ts'

/** Whether the digits are a GTIN (EAN, UPC) of length 8, 12, 13 or 14 with a valid check digit. */
export function isGtin(digits: string): boolean {
  if (!/^(\d{8}|\d{12,14})$/.test(digits)) return false
  // Weights from the right: 1 for the check digit, then 3, 1, 3 …
  const weighted = [...digits].reverse().map((digit, place) => Number(digit) * (place % 2 === 0 ? 1 : 3))
  return weighted.reduce((sum, each) => sum + each, 0) % 10 === 0
}

const GTIN = 'deve ser um GTIN de 8, 12, 13 ou 14 dígitos, com o dígito verificador certo'

/** What fiscal documents have in the place of a GTIN that a product does not have. */
export const NO_GTIN = 'SEM GTIN'

/** GTIN for fiscal documents, `cEAN`; `SEM GTIN` and what else stands for none is parsed to null (ITEM-10). */
export const Gtin = limitedText(40, GTIN)
  .overwrite(withoutInvisible)
  .refine((text) => isPlaceholderCode(text) || isGtin(text), GTIN)
  .meta({ pattern: '^\\s*(?:\\d{8}|\\d{12,14}|0+|-+|[Ss][Ee][Mm] [Gg][Tt][Ii][Nn]|[Nn]/[Aa]|[Nn][Uu][Ll][Ll])\\s*$' })
  .transform((text) => (isPlaceholderCode(text) ? null : text))

/** Digits, bare or punctuated as in the tables of the tax authorities; parsed to digits. */
const code = (form: RegExp, message: string) =>
  limitedText(40, message)
    .regex(form, { error: message, abort: true })
    .overwrite((text) => text.replaceAll('.', ''))

/** NCM code (Mercosur nomenclature of goods), 8 digits (ITEM-10). */
export const Ncm = code(/^(\d{8}|\d{4}\.\d{2}\.\d{2})$/, 'deve ser um NCM de 8 dígitos, como "09012100"')

/** CEST code (goods under tax substitution), 7 digits (ITEM-10). */
export const Cest = code(/^(\d{7}|\d{2}\.\d{3}\.\d{2})$/, 'deve ser um CEST de 7 dígitos, como "1709600"')

const REGISTRATION = 'deve ser uma inscrição estadual de 2 a 14 dígitos, ou "ISENTO"'

/** State registration of a taxpayer: 2 to 14 digits, punctuation allowed; `ISENTO` if exempt. */
export const StateRegistration = limitedText(100, REGISTRATION)
  .trim()
  .toUpperCase()
  .overwrite((text) => text.replace(/[\s./-]/g, ''))
  .regex(/^(\d{2,14}|ISENTO)$/, REGISTRATION)
