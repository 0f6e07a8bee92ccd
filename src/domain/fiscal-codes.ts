import { z } from 'zod'
import { expects } from './portuguese.ts'

/** Whether these are the 8, 12, 13 or 14 bare digits of a GTIN (EAN, UPC), the last of which checks the others. */
export function isGtin(digits: string): boolean {
  if (!/^(\d{8}|\d{12,14})$/.test(digits)) return false
  // From the right: the check digit counts once, the one before it three times, and so on.
  const weighted = [...digits].reverse().map((digit, place) => Number(digit) * (place % 2 === 0 ? 1 : 3))
  return weighted.reduce((sum, each) => sum + each, 0) % 10 === 0
}

const GTIN = 'deve ser um GTIN de 8, 12, 13 ou 14 dígitos, com o dígito verificador certo'

/** The trade item number that fiscal documents show, `cEAN` (ITEM-10). */
export const Gtin = z.string(expects(GTIN)).refine(isGtin, GTIN)

/** Digits, bare or punctuated as the tables of the tax authorities print them; the value is the digits. */
const code = (form: RegExp, message: string) =>
  z
    .string(expects(message))
    .regex(form, { error: message, abort: true })
    .overwrite((text) => text.replaceAll('.', ''))

/** A class of the Mercosur nomenclature of goods, 8 digits (ITEM-10). */
export const Ncm = code(/^(\d{8}|\d{4}\.\d{2}\.\d{2})$/, 'deve ser um NCM de 8 dígitos, como "09012100"')

/** A class of goods under tax substitution, 7 digits (ITEM-10). */
export const Cest = code(/^(\d{7}|\d{2}\.\d{3}\.\d{2})$/, 'deve ser um CEST de 7 dígitos, como "1709600"')

const REGISTRATION = 'deve ser uma inscrição estadual de 2 a 14 dígitos, ou "ISENTO"'

/** The number under which a state taxes a company: 2 to 14 digits, typed with or without punctuation; `ISENTO` where exempt. */
export const StateRegistration = z
  .string(expects(REGISTRATION))
  .trim()
  .toUpperCase()
  .overwrite((text) => text.replace(/[\s./-]/g, ''))
  .regex(/^(\d{2,14}|ISENTO)$/, REGISTRATION)
