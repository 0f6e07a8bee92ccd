import type { z } from 'zod'
import { CreateCategoryInput } from '#commands/catalog/categories.ts'
import type { Refusal } from '#domain/refusal.ts'
import { bareTaxNumber } from '#domain/tax-number.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import type { SheetLine } from '#imports/sheet.ts'
import type { Command } from '#ledger/command.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownValue } from '#lib/own-value.ts'
import { checkForm, type Fields } from '../forms/form.ts'
import { refusalMessage } from '../words/problems.ts'
import { damageOf, isNoBarcode, isNumberField, type NumberColumn, readNumber, withoutTextMark } from './cells.ts'
import type { ImportMapping } from './heads.ts'

/** Keys that identify a record, most specific first. Values are normalized as in the read model. */
type Keys = readonly (readonly [field: string, value: string])[]

/** A record that has a key of the file. */
export interface ExistingRecords {
  readonly id: number
  /** Deleted records still occupy their external id. */
  readonly is_deleted: boolean
  /** By field, as in `Keys`. */
  readonly keys: Readonly<Record<string, string | null>>
}

/** Mapping from lines of a file to records of a kind. */
export interface ColumnMapping {
  /** Fields that a column may contain, by name; `category` is the name of a category. */
  readonly fields: Fields
  /** Fields for new records only: the stock in a file is outdated as soon as the shop sells something. */
  readonly onlyNew: readonly string[]
  /** Fields that several columns may have: phone and mobile, CPF and CNPJ. */
  readonly shared: readonly string[]
  /** Fields whose texts are a part of another field. */
  readonly parts: readonly PartField[]
  readonly keyFields: readonly KeyField[]
  // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that lines need not know
  readonly create: { readonly schema: z.ZodType<any>; readonly command: Command<any> }
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly update: { readonly schema: z.ZodType<any>; readonly command: Command<{ id: number; changes: any }> }
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

/** Values of a line, by field; empty cells are absent. */
export interface ReadLine {
  /** Line number in the spreadsheet. */
  readonly number: number
  readonly values: Readonly<Record<string, string>>
  readonly keys: Keys
  /** Why nothing of the line is certain. */
  readonly problem: string | null
  /** Why a cell is uncertain, by field. */
  readonly problems: Readonly<Record<string, string>>
}

/** The table's columns, as lines are read by them. */
export interface TableColumns {
  readonly mapping: ImportMapping
  /** Columns up to the last one with a title. */
  readonly width: number
  readonly numbers: ReadonlyMap<string, NumberColumn>
}

export const widthOf = (heads: readonly string[]): number => heads.findLastIndex((head) => head !== '') + 1

/** A cell that has no column: the cells before it may be shifted. */
function surplusOf(cells: readonly string[], { mapping, width }: TableColumns): string | null {
  const cell = cells.find((text, column) => column >= width && text !== '' && !mapping.has(column))
  if (cell === undefined) return null
  const count = cells.findLastIndex((text) => text !== '') + 1
  return `há ${count} células, e só ${width} colunas com título: sobra ${quoted(cell)}. Ponha entre aspas os valores com o separador do arquivo`
}

const MAX_QUOTED = 40

const quoted = (cell: string): string => `"${cell.length > MAX_QUOTED ? `${cell.slice(0, MAX_QUOTED)}…` : cell}"`

export function readLine(
  line: SheetLine,
  columns: TableColumns,
  { fields, keyFields, parts }: ColumnMapping,
): ReadLine {
  const { number, cells } = line
  const values: Record<string, string> = {}
  const problems: Record<string, string> = {}
  for (const [column, field] of columns.mapping) {
    const cell = cells[column]
    if (!cell || isNoBarcode(field, cell)) continue
    const text = withoutTextMark(fields, field, cell)
    const damage = damageOf(fields, field, text)
    const read = isNumberField(fields, field) ? readNumber(fields, field, text, columns.numbers.get(field)) : { text }
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
  return { number, values, keys, problem: line.problem ?? surplusOf(cells, columns), problems }
}

/**
 * Values by field, to find the records of all lines. Of a key that is not unique, the names of its lines too: records
 * that share it are told apart by them.
 */
export function createMatchRequest(keyFields: readonly KeyField[]) {
  const values: Record<string, string[]> = Object.fromEntries(
    keyFields.flatMap(({ name, isUnique }) =>
      isUnique
        ? [[name, []]]
        : [
            [name, []],
            [`${name}_name`, []],
          ],
    ),
  )
  const nameField = keyFields.at(-1)?.name
  return {
    values: values as Readonly<Record<string, readonly string[]>>,
    add({ keys }: ReadLine): void {
      const ownName = keys.find(([field]) => field === nameField)?.[1] ?? ''
      for (const [name, value] of keys) {
        const field = keyFields.find((one) => one.name === name)
        if (field?.isLast && keys.length > 1) continue
        values[name]?.push(value)
        values[`${name}_name`]?.push(ownName)
      }
    },
  }
}

/** A variant of the item with a code, in a size and a colour. */
export interface PlannedVariant {
  readonly parent: string
  readonly size: string | null
  readonly color: string | null
}

/** Planned action for a line, or the reason for none. */
export type PlannedRow =
  | {
      readonly number: number
      /** Null for a new record. */
      readonly id: number | null
      readonly input: Readonly<Record<string, unknown>>
      /** Name of the record's category, if the line has one. */
      readonly category: string | null
      /** Null if the line is no variant, or says nothing about that. */
      readonly variant: PlannedVariant | null
    }
  | { readonly number: number; readonly errors: readonly string[] }

export const isWrong = (planned: PlannedRow): planned is Extract<PlannedRow, { errors: unknown }> => 'errors' in planned

/** Index of records by key. */
export interface RecordIndex {
  add(record: ExistingRecords): void
  /**
   * Some records with a key: at most two for each combination of the more specific keys that they have. `name`: of these,
   * the ones with this last key.
   */
  of(key: Keys[number], name?: string): readonly ExistingRecords[]
}

/** Records kept per combination: two are enough to detect an ambiguous key. */
const ENOUGH = 2

export function createRecordIndex(keyFields: readonly KeyField[]): RecordIndex {
  const holders = new Map<string, ExistingRecords[]>()
  const nameField = keyFields.at(-1)
  const has = ({ keys }: ExistingRecords, { name }: KeyField): boolean => (keys[name] ?? null) !== null

  function addTo(key: string, record: ExistingRecords, moreTelling: readonly KeyField[]): void {
    const known = holders.get(key)
    if (!known) return void holders.set(key, [record])
    const alike = known.filter((one) => moreTelling.every((field) => has(one, field) === has(record, field)))
    if (alike.length < ENOUGH) known.push(record)
  }

  return {
    add(record) {
      const ownName = nameField && record.keys[nameField.name]
      for (const [at, { name, isUnique }] of keyFields.entries()) {
        const value = record.keys[name] ?? null
        if (value === null || (record.is_deleted && name !== EXTERNAL)) continue
        addTo(join(name, value), record, keyFields.slice(0, at))
        if (!isUnique && ownName) addTo(join(name, value, ownName), record, [])
      }
    },
    of: ([field, value], name) => holders.get(join(field, value, ...(name === undefined ? [] : [name]))) ?? [],
  }
}

/**
 * Plans lines against existing records; the first key with a match finds the record. A line is wrong if its record is
 * ambiguous, if another record has its unique keys, or if it repeats an earlier line (PANEL-181).
 */
export function createPlanner(
  reading: ColumnMapping,
  holders: RecordIndex,
  timezone: string,
): (line: ReadLine) => PlannedRow {
  const { fields, keyFields } = reading
  const labelOf = (field: string) => fields[field]?.label ?? field
  const unique = new Set(keyFields.filter(({ isUnique }) => isUnique).map(({ name }) => name))
  const seen = new Map<string, number>()
  /** Lines with codes, by name. */
  const codedNames = new Map<string, number>()
  const nameField = keyFields.at(-1)?.name
  const codes = keyFields.flatMap(({ name, isLast }) => (isLast ? [] : [name]))
  const isLast = ([field]: Keys[number]) => keyFields.some((one) => one.name === field && one.isLast)

  /**
   * Records that match the first key with any match, without those that have a different value in an earlier key. Of
   * several, the one with the line's name, if it is the only one.
   */
  function find(keys: Keys, name: string | undefined): readonly ExistingRecords[] {
    for (const [at, key] of keys.entries()) {
      const before = isLast(key) ? codes : keys.slice(0, at).map(([field]) => field)
      const isOther = ({ keys: own }: ExistingRecords) => before.some((field) => (own[field] ?? null) !== null)
      const found = holders.of(key).filter((record) => !isOther(record))
      if (found.length === 0) continue
      const named =
        found.length > 1 && name !== undefined ? holders.of(key, name).filter((record) => !isOther(record)) : []
      return named.length === 1 ? named : found
    }
    return []
  }

  /** Why the record of a line is ambiguous. */
  function problemOf(keys: Keys, found: readonly ExistingRecords[]): string | null {
    const [record] = found
    if (found.length > 1) return 'há mais de um cadastro com este código: altere-os um a um'
    if (record?.is_deleted) return `${labelOf(EXTERNAL)}: é de um cadastro que não está mais ativo`
    const isTaken = (key: Keys[number]) => holders.of(key).some(({ id }) => id !== record?.id)
    const taken = keys.find((key) => unique.has(key[0]) && isTaken(key))
    return taken ? `${labelOf(taken[0])}: já é de outro cadastro` : null
  }

  return (line) => {
    const { number, problem, problems } = line
    const own = line.keys.filter((key) => !isLast(key))
    const keys = own.length > 0 ? own : line.keys
    const wrongKeys = keyFields.flatMap(({ name }) => (problems[name] ? [`${labelOf(name)}: ${problems[name]}`] : []))
    if (problem !== null) return { number, errors: [problem] }
    if (wrongKeys.length > 0) return { number, errors: wrongKeys }
    const found = find(keys, line.keys.find(([field]) => field === nameField)?.[1])
    const [first] = keys
    if (!first) return { number, errors: [`falta ${nameField === undefined ? 'o nome' : labelOf(nameField)}`] }
    if (isLast(first) && found.length === 0) {
      const before = codedNames.get(first[1])
      if (before !== undefined)
        return { number, errors: [`${labelOf(first[0])}: repete a linha ${before}, que tem código`] }
      if (holders.of(first).length > 0)
        return {
          number,
          errors: [`${labelOf(first[0])}: já é de um cadastro com código; informe ${codes.map(labelOf).join(' ou ')}`],
        }
    }
    const ownName = line.keys.find(isLast)?.[1]
    if (ownName !== undefined && own.length > 0 && !codedNames.has(ownName)) codedNames.set(ownName, number)
    const same = found.length === 1 ? join('id', `${found[0]?.id}`) : join(...first)
    const before = seen.get(same)
    if (before !== undefined) return { number, errors: [`${labelOf(first[0])}: repete a linha ${before}`] }
    seen.set(same, number)
    const ambiguous = problemOf(keys, found)
    return ambiguous === null ? read(reading, line, found[0]?.id ?? null, timezone) : { number, errors: [ambiguous] }
  }
}

const EXTERNAL = 'external_id'
const CATEGORY = 'category'

/** Fields of variants; the last two mean nothing without the first. */
export const VARIANT_FIELDS = ['parent', 'size', 'color'] as const

/** Fields that no command takes as they are. */
const RESOLVED: readonly string[] = [CATEGORY, ...VARIANT_FIELDS]

const DOCUMENT = 'document'

const join = (...parts: readonly string[]): string => parts.join('\0')

/** Command input of a line. */
function read(reading: ColumnMapping, line: ReadLine, id: number | null, timezone: string): PlannedRow {
  const { number, values, problems } = line
  const isNew = id === null
  const fields = Object.fromEntries(
    Object.entries(reading.fields).filter(
      ([name, { isRequired }]) =>
        !RESOLVED.includes(name) &&
        (values[name] === undefined ? isNew && isRequired : isNew || !reading.onlyNew.includes(name)),
    ),
  )
  const { schema } = isNew ? reading.create : reading.update
  const wrong = Object.entries(problems).filter(([name]) => isNew || !reading.onlyNew.includes(name))
  if (wrong.length > 0)
    return { number, errors: wrong.map(([name, problem]) => `${reading.fields[name]?.label ?? name}: ${problem}`) }
  const typed = checkForm<Record<string, unknown>>(schema, fields, values, timezone, 'file')
  const category = values[CATEGORY] ?? null
  const misnamed = category !== null && !CreateCategoryInput.safeParse({ name: category }).success
  if (isRefusal(typed)) return { number, errors: rowMessages(typed, reading.fields, values) }
  if (misnamed) return { number, errors: [`${reading.fields[CATEGORY]?.label}: é longa demais`] }
  const variant = variantIn(values, reading.fields)
  if (typeof variant === 'string') return { number, errors: [variant] }
  return { number, id, input: typed.input, category, variant }
}

const VariantText = boundedText(30).optional()

/** The variant of a line; null if it is none. A text says what is wrong with it. */
function variantIn({ parent, size, color }: ReadLine['values'], fields: Fields): PlannedVariant | null | string {
  const labelOf = (name: (typeof VARIANT_FIELDS)[number]) => fields[name]?.label ?? name
  for (const [name, value] of [
    ['size', size],
    ['color', color],
  ] as const) {
    const { error } = VariantText.safeParse(value)
    if (error) return `${labelOf(name)}: ${error.issues[0]?.message}`
    if (value !== undefined && parent === undefined) return `${labelOf(name)}: informe também ${labelOf('parent')}`
  }
  if (parent === undefined) return null
  if (size === undefined && color === undefined) return `${labelOf('parent')}: informe tamanho, cor ou ambos`
  return { parent, size: size ?? null, color: color ?? null }
}

/** Messages of a refusal, with the column names that users see, and the values of the line. */
export function rowMessages(refusal: Refusal, fields: Fields, values: ReadLine['values'] = {}): string[] {
  const wrong = Object.entries((refusal.details?.fields ?? {}) as Record<string, string[]>)
  if (wrong.length > 0)
    return wrong.map(([name, messages]) => {
      const value = ownValue(values, name)
      const said = value === undefined ? '' : `${quoted(value)} `
      return `${ownValue(fields, name)?.label ?? name}: ${said}${messages.join(', ')}`
    })
  const taken = refusal.details?.field
  const label = typeof taken === 'string' ? ownValue(fields, taken)?.label : undefined
  return [label ? `${label}: já é de outro cadastro` : refusalMessage(refusal)]
}

/** Categories of the lines, by normalized name; spelled as in the first line. */
export function categoriesOf(plan: readonly PlannedRow[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const planned of plan) {
    if (isWrong(planned) || planned.category === null) continue
    const key = nameKey(planned.category)
    if (!names.has(key)) names.set(key, planned.category)
  }
  return names
}
