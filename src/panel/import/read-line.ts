import { bareTaxNumber } from '#domain/tax-number.ts'
import { MAX_CELL_LENGTH, type SheetLine } from '#imports/sheet.ts'
import type { Fields } from '../forms/form.ts'
import { damageOf, isNothing, isNumberField, type NumberColumn, plainCell, readNumber } from './cells.ts'
import type { ImportMapping } from './heads.ts'
import { firstOfPhones } from './phones.ts'

/** What the lines of a kind of record contain. */
export interface LineFields {
  /** Fields that a column may contain, by name; `category` is the name of a category. */
  readonly fields: Fields
  /** Fields whose texts are a part of another field. */
  readonly parts: readonly PartField[]
  readonly keyFields: readonly KeyField[]
}

export interface KeyField {
  readonly name: string
  /** Unique among live records. */
  readonly isUnique: boolean
  /** Finds only records without any of the keys before it: names of items are not unique. */
  readonly isLast?: true
  /** Normalizes as the read model does. */
  normalized(typed: string): string
}

/** A column with a part of a field: the last name, the area code of a phone. */
export interface PartField {
  readonly name: string
  readonly of: string
  join(part: string, whole: string): string
}

/** Keys that identify a record, most specific first. Values are normalized as in the read model. */
export type LineKeys = readonly (readonly [field: string, value: string])[]

/** Values of a line, by field; empty cells are absent. */
export interface ReadLine {
  /** Line number in the spreadsheet. */
  readonly number: number
  readonly values: Readonly<Record<string, string>>
  readonly keys: LineKeys
  /** Why the line as a whole cannot be read; null if it can. */
  readonly problem: string | null
  /** Why a cell cannot be read, by field. */
  readonly problems: Readonly<Record<string, string>>
  /** What was left out of the line; it is imported all the same. */
  readonly remarks: readonly string[]
}

/** Columns of a file: the field of each, and how its numbers are written. */
export interface TableColumns {
  readonly mapping: ImportMapping
  /** Columns up to the last one with a title. */
  readonly width: number
  readonly numbers: ReadonlyMap<string, NumberColumn>
}

export const widthOf = (heads: readonly string[]): number => heads.findLastIndex((head) => head !== '') + 1

/** Message about a cell without a column: the cells before it may be shifted. */
function surplusOf(cells: readonly string[], { mapping, width }: TableColumns): string | null {
  const cell = cells.find((text, column) => column >= width && text !== '' && !mapping.has(column))
  if (cell === undefined) return null
  const count = cells.findLastIndex((text) => text !== '') + 1
  return `há ${count} células, e só ${width} colunas com título: sobra ${quoted(cell)}. Ponha entre aspas os valores com o separador do arquivo`
}

const [DOCUMENT, PHONE] = ['document', 'phone']

const MAX_QUOTED = 40

export const quoted = (cell: string): string => `"${cell.length > MAX_QUOTED ? `${cell.slice(0, MAX_QUOTED)}…` : cell}"`

export function readLine(line: SheetLine, columns: TableColumns, { fields, keyFields, parts }: LineFields): ReadLine {
  const { number, cells } = line
  const values: Record<string, string> = {}
  const problems: Record<string, string> = {}
  const remarks: string[] = []
  for (const [column, field] of columns.mapping) {
    const cell = cells[column]
    if (!cell || isNothing(fields, field, cell)) continue
    if (cell.length > MAX_CELL_LENGTH) {
      problems[field] ??= `${quoted(cell)} é longo demais`
      continue
    }
    const typed = plainCell(fields, field, cell)
    if (typed === '') continue
    const phone = field === PHONE ? firstOfPhones(typed) : null
    const text = phone ?? typed
    const damage = damageOf(fields, field, text)
    const read = isNumberField(fields, field) ? readNumber(fields, field, text, columns.numbers.get(field)) : { text }
    if (phone !== null && values[field] === undefined)
      remarks.push(`${fields[field]?.label ?? field}: ${quoted(cell)} tem mais de um número; vale ${phone}`)
    if (damage !== null) problems[field] ??= `${quoted(cell)} ${damage}`
    else if ('problem' in read) problems[field] ??= `${quoted(cell)} ${read.problem}`
    // Two columns with phones: the first that is filled counts. Two documents are two persons.
    else if (values[field] === undefined) values[field] = read.text
    else if (field === DOCUMENT && bareTaxNumber(values[field]) !== bareTaxNumber(text))
      problems[field] ??= `há dois documentos, ${quoted(values[field])} e ${quoted(cell)}`
  }
  for (const { name, of, join } of parts) {
    const { [name]: part, [of]: whole } = values
    if (part !== undefined && whole !== undefined) values[of] = join(part, whole)
    delete values[name]
  }
  const keys = keyFields.flatMap(({ name, normalized }) => {
    const typed = values[name]
    return typed === undefined ? [] : [[name, normalized(typed)] as const]
  })
  return { number, values, keys, problem: line.problem ?? surplusOf(cells, columns), problems, remarks }
}
