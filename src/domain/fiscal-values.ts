import type * as z from 'zod'
import { isCnpj } from './person-values.ts'
import { isPlaceholderCode, limitedText, withoutInvisible } from './text.ts'

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

/** Access key of a fiscal document: 44 upper-case characters without blanks, with a valid check digit. */
export const AccessKey = limitedText(100, EXPECTED)
  .overwrite((key) => key.replace(/\s/g, '').toUpperCase())
  .refine((key) => FORM.test(key) && key.endsWith(computeKeyDigit(key)), { error: EXPECTED, abort: true })
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

/** Check digit of the first 43 characters: modulo 11 with weights 2 to 9 from the right. A letter counts as its ASCII distance from '0', as in a CNPJ. */
export function computeKeyDigit(key: string): string {
  const places = [...key.slice(0, 43)].toReversed()
  const sum = places.reduce((total, place, n) => total + (place.charCodeAt(0) - DIGIT_ZERO) * (2 + (n % 8)), 0)
  const rest = sum % 11
  return String(rest < 2 ? 0 : 11 - rest)
}

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

/** GTIN for fiscal documents, `cEAN`; `SEM GTIN` and what else stands for none is parsed to null. */
export const Gtin = limitedText(40, GTIN)
  .overwrite(withoutInvisible)
  .refine((text) => isPlaceholderCode(text) || isGtin(text), GTIN)
  .meta({ pattern: '^\\s*(?:\\d{8}|\\d{12,14}|0+|-+|[Ss][Ee][Mm] [Gg][Tt][Ii][Nn]|[Nn]/[Aa]|[Nn][Uu][Ll][Ll])\\s*$' })
  .transform((text) => (isPlaceholderCode(text) ? null : text))

/** Digits, bare or punctuated as in the tables of the tax authorities; parsed to digits. */
const fiscalCode = (form: RegExp, message: string) =>
  limitedText(40, message)
    .regex(form, { error: message, abort: true })
    .overwrite((text) => text.replaceAll('.', ''))

/** NCM code (Mercosur nomenclature of goods), 8 digits (ITEM-12). */
export const Ncm = fiscalCode(/^(\d{8}|\d{4}\.\d{2}\.\d{2})$/, 'deve ser um NCM de 8 dígitos, como "09012100"')

/** CEST code (goods under tax substitution), 7 digits (ITEM-12). */
export const Cest = fiscalCode(/^(\d{7}|\d{2}\.\d{3}\.\d{2})$/, 'deve ser um CEST de 7 dígitos, como "1709600"')

const REGISTRATION = 'deve ser uma inscrição estadual de 2 a 14 dígitos, ou "ISENTO"'

/** State registration of a taxpayer: 2 to 14 digits, punctuation allowed; `ISENTO` if exempt. */
export const StateRegistration = limitedText(100, REGISTRATION)
  .trim()
  .toUpperCase()
  .overwrite((text) => text.replace(/[\s./-]/g, ''))
  .regex(/^(\d{2,14}|ISENTO)$/, REGISTRATION)

/** Tax fields of a catalog item for fiscal documents, beside GTIN, NCM and CEST; all texts. */
export const ITEM_TAX_FIELDS = [
  'origin',
  'cfop',
  'icms_cst',
  'csosn',
  'pis_cst',
  'cofins_cst',
  'cbenef',
  'ibs_cbs_cst',
  'ibs_cbs_class',
] as const

type ItemTaxField = (typeof ITEM_TAX_FIELDS)[number]

const code = (form: RegExp, message: string) => limitedText(40, message).regex(form, { error: message, abort: true })

const cst = (of: string) => code(/^\d{2}$/, `deve ser um CST ${of} de 2 dígitos, como "01"`)

/** Shapes of the tax fields, by the layouts of NF-e and NFC-e. */
export const itemTaxShape = {
  origin: code(/^[0-8]$/, 'deve ser a origem da mercadoria, um dígito de 0 a 8').nullish(),
  cfop: code(/^[1-35-7](\d{3}|\.\d{3})$/, 'deve ser um CFOP de 4 dígitos, como "5102"')
    .overwrite((text) => text.replace('.', ''))
    .nullish(),
  icms_cst: code(/^\d{2}$/, 'deve ser um CST do ICMS de 2 dígitos, como "00"').nullish(),
  csosn: code(/^\d{3}$/, 'deve ser um CSOSN de 3 dígitos, como "102"').nullish(),
  pis_cst: cst('do PIS').nullish(),
  cofins_cst: cst('da COFINS').nullish(),
  cbenef: limitedText(40, 'deve ser um código de benefício fiscal')
    .trim()
    .toUpperCase()
    .regex(
      /^([A-Z0-9]{8}|[A-Z0-9]{10}|SEM CBENEF)$/,
      'deve ser um código de benefício fiscal de 8 ou 10 letras e dígitos, ou "SEM CBENEF"',
    )
    .nullish(),
  ibs_cbs_cst: code(/^\d{3}$/, 'deve ser um CST de IBS e CBS de 3 dígitos, como "000"').nullish(),
  ibs_cbs_class: code(/^\d{6}$/, 'deve ser uma classificação tributária (cClassTrib) de 6 dígitos').nullish(),
} satisfies Record<ItemTaxField, z.ZodType>

