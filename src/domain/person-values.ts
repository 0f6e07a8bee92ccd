import { cnpj, cpf } from 'cpf-cnpj-validator'
import * as z from 'zod'
import { inZone } from './instant.ts'
import { fromBigCents } from './money.ts'
import { Email, limitedText, withoutInvisible } from './text.ts'

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

/**
 * The digits by which phones compare: without Brazil's country code and the zero of long-distance calls. `55` at the
 * beginning of at most eleven digits is an area code.
 */
export const phoneKey = (digits: string): string =>
  digits.replace(/^55(?=\d{10,11}$)/, '').replace(/^0(?=\d{10,11}$)/, '')

/**
 * Parts of personal data that are encrypted and erased together: `identity` is needed by fiscal documents and open
 * accounts, `contact` by no law.
 */
export const PERSON_PARTS = ['identity', 'contact'] as const
export type PersonPart = (typeof PERSON_PARTS)[number]

/**
 * Kinds of records with personal data: first half of a subject, as in `customer/9`. An order has those of buyer and
 * payer.
 */
export const PERSON_KINDS = ['customer', 'supplier', 'user', 'order'] as const
export type PersonKind = (typeof PERSON_KINDS)[number]

/** Replaces personal data that the reader may not see. Null values stay null. */
export const MASKED = '(retido)'

/** The 26 states of Brazil and the federal district: names, and first five digits of their CEPs, as ranges. */
const BY_STATE = {
  AC: ['Acre', [69900, 69999]],
  AL: ['Alagoas', [57000, 57999]],
  AP: ['Amapá', [68900, 68999]],
  AM: ['Amazonas', [69000, 69299], [69400, 69899]],
  BA: ['Bahia', [40000, 48999]],
  CE: ['Ceará', [60000, 63999]],
  DF: ['Distrito Federal', [70000, 72799], [73000, 73699]],
  ES: ['Espírito Santo', [29000, 29999]],
  GO: ['Goiás', [72800, 72999], [73700, 76799]],
  MA: ['Maranhão', [65000, 65999]],
  MT: ['Mato Grosso', [78000, 78899]],
  MS: ['Mato Grosso do Sul', [79000, 79999]],
  MG: ['Minas Gerais', [30000, 39999]],
  PA: ['Pará', [66000, 68899]],
  PB: ['Paraíba', [58000, 58999]],
  PR: ['Paraná', [80000, 87999]],
  PE: ['Pernambuco', [50000, 56999]],
  PI: ['Piauí', [64000, 64999]],
  RJ: ['Rio de Janeiro', [20000, 28999]],
  RN: ['Rio Grande do Norte', [59000, 59999]],
  RS: ['Rio Grande do Sul', [90000, 99999]],
  RO: ['Rondônia', [76800, 76999], [78900, 78999]],
  RR: ['Roraima', [69300, 69399]],
  SC: ['Santa Catarina', [88000, 89999]],
  SP: ['São Paulo', [1000, 19999]],
  SE: ['Sergipe', [49000, 49999]],
  TO: ['Tocantins', [77000, 77999]],
} as const satisfies Record<string, readonly [name: string, ...zips: (readonly [from: number, to: number])[]]>

type State = keyof typeof BY_STATE

export const STATES = Object.keys(BY_STATE) as State[]

export const stateName = (state: State): string => BY_STATE[state][0]

/** State of a CEP of eight digits; null if no state has it. */
export function stateOfZip(zip: string): State | null {
  const begin = Number(zip.slice(0, 5))
  const has = (state: State) => {
    const [, ...ranges] = BY_STATE[state]
    return ranges.some(([from, to]) => begin >= from && begin <= to)
  }
  return STATES.find(has) ?? null
}

/** Decimal text in Brazilian format: `1234567.5` becomes `1.234.567,5`. */
export function formatDecimal(text: string): string {
  const [whole = '', fraction] = text.split('.')
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, '.')
  return fraction === undefined ? grouped : `${grouped},${fraction}`
}

/** A whole number: `1234567` becomes `1.234.567`. */
export const formatCount = (count: number | bigint): string => formatDecimal(String(count)).replace('-', '−')

/** A measured number with this many decimals: `0.5` becomes `0,50`. Not for money. */
export const formatFraction = (value: number, decimals: number): string => formatDecimal(value.toFixed(decimals))

const MEBIBYTE = 1_048_576

/** Bytes as MiB with one decimal, without the unit. */
export const formatMebibytes = (bytes: number): string => formatFraction(bytes / MEBIBYTE, 1)

/** `-1234.50` becomes `−R$ 1.234,50`, with a no-break space. */
export function formatMoney(amount: string): string {
  const isNegative = amount.startsWith('-')
  return `${isNegative ? '−' : ''}R$\u00A0${formatDecimal(isNegative ? amount.slice(1) : amount)}`
}

/** The same of integer cents. */
export const formatCents = (cents: number | bigint): string => formatMoney(fromBigCents(BigInt(cents)))

/** `1.500` becomes `1,5`: trailing zeros are removed. */
export function formatQuantity(amount: string): string {
  return formatDecimal(amount.includes('.') ? amount.replace(/\.?0+$/, '') : amount).replace('-', '−')
}

