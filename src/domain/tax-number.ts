import { cnpj, cpf } from 'cpf-cnpj-validator'
import { limitedText, withoutInvisible } from './text.ts'

/** Whether the text is a CPF of 11 bare digits: valid check digits, not a repeated digit. */
export function isCpf(digits: string): boolean {
  // Not cpf.isValid: it also refuses 12345678909, a valid CPF.
  if (!/^\d{11}$/.test(digits) || isRepeated(digits)) return false
  const first = cpf.verifierDigit(digits.slice(0, 9))
  return digits.endsWith(`${first}${cpf.verifierDigit(digits.slice(0, 9) + first)}`)
}

/**
 * Whether the text is a CNPJ of 14 bare characters, numeric or alphanumeric (2026 format, upper case only): valid check
 * digits, not a repeated digit.
 */
export function isCnpj(text: string): boolean {
  return /^[0-9A-Z]{12}\d{2}$/.test(text) && !isRepeated(text) && cnpj.isValid(text, true)
}

/** Shape of a CPF or CNPJ with any punctuation, without its check digits, for the contract. */
export const TAX_NUMBER_PATTERN = '^[\\s./-]*(?:(?:\\d[\\s./-]*){11}|(?:[0-9A-Za-z][\\s./-]*){12}(?:\\d[\\s./-]*){2})$'

/** CPF or CNPJ without punctuation, in upper case. */
export const bareTaxNumber = (text: string): string =>
  withoutInvisible(text)
    .replace(/[\s./-]/g, '')
    .toUpperCase()

const EXPECTED = 'deve ser um CNPJ válido, como "12.345.678/0001-95"'

/** CNPJ from a command line, bare or formatted; parsed to the formatted one. */
export const Cnpj = limitedText(100, EXPECTED)
  .refine((text) => isCnpj(bareTaxNumber(text)), { error: EXPECTED, abort: true })
  .overwrite((text) => cnpj.format(bareTaxNumber(text)))

function isRepeated(text: string): boolean {
  return text === text.charAt(0).repeat(text.length)
}