type ItemTaxes = { readonly [F in ItemTaxField]?: string | null | undefined }

/** Contradiction between tax fields, with the field to name; null if there is none. */
export function itemTaxProblem({ icms_cst, csosn, ibs_cbs_cst, ibs_cbs_class }: ItemTaxes) {
  if (icms_cst && csosn) return { field: 'csosn', message: 'não pode ser informado junto com icms_cst' } as const
  if (ibs_cbs_cst && ibs_cbs_class && !ibs_cbs_class.startsWith(ibs_cbs_cst))
    return { field: 'ibs_cbs_class', message: `deve começar com o CST de IBS e CBS, "${ibs_cbs_cst}"` } as const
  return null
}

/** Codes for fiscal documents that a sale's line keeps as they were when sold. */
export const FISCAL_CODES = ['gtin', 'ncm', 'cest', ...ITEM_TAX_FIELDS] as const

/** Codes of an item for fiscal documents. Fields without a value have no key. */
export type FiscalCodes = { [F in (typeof FISCAL_CODES)[number]]?: string }

export function pickFiscalCodes(item: { readonly [F in (typeof FISCAL_CODES)[number]]?: string | null }): FiscalCodes {
  const codes: FiscalCodes = {}
  for (const field of FISCAL_CODES) {
    const code = item[field]
    if (code) codes[field] = code
  }
  return codes
}

/** Modules of digits left of the middle; on the right they are inverted. */
const LEFT = '0001101 0011001 0010011 0111101 0100011 0110001 0101111 0111011 0110111 0001011'.split(' ')

/** Which of the six left digits are mirrored (G), by the first digit of an EAN of 13 digits. */
const MIRRORED = '000000 001011 001101 001110 010011 011001 011100 010101 010110 011010'.split(' ')

const inverted = (modules: string): string => modules.replace(/[01]/g, (module) => (module === '0' ? '1' : '0'))
const right = (digit: string): string => inverted(LEFT[Number(digit)] as string)
const mirrored = (digit: string): string => [...right(digit)].reverse().join('')

function ean(digits: string): string {
  const [first, body] = digits.length === 13 ? [digits[0], digits.slice(1)] : ['0', digits]
  const half = body.length / 2
  const mirror = MIRRORED[Number(first)] as string
  const left = [...body.slice(0, half)].map((digit, at) =>
    mirror[at] === '1' ? mirrored(digit) : (LEFT[Number(digit)] as string),
  )
  return `101${left.join('')}01010${[...body.slice(half)].map(right).join('')}101`
}

/** Widths of bars and spaces of Code 128, by value. */
const WIDTHS = [
  '212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 112232 122132 122231 113222',
  '123122 123221 223211 221132 221231 213212 223112 312131 311222 321122 321221 312212 322112 322211 212123 212321',
  '232121 111323 131123 131321 112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121',
  '313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 314111 221411 431111 111224',
  '111422 121124 121421 141122 141221 112214 112412 122114 122411 142112 142211 241211 221114 413111 241112 134111',
  '111242 121142 121241 114212 124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113',
  '114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 2331112',
].flatMap((line) => line.split(' '))

const [START_B, START_C, STOP, MODULUS] = [104, 105, 106, 103]

/** Pairs of digits in code set C, other texts in B. */
function code128(text: string): string {
  const isPaired = /^(?:\d\d)+$/.test(text)
  const values = isPaired
    ? Array.from({ length: text.length / 2 }, (_, at) => Number(text.slice(2 * at, 2 * at + 2)))
    : [...text].map((character) => character.charCodeAt(0) - 32)
  const start = isPaired ? START_C : START_B
  const check = values.reduce((sum, value, at) => sum + value * (at + 1), start) % MODULUS
  return [start, ...values, check, STOP]
    .flatMap((value) =>
      [...(WIDTHS[value] as string)].map((width, at) => (at % 2 === 0 ? '1' : '0').repeat(Number(width))),
    )
    .join('')
}

/** More would not fit a label. */
const MAX_LENGTH = 30

/**
 * Dark (1) and light (0) modules of a barcode: EAN for a GTIN of up to 13 digits, else Code 128; null for a
 * text that scanners do not read.
 */
export function encodeBarcode(code: string): string | null {
  if (code.length > MAX_LENGTH || !/^[ -~]+$/.test(code)) return null
  if (isGtin(code) && code.length < 14) return ean(code.length === 12 ? `0${code}` : code)
  return code128(code)
}
