import { z } from 'zod'
import { expects } from './portuguese.ts'

const EXPECTED = 'deve ser uma chave de acesso de 44 caracteres com dígito verificador correto'

/** State and month, CNPJ (also with letters), then model, series, number and code. */
const FORM = /^\d{6}[0-9A-Z]{12}\d{26}$/
const DIGIT_ZERO = 48

/** The access key of a fiscal document: 44 characters, upper case and without blanks, its check digit right (FISCAL-2). */
export const AccessKey = z
  .string(expects(EXPECTED))
  .overwrite((key) => key.replace(/\s/g, '').toUpperCase())
  .refine((key) => FORM.test(key) && key.endsWith(checkDigitOf(key)), EXPECTED)

/** The model of the document, '55', which the key has at its 21st and 22nd place. */
export const modelOf = (accessKey: string): string => accessKey.slice(20, 22)

/** Modulo 11 with the weights 2 to 9 from the right; a letter counts as its place in ASCII from the digit 0 on, as in a CNPJ. */
function checkDigitOf(key: string): string {
  const places = [...key.slice(0, -1)].toReversed()
  const sum = places.reduce((total, place, n) => total + (place.charCodeAt(0) - DIGIT_ZERO) * (2 + (n % 8)), 0)
  const rest = sum % 11
  return String(rest < 2 ? 0 : 11 - rest)
}
