import { ITEM_TAX_FIELDS } from '#domain/fiscal-values.ts'
import { bareTaxNumber } from '#domain/person-values.ts'
import { isPlaceholder, isPlaceholderCode, withoutInvisible } from '#domain/text.ts'
import { amountInput, type Kind, quantityInput } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { ImportMapping } from './column-titles.ts'
import { type Pause, UNREADABLE } from './encoding.ts'
import { MAX_CELL_LENGTH, type Sheet, type SheetLine } from './sheet.ts'

/** Longest cell in which several phones are looked for. */
const MAX_LENGTH = 200

const digitsOf = (text: string): string => text.replace(/\D/g, '')

/** Digits of a Brazilian phone: with or without area code and country code. */
const isPhone = (digits: string): boolean =>
  /^(?:[1-9]\d{7,8}|[1-9]{2}[2-9]\d{7,8}|0[1-9]{2}[2-9]\d{7,8}|55[1-9]{2}[2-9]\d{7,8}|0[389]00\d{6,7})$/.test(digits)

/** A phone has so many digits at least. */
const MIN_DIGITS = 6

/** Digits of two phones; a number abroad has fewer. */
const isTwice = (digits: string): boolean => digits.length >= 14

/** The first of several phones in a cell, between marks or only blanks; null if the cell has one or none. */
function firstOfPhones(cell: string): string | null {
  if (cell.length > MAX_LENGTH) return null
  const parts = cell.split(/[/;,|\n]|\s+(?:e|ou)\s+|(?<=\d)\s+-\s+(?=[(+\d])/i)
  const phones = parts.filter((part) => isPhone(digitsOf(part)))
  if (
    phones.length > 1 ||
    (phones.length === 1 && parts.some((part) => part !== phones[0] && digitsOf(part).length >= MIN_DIGITS))
  )
    return phones[0]?.trim() ?? null
  return parts.length === 1 && isTwice(digitsOf(cell)) ? firstByBlanks(cell) : null
}

/** Both sides of a blank are phones. */
function firstByBlanks(cell: string): string | null {
  for (const { index } of cell.matchAll(/\s+/g)) {
    const [first, second] = [cell.slice(0, index), cell.slice(index)]
    if (isPhone(digitsOf(first)) && firstPhoneOf(second)) return first.trim()
  }
  return null
}

/** Whether a text is one phone, or begins with one. */
const firstPhoneOf = (text: string): boolean => isPhone(digitsOf(text)) || firstOfPhones(text.trim()) !== null

/** Character before the decimals of a column. */
export type DecimalMark = 'comma' | 'dot'

/** Whether its texts are codes: digits that a spreadsheet must not take for numbers. */
const isCodeField = (fields: Fields, field: string): boolean => fields[field]?.isCode === true

const isNumberField = (fields: Fields, field: string): boolean => {
  const kind = fields[field]?.kind
  return kind === amountInput || kind === quantityInput
}

/** What Excel and LibreOffice, in Portuguese and English, write for a formula without a value. */
const FORMULA_ERROR = /^(?:#+|#N\/(?:[DA]|DISP)|#\p{L}[\p{L}\d/_ ]*[!?]|Erro?:\d{3})$/iu
/** `8,81795E+14`: digits are lost. */
const SCIENTIFIC = /^[-+]?\d+(?:[.,]\d+)?E\+\d+$|^[-+]?\d+[.,]\d+E-?\d+$/i
const EXPONENT = /\d[.,]?E\+\d/i
/** `7891234567895.0`, `7.891.234,00` */
const DECIMAL_CODE = /^\+?\d+[.,]0+$|^\d{1,3}(?:\.\d{3})+,0+$|^\d{1,3}(?:,\d{3})+\.0+$/
const GROUPED_BARCODE = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3}){2,}$/

