import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import type * as z from 'zod'
import { CreateCategoryInput } from '#commands/catalog-commands.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Refusal } from '#domain/refusals.ts'
import { boundedText, nameKey } from '#domain/text.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { ownValue } from '#lib/collections.ts'
import type { Database } from '#postgres/database.ts'
import { changeImport, type ImportOwner, readImport, storeImport } from '#privacy/stored-imports.ts'
import { type MatchingRecord, type MatchRequest, RECORDS_PER_KEY } from '#queries/import-matches.ts'
import { checkForm, type Fields } from '../forms/panel-form.ts'
import { refusalMessage } from '../words/message-words.ts'
import type { Pause } from './encoding.ts'
import type { Doubt } from './import-doubts.ts'
import { type KeyField, type LineFields, type LineKeys, quoteCell, type ReadLine } from './import-lines.ts'
import type { Sheet, SheetLine, SheetOrigin } from './sheet.ts'

export type ImportedKind = 'items' | 'customers' | 'suppliers'

/** A parsed upload. */
export interface ReadFile {
  /** SHA-256 of the file, in hex. */
  readonly digest: string
  readonly sheet: Sheet
}

/** A stored upload; a later upload replaces it. */
export interface KeptFile extends ReadFile {
  readonly uploadedAt: string
  /** The upload itself, to be read again in another encoding; empty if that is not possible. */
  readonly source: Buffer
}

/** JSON text compressed at once, in UTF-16 units. */
const PART = 16_384

/** Compressed JSON lines: digest, origin and column titles, then number, problem and cells of each line. */
function packed({ digest, sheet: { heads, lines, origin } }: ReadFile, pause: Pause): Promise<Buffer> {
  async function* parts() {
    let part = JSON.stringify([digest, origin, ...heads])
    for (const { number, problem, cells } of lines) {
      if (part.length >= PART) {
        yield part
        part = ''
        await pause()
      }
      part += `\n${JSON.stringify([number, problem ?? null, ...cells])}`
    }
    yield part
  }
  return pipeline(parts, createGzip({ level: constants.Z_BEST_SPEED }), buffer)
}

function unpacked(bytes: Buffer, pause: Pause): Promise<ReadFile> {
  return pipeline([bytes], createGunzip().setEncoding('utf8'), async (chunks: AsyncIterable<string>) => {
    const lines: SheetLine[] = []
    let first: PackedHead | null = null
    let rest = ''
    async function read(line: string): Promise<void> {
      await pause()
      if (first) {
        const [number, problem, ...cells] = JSON.parse(line) as [number, string | null, ...string[]]
        lines.push({ number, cells, ...(problem !== null && { problem }) })
      } else first = JSON.parse(line)
    }
    for await (const chunk of chunks) {
      const [begin = '', ...others] = chunk.split('\n')
      rest += begin
      for (const other of others) {
        await read(rest)
        rest = other
      }
    }
    await read(rest)
    const [digest, origin, ...heads] = first ?? NO_HEAD
    return { digest, sheet: { heads, lines, origin } }
  })
}

type PackedHead = readonly [digest: string, origin: SheetOrigin, ...heads: string[]]

const NO_HEAD: PackedHead = ['', { encoding: null, sheet: null, otherSheets: 0 }]

/** The length of the packed table, the table, and the upload. */
async function withSource(file: ReadFile, source: Buffer, pause: Pause): Promise<Buffer> {
  const table = await packed(file, pause)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(table.length)
  return Buffer.concat([length, table, source])
}

/**
 * Stores a parsed file until its import, at most for an hour; another upload of the same person replaces it.
 */
export async function storeFile(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  kind: ImportedKind,
  file: ReadFile,
  upload: Buffer = Buffer.alloc(0),
): Promise<void> {
  // A workbook, and a text that names its encoding, is not read in another one.
  const source = file.sheet.origin.encoding === null ? Buffer.alloc(0) : upload
  const content = await withSource(file, source, pause)
  await storeImport(keeping, owner, kind, content)
}

interface Keeping {
  readonly pool: Database
  readonly vault: Vault
  readonly pause: Pause
}

/** Null if there is no file of this kind, or it has expired. */
export async function loadStoredFile(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  kind: ImportedKind,
): Promise<KeptFile | null> {
  const stored = await readImport(keeping, owner, kind)
  if (!stored) return null
  const { content, uploadedAt } = stored
  const end = 4 + content.readUInt32BE(0)
  const file = await unpacked(content.subarray(4, end), pause)
  return { ...file, uploadedAt, source: content.subarray(end) }
}

/** Keeps only some lines of an imported file, for as long as the file, unless another upload has replaced it. */
export async function keepLines(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  { uploadedAt, digest, sheet }: KeptFile,
  lines: readonly SheetLine[],
): Promise<void> {
  const content = await withSource({ digest, sheet: { ...sheet, lines } }, Buffer.alloc(0), pause)
  await changeImport(keeping, owner, uploadedAt, content)
}

