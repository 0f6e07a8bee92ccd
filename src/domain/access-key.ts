import { isCnpj } from './tax-number.ts'
import { limitedText } from './text.ts'

const EXPECTED = 'deve ser uma chave de acesso de 44 caracteres com dígito verificador correto'

/** State and month, CNPJ (letters allowed), then model, series, number and code. */
const FORM = /^\d{6}[0-9A-Z]{12}\d{26}$/
const MONTH = /^.{4}(0[1-9]|1[0-2])/
const NO_MONTH = 'tem um mês que não existe'
const NO_STATE = 'começa com um código de UF que não existe'
const NO_CNPJ = 'tem um CNPJ com dígitos verificadores incorretos'
/** IBGE codes of the states, the first two digits of a key. */
const STATES: ReadonlySet<string> = new Set(
  '11 12 13 14 15 16 17 21 22 23 24 25 26 27 28 29 31 32 33 35 41 42 43 50 51 52 53'.split(' '),
)
const DIGIT_ZERO = 48

/** Access key of a fiscal document: 44 upper-case characters without blanks, with a valid check digit (FISCAL-2). */
export const AccessKey = limitedText(100, EXPECTED)
  .overwrite((key) => key.replace(/\s/g, '').toUpperCase())
  .refine((key) => FORM.test(key) && key.endsWith(checkDigitOf(key)), { error: EXPECTED, abort: true })
  .refine((key) => MONTH.test(key), NO_MONTH)
  .refine((key) => STATES.has(key.slice(0, 2)), NO_STATE)
  .refine((key) => isCnpj(readAccessKey(key).cnpj), NO_CNPJ)

/** What a key says of its document. Series and number are without leading zeros. */
interface KeyContent {
  /** Month of issue: '2026-11'. */
  readonly month: string
  readonly cnpj: string
  /** Such as '55'. */
  readonly model: string
  readonly series: string
  readonly number: string
}

/** Model of documents of a SAT device, the serial number of which takes the place of the series. */
const SAT = '59'

export function readAccessKey(key: string): KeyContent {
  const model = key.slice(20, 22)
  const seriesEnd = model === SAT ? 31 : 25
  return {
    month: `20${key.slice(2, 4)}-${key.slice(4, 6)}`,
    cnpj: key.slice(6, 20),
    model,
    series: withoutZeros(key.slice(22, seriesEnd)),
    number: withoutZeros(key.slice(seriesEnd, model === SAT ? 37 : 34)),
  }
}

/** A number as documents compare it: '007' is '7'. Other texts ignore case and outer blanks. */
export const withoutZeros = (text: string): string =>
  text
    .trim()
    .toUpperCase()
    .replace(/^0+(?=\d+$)/, '')

/** Modulo 11 with weights 2 to 9 from the right. A letter counts as its ASCII distance from '0', as in a CNPJ. */
function checkDigitOf(key: string): string {
  const places = [...key.slice(0, -1)].toReversed()
  const sum = places.reduce((total, place, n) => total + (place.charCodeAt(0) - DIGIT_ZERO) * (2 + (n % 8)), 0)
  const rest = sum % 11
  return String(rest < 2 ? 0 : 11 - rest)
}
