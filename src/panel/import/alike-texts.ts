import { priceWarnings } from '#commands/item-input.ts'
import { barcodeProblem, gtinKey, sameBarcodes } from '#domain/barcode.ts'
import { plainApostrophes, searchKey } from '#domain/text.ts'
import { type AlikeRecord, itemsWithBarcodes, personsNamedLike } from '#queries/import-matches.ts'
import type { Reader } from '#queries/reader.ts'
import { isWrong, type PlannedRow } from './import-plan.ts'

/** Keys under which two spellings of a value are the same, and the records that have them. */
export interface AlikeRecords {
  /** Null: the line has nothing that is spelled in several ways. */
  keyOf(line: PlannedRow): string | null
  readonly records: ReadonlyMap<string, AlikeRecord>
}

export type FindAlike = (reader: Reader, lines: readonly PlannedRow[]) => Promise<AlikeRecords>

export interface LineWarning {
  readonly number: number
  readonly text: string
}

const textOf = (line: PlannedRow, field: 'name' | 'barcode'): string => {
  const value = isWrong(line) || line.id !== null ? null : line.input[field]
  return typeof value === 'string' ? value : ''
}

/** The search key of names with an apostrophe. */
const nameKeyOf = (line: PlannedRow): string | null => {
  const name = textOf(line, 'name')
  return plainApostrophes(name).includes("'") ? searchKey(name) : null
}

const barcodeKeyOf = (line: PlannedRow): string | null => gtinKey(textOf(line, 'barcode'))

const keysOf = (lines: readonly PlannedRow[], keyOf: AlikeRecords['keyOf']): string[] => [
  ...new Set(lines.flatMap((line) => keyOf(line) ?? [])),
]

/** Items with the same GTIN, with other zeros before it. */
export const alikeItems: FindAlike = async (reader, lines) => {
  const found = await itemsWithBarcodes(reader, keysOf(lines, barcodeKeyOf).flatMap(sameBarcodesOf))
  return { keyOf: barcodeKeyOf, records: new Map(found.map((record) => [gtinKey(record.key) ?? record.key, record])) }
}

/** A key has no zeros before it, and may be too short for a GTIN. */
const sameBarcodesOf = (key: string): string[] => sameBarcodes(key.padStart(11, '0'))

/** Persons with the same name, with another kind of apostrophe. */
export const alikePersons =
  (table: 'customers' | 'suppliers'): FindAlike =>
  async (reader, lines) => {
    const found = await personsNamedLike(reader, table, keysOf(lines, nameKeyOf))
    return { keyOf: nameKeyOf, records: new Map(found.map((record) => [record.key, record])) }
  }

/** Warnings about new records that have a key of a known record, or of a line before. They are imported all the same. */
export function warningsOf(lines: readonly PlannedRow[], { keyOf, records }: AlikeRecords): LineWarning[] {
  const numbers = new Map<string, number>()
  return lines.flatMap((line) => {
    const key = keyOf(line)
    if (key === null) return []
    const [record, before] = [records.get(key), numbers.get(key)]
    numbers.set(key, before ?? line.number)
    if (record) return [{ number: line.number, text: `parece repetir o cadastro ${record.text} (${record.id})` }]
    return before === undefined ? [] : [{ number: line.number, text: `parece repetir a linha ${before}` }]
  })
}

/** Warnings about prices that lose money, as those of the command. They are imported all the same. */
export const linePriceWarnings = (lines: readonly PlannedRow[]): LineWarning[] =>
  lines.flatMap((line) => {
    const { price, cost } = isWrong(line) ? {} : (line.input as { price?: string; cost?: string | null })
    if (price === undefined) return []
    return priceWarnings({ price, cost }, true).map(({ message }) => ({ number: line.number, text: message }))
  })

/** Warnings about barcodes of the length of a GTIN with a wrong check digit. They are imported all the same. */
export const checkDigitWarnings = (lines: readonly PlannedRow[]): LineWarning[] =>
  lines.flatMap((line) => {
    const barcode = isWrong(line) ? null : line.input.barcode
    return typeof barcode === 'string' && barcodeProblem(barcode) === 'wrong_check_digit'
      ? [{ number: line.number, text: `o código de barras ${barcode} tem o dígito verificador errado` }]
      : []
  })
