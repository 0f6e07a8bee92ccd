import { inZone } from './instant.ts'
import { fromBigCents } from './money.ts'

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

/** `01310100` becomes `01310-100`. */
export const formatZipCode = (zip: string): string => `${zip.slice(0, 5)}-${zip.slice(5)}`