/** A quantity with its unit, if the item has one: `4.797 UN`, `0,924 kg`. */
export const formatUnits = (amount: string, unit: string | null | undefined): string =>
  unit ? `${formatQuantity(amount)}\u00A0${unit}` : formatQuantity(amount)

/** A change of a stock: `+3 UN`. */
export const formatSigned = (amount: string, unit: string | null | undefined): string =>
  `${amount.startsWith('-') ? '' : '+'}${formatUnits(amount, unit)}`

/** `2.50` becomes `2,50%`. */
export const formatPercentage = (percent: string): string => `${formatDecimal(percent)}%`

/** `2026-11-21` becomes `21/11/2026`. */
export function formatDay(date: string): string {
  const [year, month, dayOfMonth] = date.split('-')
  return `${dayOfMonth}/${month}/${year}`
}

/** An instant (with an offset or UTC) in the company's time zone: `21/11/2026 08:17`, with a no-break space. */
export const formatDateTime = (instant: string, timezone: string): string =>
  formatDateTimeSeconds(instant, timezone).slice(0, -3).replace(' ', '\u00A0')

/** To the second, as in the ledger and in files, with a plain space. */
export function formatDateTimeSeconds(instant: string, timezone: string): string {
  const local = inZone(new Date(instant).toISOString(), timezone)
  return `${formatDay(local.slice(0, 10))} ${local.slice(11, 19)}`
}

/** A day, or a local time to the minute. */
export const formatLocal = (local: string): string =>
  local.length > 10 ? `${formatDay(local.slice(0, 10))} ${local.slice(11, 16)}` : formatDay(local)

/** Name of a person, or a placeholder after erasure. */
export const formatPersonName = (name: string | null): string => name ?? 'Titular anonimizado'

/** A CPF or CNPJ with punctuation: `529.982.247-25`, `11.222.333/0001-81`. */
export function formatTaxNumber(document: string): string {
  if (document.length === 11) return document.replace(/^(.{3})(.{3})(.{3})(.{2})$/, '$1.$2.$3-$4')
  return document.replace(/^(.{2})(.{3})(.{3})(.{4})(.{2})$/, '$1.$2.$3/$4-$5')
}

/** A Brazilian phone number in its usual format: `(11) 98765-4321`; other numbers are unchanged. */
export function formatPhone(number: string): string {
  if (!/^(?:55)?[1-9]{2}\d{8,9}$/.test(number)) return number
  const own = number.length > 11 ? number.slice(2) : number
  return `${number.length > 11 ? '+55 ' : ''}(${own.slice(0, 2)}) ${own.slice(2, -4)}-${own.slice(-4)}`
}

/** Link that opens WhatsApp with a text, to a Brazilian number, or to one that is chosen there. */
export function formatWhatsAppUrl(phone: string | null, text: string): string {
  const digits = phoneKey(phone ?? '')
  return `https://wa.me/${/^[1-9]{2}\d{8,9}$/.test(digits) ? `55${digits}` : ''}?text=${encodeURIComponent(text)}`
}

/** `01310100` becomes `01310-100`. */
export const formatZipCode = (zip: string): string => `${zip.slice(0, 5)}-${zip.slice(5)}`

const PIX_EXPECTED = 'deve ser uma chave Pix: CPF, CNPJ, telefone com DDD, e-mail ou chave aleatória'

/** Longest key of the central bank's directory: an e-mail. */
const MAX_PIX_KEY = 77

const RANDOM_KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Area code, then a mobile number or one of a fixed line. */
const PHONE_NUMBER = /^(?:[14689][1-9]|2[12478]|3[1-578]|5[1345]|7[134579])(?:9\d{8}|[2-5]\d{7})$/

/** `+55`, area code and number; null if the text is no Brazilian phone, or a CPF with a wrong digit. */
function phoneOf(text: string): string | null {
  if (!/^[\d\s()+-]+$/.test(text)) return null
  const digits = text.replace(/\D/g, '')
  const own = /^\s*\+/.test(text) || digits.length > 11 ? /^55(\d{10,11})$/.exec(digits)?.[1] : digits
  return own && PHONE_NUMBER.test(own) ? `+55${own}` : null
}

/** A key as the directory has it; null if it is of no kind. Eleven digits are a CPF if they can be one. */
function pixKeyOf(typed: string): string | null {
  const text = typed.trim()
  if (text.includes('@')) return Email.safeParse(text).data ?? null
  if (RANDOM_KEY.test(text)) return text.toLowerCase()
  if (/^[+(]/.test(text)) return phoneOf(text)
  const number = bareTaxNumber(text)
  return isCpf(number) || isCnpj(number) ? number : phoneOf(text)
}

/** Key by which a shop receives Pix. */
export const PixKey = limitedText(200, PIX_EXPECTED).transform((typed, context) => {
  const key = pixKeyOf(typed)
  if (key !== null && key.length <= MAX_PIX_KEY) return key
  context.addIssue({ code: 'custom', message: PIX_EXPECTED })
  return z.NEVER
})
