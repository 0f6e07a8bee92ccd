import { cnpj, cpf } from 'cpf-cnpj-validator'
import { z } from 'zod'
import { expects } from './portuguese.ts'

/** Whether these are the 11 bare digits of a person's tax number: check digits right, not one digit repeated. */
export function isCpf(digits: string): boolean {
  // Not cpf.isValid: that also refuses 12345678909, a regular number.
  if (!/^\d{11}$/.test(digits) || isRepeated(digits)) return false
  const first = cpf.verifierDigit(digits.slice(0, 9))
  return digits.endsWith(`${first}${cpf.verifierDigit(digits.slice(0, 9) + first)}`)
}

/**
 * Whether these are the 14 bare characters of a company's tax number, numeric or of the alphanumeric form of 2026
 * (upper case only): check digits right, not one digit repeated.
 */
export function isCnpj(text: string): boolean {
  return /^[0-9A-Z]{12}\d{2}$/.test(text) && !isRepeated(text) && cnpj.isValid(text, true)
}

/** A tax number without the punctuation that it is written with, its letters in upper case. */
export const bareTaxNumber = (text: string): string => text.replace(/[\s./-]/g, '').toUpperCase()

const EXPECTED = 'deve ser um CNPJ válido, como "12.345.678/0001-95"'

/** A company's tax number as typed on a command line, bare or formatted; the value is the formatted one. */
export const Cnpj = z
  .string(expects(EXPECTED))
  .refine((text) => isCnpj(bareTaxNumber(text)), { error: EXPECTED, abort: true })
  .overwrite((text) => cnpj.format(bareTaxNumber(text)))

function isRepeated(text: string): boolean {
  return text === text.charAt(0).repeat(text.length)
}
