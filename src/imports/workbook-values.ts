import { format as formatNumber, getFormatInfo, isDateFormat } from 'numfmt'

/**
 * How a cell shows its number. `code`: digits with leading zeros or marks between them, such as those of a postal code; a
 * number is its value, whatever decimals are shown.
 */
export type CellFormat =
  | { readonly as: 'number' }
  | { readonly as: 'date' | 'percent' | 'code'; readonly pattern: string }

/** Format of a style, by its index. */
export type Formats = (style: string) => CellFormat

/** Formats without a pattern in the file (ECMA 376, 18.8.30) that are no plain numbers. */
const BUILT_IN: Readonly<Record<string, string>> = {
  9: '0%',
  10: '0.00%',
  ...Object.fromEntries(
    [14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58].map((id) => [id, 'dd/mm/yyyy']),
  ),
  ...Object.fromEntries([18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56].map((id) => [id, 'hh:mm'])),
}

/** Patterns of Excel are not longer. */
const MAX_PATTERN = 255

/** Digits, marks between them, and no decimal point: `00000`, `000"."000"."000-00`, `[<=9999999]###\-####`. */
function isCode(pattern: string): boolean {
  const bare = pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, '')
  return /^[0#()\-/ ;]+$/.test(bare) && (bare.match(/0/g)?.length ?? 0) + (bare.match(/#/g)?.length ?? 0) > 1
}

function formatOf(pattern: string): CellFormat {
  if (pattern === '' || pattern.length > MAX_PATTERN) return { as: 'number' }
  try {
    if (isDateFormat(pattern)) return { as: 'date', pattern }
    if (getFormatInfo(pattern).isPercent) return { as: 'percent', pattern }
    return isCode(pattern) ? { as: 'code', pattern } : { as: 'number' }
  } catch {
    // A pattern that Excel would refuse too.
    return { as: 'number' }
  }
}

export function createFormats(styles: readonly string[], custom: ReadonlyMap<string, string>): Formats {
  const known = new Map<string, CellFormat>()
  return (style) => {
    const id = styles[Number(style)] ?? '0'
    const format = known.get(id) ?? formatOf(custom.get(id) ?? BUILT_IN[id] ?? '')
    known.set(id, format)
    return format
  }
}

const LOCALE = { locale: 'pt-BR' } as const

/** Days between the two calendars of workbooks. */
const DAYS_TO_1904 = 1_462

/** `dd/mm/aaaa`, with hours and minutes if there are any; these alone without a day. */
function shownDate(serial: number, pattern: string): string {
  const time = formatNumber('hh:mm', serial, LOCALE)
  const hasDay = /[dy]/i.test(pattern.replace(/"[^"]*"|\\.|\[[^\]]*\]/g, ''))
  if (!hasDay && serial < 1) return time
  const day = formatNumber('dd/mm/yyyy', serial, LOCALE)
  return serial % 1 === 0 || time === '00:00' ? day : `${day} ${time}`
}

/** Beyond these a number has lost digits, or a date is none. */
const [LOST_DIGITS, MAX_SERIAL] = [1e15, 2_958_465]

/** A number with a decimal comma. Four decimals instead of three: `1,250` could be read in two ways. */
function shownNumber(number: number): string {
  if (Math.abs(number) >= LOST_DIGITS) return number.toExponential(5).replace('.', ',').replace('e', 'E')
  const exact = Number(number.toPrecision(15))
  const text = String(exact)
  if (text.includes('e')) return formatNumber('0.###############', exact, LOCALE)
  return text.replace('.', ',').replace(/,(\d{3})$/, ',$10')
}

/** What a person reads in a cell: numbers with all their decimals, dates, percents, codes and booleans as they are shown. */
export function shownValue(type: string, value: string, format: CellFormat | null, is1904: boolean): string {
  if (type === 'b') return value.trim() === '1' ? 'VERDADEIRO' : value.trim() === '' ? '' : 'FALSO'
  if (type === 'd')
    return value.replace(
      /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}:\d{2}).*)?$/,
      (_, y, m, d, time) => `${d}/${m}/${y}${time && time !== '00:00' ? ` ${time}` : ''}`,
    )
  if (type !== 'n' || value.trim() === '') return value
  const number = Number(value)
  if (!Number.isFinite(number)) return value
  if (format === null || format.as === 'number' || (format.as === 'code' && !Number.isInteger(number)))
    return shownNumber(number)
  const serial = is1904 ? number + DAYS_TO_1904 : number
  if (format.as === 'date')
    return serial >= 0 && serial <= MAX_SERIAL ? shownDate(serial, format.pattern) : shownNumber(number)
  try {
    return formatNumber(format.pattern, number, LOCALE).trim()
  } catch {
    return shownNumber(number)
  }
}
