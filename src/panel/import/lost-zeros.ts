import { gtinKey } from '#domain/barcode.ts'
import { isCnpj, isCpf } from '#domain/tax-number.ts'
import type { CodeTable, SimilarCode } from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import type { Fields } from '../forms/form.ts'
import type { Doubt } from './doubts.ts'
import type { KeyField, ReadLine } from './read-line.ts'

/** A read line, and what speaks against it. */
export interface DoubtedLine {
  readonly read: ReadLine
  readonly doubt: Doubt | null
}

const zeroless = (code: string): string => code.replace(/^0+/, '')

/** Codes of digits alone that differ in zeros before them; barcodes that are GTINs are compared as such. */
const isBareCode = (field: string, code: string): boolean =>
  /^\d{1,14}$/.test(code) && zeroless(code) !== '' && (field !== 'barcode' || gtinKey(code) === null)

/** Lengths of codes that never begin with another digit than the one a spreadsheet has left out. */
const padded = (text: string, length: number, isRight: (code: string) => boolean): string | null => {
  const code = text.padStart(length, '0')
  return /^\d+$/.test(text) && text.length < length && text.length >= length - 2 && isRight(code) ? code : null
}

/** Complete codes of a fixed length, by field. */
const FIXED: Readonly<Record<string, (text: string) => string | null>> = {
  document: (text) => padded(text, 11, isCpf) ?? padded(text, 14, isCnpj),
  'address.zip': (text) => padded(text, 8, (code) => code.startsWith('0') && !code.startsWith('00')),
  ncm: (text) => padded(text, 8, (code) => code.startsWith('0') && !code.startsWith('00')),
  cest: (text) => padded(text, 7, (code) => code.startsWith('0') && !code.startsWith('00')),
}

const lost = (label: string, code: string, whole: string, of = ''): Doubt => ({
  kind: 'zeros',
  text: `${label}: "${code}" parece ser "${whole}"${of}, sem os zeros: marcada, a linha vale para "${whole}"`,
})

/** A doubt, and what else speaks against the line. */
const withDoubt = (doubt: Doubt | null, other: Doubt): Doubt =>
  doubt === null ? other : { ...doubt, text: `${doubt.text}; ${other.text}` }

/** The line with its codes of a fixed length as they were before a spreadsheet took them for numbers. */
export function withFixedCodes(line: ReadLine, fields: Fields, keyFields: readonly KeyField[]): DoubtedLine {
  let [read, doubt]: [ReadLine, Doubt | null] = [line, null]
  for (const [field, wholeOf] of Object.entries(FIXED)) {
    const code = read.values[field]
    const whole = code === undefined ? null : wholeOf(code)
    if (code === undefined || whole === null) continue
    doubt = withDoubt(doubt, lost(fields[field]?.label ?? field, code, whole))
    read = withValue(read, field, whole, keyFields)
  }
  return { read, doubt }
}

function withValue(line: ReadLine, field: string, value: string, keyFields: readonly KeyField[]): ReadLine {
  const values = { ...line.values, [field]: value }
  const key = keyFields.find(({ name }) => name === field)
  const keys = line.keys.map((one) => (one[0] === field && key ? ([field, key.normalized(value)] as const) : one))
  return { ...line, values, keys }
}

const CODE_FIELDS = ['external_id', 'barcode', 'sku'] as const

/** Records by field and code without zeros. */
type Similar = ReadonlyMap<string, readonly SimilarCode[]>

async function similarCodes(
  reader: Reader,
  similar: CodeTable,
  lines: readonly DoubtedLine[],
): Promise<ReadonlyMap<string, Similar>> {
  const found = new Map<string, Similar>()
  for (const field of CODE_FIELDS.filter((one) => similar.fields.includes(one))) {
    const codes = lines.flatMap(({ read: { values } }) => {
      const code = values[field]
      return code !== undefined && isBareCode(field, code) ? [zeroless(code)] : []
    })
    const records = codes.length === 0 ? [] : await similar.find(reader, field, [...new Set(codes)])
    const byCode = new Map<string, SimilarCode[]>()
    for (const record of records)
      byCode.set(zeroless(record.code), [...(byCode.get(zeroless(record.code)) ?? []), record])
    found.set(field, byCode)
  }
  return found
}

/**
 * Lines with the code of a record, or of an earlier line, but for zeros before it: a spreadsheet has left them out. A
 * ticked line changes that record (IMPORT-821).
 */
export async function restoreZeros(
  reader: Reader,
  similar: CodeTable,
  lines: readonly DoubtedLine[],
  fields: Fields,
  keyFields: readonly KeyField[],
): Promise<DoubtedLine[]> {
  const records = await similarCodes(reader, similar, lines)
  const earlier = new Map<string, { readonly code: string; readonly number: number }>()
  return lines.map((line): DoubtedLine => {
    let { read, doubt } = line
    for (const field of CODE_FIELDS) {
      const code = read.values[field]
      if (code === undefined || !isBareCode(field, code)) continue
      const label = fields[field]?.label ?? field
      const key = `${field} ${zeroless(code)}`
      const known = records.get(field)?.get(zeroless(code)) ?? []
      const [record] = known
      const before = earlier.get(key)
      if (!before) earlier.set(key, { code, number: read.number })
      if (record && !known.some((one) => one.code === code)) {
        doubt = withDoubt(doubt, lost(label, code, record.code, ` (${record.text})`))
        if (known.every((one) => one.code === record.code)) read = withValue(read, field, record.code, keyFields)
      } else if (before && before.code !== code && !record)
        doubt = withDoubt(doubt, {
          kind: 'zeros',
          text: `${label}: "${code}" só difere nos zeros de "${before.code}", da linha ${before.number}`,
        })
    }
    return { read, doubt }
  })
}