/**
 * Values by field that find the records of all lines. For a key that is not unique it includes the names of the lines,
 * which distinguish records that share the key.
 */
export function createMatchRequest(keyFields: readonly KeyField[]) {
  const names = keyFields.flatMap(({ name, isUnique }) => (isUnique ? [name] : [name, `${name}_name`]))
  const values: Record<string, string[]> = Object.fromEntries(names.map((name) => [name, []]))
  const nameField = keyFields.at(-1)?.name
  return {
    values: values as MatchRequest,
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

/** Index of records by key. */
interface RecordIndex {
  add(record: MatchingRecord): void
  /**
   * Records with a key, at most RECORDS_PER_KEY for each combination of the more specific keys that they have; `name`
   * limits them to those with this last key.
   */
  of(key: LineKeys[number], name?: string): readonly MatchingRecord[]
}

export function createRecordIndex(keyFields: readonly KeyField[]): RecordIndex {
  const holders = new Map<string, MatchingRecord[]>()
  const nameField = keyFields.at(-1)
  const has = ({ keys }: MatchingRecord, { name }: KeyField): boolean => (keys[name] ?? null) !== null

  function addTo(key: string, record: MatchingRecord, moreTelling: readonly KeyField[]): void {
    const known = holders.get(key)
    if (!known) return void holders.set(key, [record])
    const alike = known.filter((one) => moreTelling.every((field) => has(one, field) === has(record, field)))
    if (alike.length < RECORDS_PER_KEY) known.push(record)
  }

  return {
    add(record) {
      const ownName = nameField && record.keys[nameField.name]
      for (const [at, { name, isUnique }] of keyFields.entries()) {
        const value = record.keys[name] ?? null
        if (value === null || (record.is_deleted && name !== EXTERNAL_ID)) continue
        addTo(joinKey(name, value), record, keyFields.slice(0, at))
        if (!isUnique && ownName) addTo(joinKey(name, value, ownName), record, [])
      }
    },
    of: ([field, value], name) => holders.get(joinKey(field, value, ...(name === undefined ? [] : [name]))) ?? [],
  }
}

const EXTERNAL_ID = 'external_id'

const joinKey = (...parts: readonly string[]): string => parts.join('\0')

/** Mapping from lines of a file to records of a kind. */
export interface ColumnMapping extends LineFields {
  /** Fields for new records only: the stock in a file is outdated as soon as the shop sells something. */
  readonly onlyNew: readonly string[]
  /** Fields that several columns may have: phone and mobile, CPF and CNPJ. */
  readonly shared: readonly string[]
  // biome-ignore lint/suspicious/noExplicitAny: schema and command agree on a type that lines need not know
  readonly create: { readonly schema: z.ZodType<any>; readonly command: Command<any> }
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly update: { readonly schema: z.ZodType<any>; readonly command: Command<{ id: number; changes: any }> }
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
      /** Why the line is only imported if the user ticks it; null if nothing speaks against it. */
      readonly doubt: Doubt | null
    }
  | { readonly number: number; readonly errors: readonly string[] }

export const isWrong = (planned: PlannedRow): planned is Extract<PlannedRow, { errors: unknown }> => 'errors' in planned

export type ValidRow = Exclude<PlannedRow, { errors: unknown }>

/** Lines without errors. */
export const validRows = (lines: readonly PlannedRow[]): ValidRow[] =>
  lines.flatMap((line) => (isWrong(line) ? [] : [line]))

/**
 * Plans lines against existing records; the first key with a match finds the record. A line is wrong if its record is
 * ambiguous, if another record has its unique keys, or if it repeats an earlier line.
 */
export function createPlanner(
  reading: ColumnMapping,
  holders: RecordIndex,
  timezone: string,
): (line: ReadLine, doubt: Doubt | null) => PlannedRow {
  const { fields, keyFields } = reading
  const labelOf = (field: string) => fields[field]?.label ?? field
  const unique = new Set(keyFields.filter(({ isUnique }) => isUnique).map(({ name }) => name))
  const seen = new Map<string, number>()
  /** Lines with codes, by name. */
  const codedNames = new Map<string, number>()
  const nameField = keyFields.at(-1)?.name
  const codes = keyFields.flatMap(({ name, isLast }) => (isLast ? [] : [name]))
  const isLast = ([field]: LineKeys[number]) => keyFields.some((one) => one.name === field && one.isLast)

  /**
   * Records that match the first key with any match, without those that have a different value in an earlier key. Of
   * several, the one with the line's name, if it is the only one.
   */
  function find(keys: LineKeys, name: string | undefined): readonly MatchingRecord[] {
    for (const [at, key] of keys.entries()) {
      const before = isLast(key) ? codes : keys.slice(0, at).map(([field]) => field)
      const isOther = ({ keys: own }: MatchingRecord) => before.some((field) => (own[field] ?? null) !== null)
      const found = holders.of(key).filter((record) => !isOther(record))
      if (found.length === 0) continue
      const named =
        found.length > 1 && name !== undefined ? holders.of(key, name).filter((record) => !isOther(record)) : []
      return named.length === 1 ? named : found
    }
    return []
  }

  /** Why the record of a line is ambiguous. */
  function problemOf(keys: LineKeys, found: readonly MatchingRecord[]): string | null {
    const [record] = found
    if (found.length > 1) return 'há mais de um cadastro com este código: altere-os um a um'
    if (record?.is_deleted) return `${labelOf(EXTERNAL_ID)}: é de um cadastro que não está mais ativo`
    for (const key of keys) {
      const holder = unique.has(key[0]) ? holders.of(key).find(({ id }) => id !== record?.id) : undefined
      if (holder) return `${labelOf(key[0])}: já é do cadastro ${holder.text} (${holder.id})`
    }
    return null
  }

  return (line, doubt) => {
    const { number, problem, problems } = line
    const reason = doubt === null ? [] : [doubt.text]
    const wrong = (...errors: readonly string[]): PlannedRow => ({ number, errors: [...reason, ...errors] })
    const own = line.keys.filter((key) => !isLast(key))
    const keys = own.length > 0 ? own : line.keys
    const wrongKeys = keyFields.flatMap(({ name }) => (problems[name] ? [`${labelOf(name)}: ${problems[name]}`] : []))
    if (problem !== null) return wrong(problem)
    if (wrongKeys.length > 0) return wrong(...wrongKeys)
    const found = find(keys, line.keys.find(([field]) => field === nameField)?.[1])
    const [first] = keys
    if (!first) return wrong(`falta ${nameField === undefined ? 'o nome' : labelOf(nameField)}`)
    if (isLast(first) && found.length === 0) {
      const before = codedNames.get(first[1])
      if (before !== undefined) return wrong(`${labelOf(first[0])}: repete a linha ${before}, que tem código`)
      if (holders.of(first).length > 0) {
        const needed = codes.map(labelOf).join(' ou ')
        return wrong(`${labelOf(first[0])}: já é de um cadastro com código; informe ${needed}`)
      }
    }
    const ownName = line.keys.find(isLast)?.[1]
    if (ownName !== undefined && own.length > 0 && !codedNames.has(ownName)) codedNames.set(ownName, number)
    // A record that is found, each unique key and, without any, the first key belong to one line.
    const same = found.length === 1 ? joinKey('id', `${found[0]?.id}`) : joinKey(...first)
    const taken = [
      [first[0], same] as const,
      ...keys.flatMap((key) => (unique.has(key[0]) ? [[key[0], joinKey(...key)] as const] : [])),
    ]
    for (const [field, key] of taken) {
      const before = seen.get(key)
      if (before !== undefined) return wrong(`${labelOf(field)}: repete a linha ${before}`)
    }
    const ambiguous = problemOf(keys, found)
    if (ambiguous !== null) return wrong(ambiguous)
    const planned = planInput(reading, line, found[0]?.id ?? null, timezone)
    if (isWrong(planned)) return wrong(...planned.errors)
    for (const [, key] of taken) seen.set(key, number)
    return { ...planned, doubt }
  }
}

const CATEGORY = 'category'

/** Fields of variants; the last two mean nothing without the first. */
export const VARIANT_FIELDS = ['parent', 'size', 'color'] as const

/** Fields that no command takes as they are. */
const RESOLVED: readonly string[] = [CATEGORY, ...VARIANT_FIELDS]

/** Command input of a line, for a new record if `id` is null. */
function planInput(reading: ColumnMapping, line: ReadLine, id: number | null, timezone: string): PlannedRow {
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
  return { number, id, input: typed.input, category, variant, doubt: null }
}

const VariantText = boundedText(30).optional()

/** The variant of a line; null if it is none; a text if something is wrong with it. */
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
      const said = value === undefined ? '' : `${quoteCell(value)} `
      return `${ownValue(fields, name)?.label ?? name}: ${said}${messages.join(', ')}`
    })
  const { field, conflicting_id } = refusal.details ?? {}
  const label = typeof field === 'string' ? ownValue(fields, field)?.label : undefined
  return [label ? `${label}: já é do cadastro ${conflicting_id}` : refusalMessage(refusal)]
}

/** Categories of the lines, by normalized name; spelled as in the first line. */
export function collectCategories(lines: readonly ValidRow[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { category } of lines) {
    if (category !== null && !names.has(nameKey(category))) names.set(nameKey(category), category)
  }
  return names
}
