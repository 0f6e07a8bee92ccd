import { z } from 'zod'
import { expects } from './portuguese.ts'

const EXPECTED = 'deve ser uma chave de acesso de 44 caracteres com dígito verificador correto'

/** State and month, CNPJ (letters allowed), then model, series, number and code. */
const FORM = /^\d{6}[0-9A-Z]{12}\d{26}$/
const DIGIT_ZERO = 48

/** Access key of a fiscal document: 44 upper-case characters without blanks, with a valid check digit (FISCAL-2). */
export const AccessKey = z
  .string(expects(EXPECTED))
  .overwrite((key) => key.replace(/\s/g, '').toUpperCase())
  .refine((key) => FORM.test(key) && key.endsWith(checkDigitOf(key)), EXPECTED)

/** Document model, such as '55': characters 21 and 22 of the key. */
export const modelOf = (accessKey: string): string => accessKey.slice(20, 22)

/** Modulo 11 with weights 2 to 9 from the right. A letter counts as its ASCII distance from '0', as in a CNPJ. */
function checkDigitOf(key: string): string {
  const places = [...key.slice(0, -1)].toReversed()
  const sum = places.reduce((total, place, n) => total + (place.charCodeAt(0) - DIGIT_ZERO) * (2 + (n % 8)), 0)
  const rest = sum % 11
  return String(rest < 2 ? 0 : 11 - rest)
}
