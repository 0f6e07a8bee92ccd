import type { z } from 'zod'
import { CreateCategoryInput } from '#commands/catalog/categories.ts'
import type { Refusal } from '#domain/refusal.ts'
import { nameKey, searchKey } from '#domain/text.ts'
import type { SheetLine } from '#imports/sheet.ts'
import type { Command } from '#ledger/command.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownValue } from '#lib/own-value.ts'
import { checkForm, type Fields } from '../forms/form.ts'
import { refusalMessage } from '../words/problems.ts'

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
  /** Normalizes as the read model does. */
  normalized(typed: string): string
}

/** Fields by column. */
export type ImportMapping = ReadonlyMap<number, string>

/** Field names by column heads: labels, API names and synonyms. */
export function guessMapping(
  heads: readonly string[],
  fields: Fields,
  others: Readonly<Record<string, readonly string[]>>,
): ImportMapping {
  const plain = (head: string) => searchKey(head.replace(/\([^()]*\)/g, ' ').replace(/[._-]/g, ' '))
  const byHead = new Map(
    Object.entries(fields).flatMap(([name, { label }]) =>
      [label, name, ...(ownValue(others, name) ?? [])].map((word) => [plain(word), name] as const),
    ),
  )
  const mapping = new Map<number, string>()
  const taken = new Set<string>()
  for (const [column, head] of heads.entries()) {
    const field = byHead.get(plain(head))
    if (field === undefined || taken.has(field)) continue
    taken.add(field)
    mapping.set(column, field)
  }
  return mapping
}

/** Values of a line, by field; empty cells are absent. */
export interface ReadLine {
  /** Line number in the spreadsheet. */
  readonly number: number
  readonly values: Readonly<Record<string, string>>
  readonly keys: Keys
}

export function readLine(
  { number, cells }: SheetLine,
  mapping: ImportMapping,
  keyFields: readonly KeyField[],
): ReadLine {
  const values = Object.fromEntries(
    [...mapping].flatMap(([column, field]) => (cells[column] ? [[field, cells[column]]] : [])),
  )
  const keys = keyFields.flatMap(({ name, normalized }) => {
    const typed = values[name]
    return typed === undefined ? [] : [[name, normalized(typed)] as const]
  })
  return { number, values, keys }
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
    }
  | { readonly number: number; readonly errors: readonly string[] }

export const isWrong = (planned: PlannedRow): planned is Extract<PlannedRow, { errors: unknown }> => 'errors' in planned

/** Index of records by key. */
export interface RecordIndex {
  add(record: ExistingRecords): void
  /** Some records with a key: at most two for each combination of the more specific keys that they have. */
  of(key: Keys[number]): readonly ExistingRecords[]
}

/** Records kept per combination: two are enough to detect an ambiguous key. */
const ENOUGH = 2

export function createRecordIndex(keyFields: readonly KeyField[]): RecordIndex {
  const holders = new Map<string, ExistingRecords[]>()
  const has = ({ keys }: ExistingRecords, { name }: KeyField): boolean => (keys[name] ?? null) !== null

  function addTo(key: string, record: ExistingRecords, moreTelling: readonly KeyField[]): void {
    const known = holders.get(key)
    if (!known) return void holders.set(key, [record])
    const alike = known.filter((one) => moreTelling.every((field) => has(one, field) === has(record, field)))
    if (alike.length < ENOUGH) known.push(record)
  }

  return {
    add(record) {
      for (const [at, { name }] of keyFields.entries()) {
        const value = record.keys[name] ?? null
        if (value === null || (record.is_deleted && name !== EXTERNAL)) continue
        addTo(joinKey(name, value), record, keyFields.slice(0, at))
      }
    },
    of: ([field, value]) => holders.get(joinKey(field, value)) ?? [],
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

  /** Records that match the first key with any match, without those that have a different value in an earlier key. */
  function find(keys: Keys): readonly ExistingRecords[] {
    for (const [at, key] of keys.entries()) {
      const before = keys.slice(0, at)
      const isOther = ({ keys: own }: ExistingRecords) => before.some(([field]) => (own[field] ?? null) !== null)
      const found = holders.of(key).filter((record) => !isOther(record))
      if (found.length > 0) return found
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
    const { number, keys } = line
    const [first] = keys
    if (!first) return { number, errors: [`falta ${keyFields.map(({ name }) => labelOf(name)).join(' ou ')}`] }
    const before = seen.get(joinKey(...first))
    if (before !== undefined) return { number, errors: [`${labelOf(first[0])}: repete a linha ${before}`] }
    seen.set(joinKey(...first), number)
    const found = find(keys)
    const problem = problemOf(keys, found)
    return problem === null ? planRow(reading, line, found[0]?.id ?? null, timezone) : { number, errors: [problem] }
  }
}

const EXTERNAL = 'external_id'
const CATEGORY = 'category'

const joinKey = (field: string, value: string): string => `${field} ${value}`

/** Command input of a line. */
function planRow(
  reading: ColumnMapping,
  { number, values }: ReadLine,
  id: number | null,
  timezone: string,
): PlannedRow {
  const isNew = id === null
  const fields = Object.fromEntries(
    Object.entries(reading.fields).filter(
      ([name, { isRequired }]) =>
        name !== CATEGORY &&
        (values[name] === undefined ? isNew && isRequired : isNew || !reading.onlyNew.includes(name)),
    ),
  )
  const { schema } = isNew ? reading.create : reading.update
  const typed = checkForm<Record<string, unknown>>(schema, fields, values, timezone)
  const category = values[CATEGORY] ?? null
  const misnamed = category !== null && !CreateCategoryInput.safeParse({ name: category }).success
  if (isRefusal(typed)) return { number, errors: rowMessages(typed, reading.fields) }
  if (misnamed) return { number, errors: [`${reading.fields[CATEGORY]?.label}: é longa demais`] }
  return { number, id, input: typed.input, category }
}

/** Messages of a refusal, with the column names that users see. */
export function rowMessages(refusal: Refusal, fields: Fields): string[] {
  const wrong = Object.entries((refusal.details?.fields ?? {}) as Record<string, string[]>)
  if (wrong.length > 0)
    return wrong.map(([name, messages]) => `${ownValue(fields, name)?.label ?? name}: ${messages.join(', ')}`)
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