/** The text of a cell: codes without invisible characters, and without the apostrophe that marks digits as a text. */
function plainCell(fields: Fields, field: string, cell: string): string {
  const isCode = isCodeField(fields, field)
  if (!isCode && !isNumberField(fields, field)) return cell
  return (isCode ? withoutInvisible(cell) : cell).replace(/^'(?=[\d(])/, '')
}

/** Fields besides numbers that may be zeros: codes of taxes, and house numbers. */
const WITH_ZEROS: ReadonlySet<string> = new Set([...ITEM_TAX_FIELDS, 'ie_indicator', 'address.number'])

/** Whether a cell stands for no value (VAL-910). */
const isNothing = (fields: Fields, field: string, cell: string): boolean =>
  WITH_ZEROS.has(field) || isNumberField(fields, field) ? isPlaceholder(cell) : isPlaceholderCode(cell)

/** Whether a field may have any words. */
export const isFreeText = (fields: Fields, field: string): boolean =>
  !isCodeField(fields, field) && !isNumberField(fields, field)

/** Why a cell does not have what it had in the program that wrote the file; null if nothing tells against it. */
function damageOf(fields: Fields, field: string, text: string): string | null {
  if (text.includes(UNREADABLE)) return 'tem caracteres que não puderam ser lidos: salve o arquivo como CSV UTF-8'
  if (FORMULA_ERROR.test(text)) return 'é um erro da planilha'
  if (isNumberField(fields, field)) return null
  const isCode = isCodeField(fields, field)
  if (SCIENTIFIC.test(text) || (isCode && EXPONENT.test(text)))
    return 'perdeu algarismos na planilha: formate a coluna como texto e preencha de novo'
  if (!isCode) return null
  if (DECIMAL_CODE.test(text) || ((field === 'barcode' || field === 'gtin') && GROUPED_BARCODE.test(text)))
    return 'virou um número na planilha: formate a coluna como texto'
  return null
}

type Reading = DecimalMark | 'whole' | 'either' | 'wrong'

const bareNumber = (cell: string): string => cell.replace(/^'/, '').replace(/^R\$/, '').replace(/\s/g, '')

/** What a number itself tells of its decimal mark. `either`: `1.250` is 1250 or 1.25. */
function readingOf(number: string): Reading {
  if (/^-?\d+$/.test(number)) return 'whole'
  if (/^-?[1-9]\d{0,2}[.,]\d{3}$/.test(number)) return 'either'
  if (/^-?(?:\d+|\d{1,3}(?:\.\d{3})+|),\d+$/.test(number) || /^-?\d{1,3}(?:\.\d{3}){2,}$/.test(number)) return 'comma'
  if (/^-?(?:\d+|\d{1,3}(?:,\d{3})+|)\.\d+$/.test(number) || /^-?\d{1,3}(?:,\d{3}){2,}$/.test(number)) return 'dot'
  return 'wrong'
}

/** A column of numbers of which some can be read in two ways. */
export interface NumberColumn {
  readonly column: number
  /** Null if neither the column nor the user tells. */
  readonly mark: DecimalMark | null
  /** Whether the user must tell, or has told. */
  readonly isAsked: boolean
  /** The first number that can be read in two ways. */
  readonly example: string
}

/** Marks by column, as users chose them. */
export type ChosenMarks = ReadonlyMap<number, DecimalMark>

/** Mark that all numbers of a column share, if they tell one. */
function markOf(readings: ReadonlySet<Reading>): DecimalMark | null {
  if (readings.has('comma') === readings.has('dot')) return null
  return readings.has('comma') ? 'comma' : 'dot'
}

interface Seen {
  readonly readings: Set<Reading>
  example: string | null
}

/**
 * Decimal marks of the columns with numbers that can be read in two ways. The other numbers of the column tell; those
 * of quantities, which have three decimals, also by the amounts of the file. Where they do not, the user does.
 */
export async function findNumberColumns(
  { lines }: Sheet,
  mapping: ImportMapping,
  fields: Fields,
  chosen: ChosenMarks,
  pause: Pause,
): Promise<ReadonlyMap<string, NumberColumn>> {
  const columns = [...mapping].filter(([, field]) => isNumberField(fields, field))
  const seen = new Map<number, Seen>(columns.map(([column]) => [column, { readings: new Set(), example: null }]))
  for (const { cells } of lines) {
    await pause()
    for (const [column, { readings }] of seen) {
      const cell = cells[column] ?? ''
      if (cell.length > MAX_CELL_LENGTH) continue
      const number = bareNumber(cell)
      const reading = readingOf(number)
      readings.add(reading)
      if (reading === 'either') (seen.get(column) as Seen).example ??= number
    }
  }
  const isOf = (kind: Kind, field: string) => fields[field]?.kind === kind
  const amounts = columns.flatMap(([column, field]) => (isOf(amountInput, field) ? [column] : []))
  const ofAmounts = markOf(new Set(amounts.flatMap((column) => [...(seen.get(column)?.readings ?? [])])))
  return new Map(
    columns.flatMap(([column, field]) => {
      const { readings, example } = seen.get(column) as Seen
      if (example === null) return []
      const told = markOf(readings) ?? (isOf(quantityInput, field) ? ofAmounts : null)
      return [[field, { column, example, isAsked: told === null, mark: told ?? chosen.get(column) ?? null }]] as const
    }),
  )
}

/** A number with a decimal comma, no grouping, and no zeros beyond the decimals that a field has. */
function withComma(number: string, mark: DecimalMark, decimals: number): string {
  const [whole = '', fraction = ''] = number
    .replaceAll(mark === 'comma' ? '.' : ',', '')
    .split(mark === 'comma' ? ',' : '.')
  const kept = `${fraction.slice(0, decimals)}${fraction.slice(decimals).replace(/0+$/, '')}`
  return `${whole === '' || whole === '-' ? `${whole}0` : whole}${kept === '' ? '' : `,${kept}`}`
}

/** Both readings of a number that can be read in two ways, for people. */
export function bothReadings(number: string): Readonly<Record<DecimalMark, string>> {
  const [before = '', after = ''] = number.split(/[.,]/)
  const [whole, fraction] = [`${before}${after},00`, `${before},${after.replace(/0$/, '')}`]
  return number.includes('.') ? { comma: whole, dot: fraction } : { comma: fraction, dot: whole }
}

/** A number as the panel's forms take it, or what is wrong with it. */
function readNumber(
  fields: Fields,
  field: string,
  cell: string,
  column: NumberColumn | undefined,
): { readonly text: string } | { readonly problem: string } {
  const number = bareNumber(cell)
  const reading = readingOf(number)
  const kind = fields[field]?.kind
  const decimals = kind === amountInput ? 2 : 3
  if (reading === 'whole') return { text: number }
  if (reading === 'wrong') return { problem: kind?.problem?.('?') ?? 'deve ser um número' }
  const mark = reading === 'either' ? (column?.mark ?? null) : reading
  if (mark !== null) return { text: withComma(number, mark, decimals) }
  const { comma, dot } = bothReadings(number)
  return { problem: `pode ser ${comma} ou ${dot}: escolha em Colunas do arquivo como os números estão escritos` }
}

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

export const countColumns = (heads: readonly string[]): number => heads.findLastIndex((head) => head !== '') + 1

/** Message about a cell without a column: the cells before it may be shifted. */
function surplusOf(cells: readonly string[], { mapping, width }: TableColumns): string | null {
  const cell = cells.find((text, column) => column >= width && text !== '' && !mapping.has(column))
  if (cell === undefined) return null
  const count = cells.findLastIndex((text) => text !== '') + 1
  return `há ${count} células, e só ${width} colunas com título: sobra ${quoteCell(cell)}. Ponha entre aspas os valores com o separador do arquivo`
}

const [DOCUMENT, PHONE] = ['document', 'phone']

const MAX_QUOTED = 40

export const quoteCell = (cell: string): string =>
  `"${cell.length > MAX_QUOTED ? `${cell.slice(0, MAX_QUOTED)}…` : cell}"`

export function readLine(line: SheetLine, columns: TableColumns, { fields, keyFields, parts }: LineFields): ReadLine {
  const { number, cells } = line
  const values: Record<string, string> = {}
  const problems: Record<string, string> = {}
  const remarks: string[] = []
  for (const [column, field] of columns.mapping) {
    const cell = cells[column]
    if (!cell || isNothing(fields, field, cell)) continue
    if (cell.length > MAX_CELL_LENGTH) {
      problems[field] ??= `${quoteCell(cell)} é longo demais`
      continue
    }
    const typed = plainCell(fields, field, cell)
    if (typed === '') continue
    const phone = field === PHONE ? firstOfPhones(typed) : null
    const text = phone ?? typed
    const damage = damageOf(fields, field, text)
    const read = isNumberField(fields, field) ? readNumber(fields, field, text, columns.numbers.get(field)) : { text }
    if (phone !== null && values[field] === undefined)
      remarks.push(`${fields[field]?.label ?? field}: ${quoteCell(cell)} tem mais de um número; vale ${phone}`)
    if (damage !== null) problems[field] ??= `${quoteCell(cell)} ${damage}`
    else if ('problem' in read) problems[field] ??= `${quoteCell(cell)} ${read.problem}`
    // Two columns with phones: the first that is filled counts. Two documents are two persons.
    else if (values[field] === undefined) values[field] = read.text
    else if (field === DOCUMENT && bareTaxNumber(values[field]) !== bareTaxNumber(text))
      problems[field] ??= `há dois documentos, ${quoteCell(values[field])} e ${quoteCell(cell)}`
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
