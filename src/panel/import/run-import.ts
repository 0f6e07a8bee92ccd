import { createCategory } from '#commands/catalog-commands.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { nameKey } from '#domain/text.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import { type CommandResult, provisionalId } from '#ledger/write/idempotency.ts'
import { runCommands, runList } from '#ledger/write/run.ts'
import { categoriesNamed, type MatchingRecord } from '#queries/import-matches.ts'
import type { Fields } from '../forms/panel-form.ts'
import type { FormSubmission, PageContext } from '../panel-route.ts'
import { createHeadWords, findCandidates, type ImportMapping } from './column-titles.ts'
import type { Pause } from './encoding.ts'
import { createDoubtFinder, type DoubtedLine, restoreZeros, withFixedCodes } from './import-doubts.ts'
import {
  checkDigitWarnings,
  type ImportableKind,
  type LineWarning,
  linePriceWarnings,
  warnAlikeRecords,
} from './import-kinds.ts'
import {
  type ChosenMarks,
  countColumns,
  findNumberColumns,
  isFreeText,
  type LineFields,
  type NumberColumn,
  readLine,
  type TableColumns,
} from './import-lines.ts'
import {
  collectCategories,
  createMatchRequest,
  createPlanner,
  createRecordIndex,
  isWrong,
  type PlannedRow,
  rowMessages,
  type ValidRow,
  validRows,
} from './import-plan.ts'
import type { Sheet } from './sheet.ts'
import { type PlannedParent, resolveVariants } from './variant-rows.ts'

/** Planned actions for a file, line by line. */
export interface Plan {
  readonly fields: Fields
  readonly lines: readonly PlannedRow[]
  /** Existing categories named by lines, by name as the read model compares it. */
  readonly categories: ReadonlyMap<string, number>
  /** Items of variants, by the codes in the file. */
  readonly parents: ReadonlyMap<string, PlannedParent>
  /** Columns with numbers that can be read in two ways, by field. */
  readonly numbers: ReadonlyMap<string, NumberColumn>
  /** New records that may exist already, barcodes with a wrong check digit, and what was left out. */
  readonly warnings: readonly LineWarning[]
  /** Prices and costs of known records that lines change. */
  readonly prices: readonly PriceChange[]
}

export interface PriceChange {
  readonly number: number
  readonly id: number
  /** After the import; null if it has none. */
  readonly cost: string | null
  readonly name: string
  readonly field: 'price' | 'cost'
  /** Null: none yet. */
  readonly before: string | null
  readonly after: string
}

interface PlannedImport {
  readonly sheet: Sheet
  /** Fields of the imported kind. */
  readonly fields: Fields
  readonly mapping: ImportMapping
  readonly marks: ChosenMarks
  readonly pause: Pause
}

/** Reads each line and finds its record, without changes. `pause` lets other requests run between lines. */
export async function planImport(
  imported: ImportableKind,
  visit: PageContext,
  { sheet, fields, mapping, marks, pause }: PlannedImport,
): Promise<Plan> {
  const { primary } = visit
  const { timezone } = visit.readModel
  const reading = { ...imported.reading, fields }
  const { keyFields } = reading
  const numbers = await findNumberColumns(sheet, mapping, fields, marks, pause)
  const columns = { mapping, width: countColumns(sheet.heads), numbers }
  const read = await doubtedLines(imported, sheet, columns, reading, pause)
  const doubted = await restoreZeros(primary, imported.codes, read, fields, keyFields)
  const asked = createMatchRequest(keyFields)
  for (const { read } of doubted) asked.add(read)
  const matches = await imported.matches(primary, asked.values)
  const holders = createRecordIndex(keyFields)
  for (const record of matches) {
    await pause()
    holders.add(record)
  }
  const plan = createPlanner(reading, holders, timezone)
  const planned: PlannedRow[] = []
  // Lines in doubt come last: what they repeat is imported without them.
  for (const { read, doubt } of doubted.toSorted((a, b) => Number(a.doubt !== null) - Number(b.doubt !== null))) {
    await pause()
    planned.push(plan(read, doubt))
  }
  planned.sort((a, b) => a.number - b.number)
  const { lines, parents } = await resolveVariants(primary, planned, fields.parent?.label ?? 'parent')
  const named = collectCategories(validRows(lines))
  const categories = await categoriesNamed(primary, [...named.keys()])
  const alike = await imported.alike(primary, lines)
  const remarks = doubted.flatMap(({ read: { number, remarks } }) => remarks.map((text) => ({ number, text })))
  const found = [
    ...warnAlikeRecords(lines, alike),
    ...checkDigitWarnings(lines),
    ...linePriceWarnings(lines),
    ...remarks,
  ]
  const warnings = found.sort((a, b) => a.number - b.number)
  return { fields, lines, parents, categories, numbers, warnings, prices: priceChanges(lines, matches, fields) }
}

async function doubtedLines(
  imported: ImportableKind,
  sheet: Sheet,
  columns: TableColumns,
  reading: LineFields,
  pause: Pause,
): Promise<DoubtedLine[]> {
  const { fields, keyFields } = reading
  const words = createHeadWords(fields, imported.heads)
  const doubts = createDoubtFinder(
    sheet,
    columns.mapping,
    (text) => findCandidates(words, text).length > 0,
    (field) => isFreeText(fields, field),
  )
  const lines: DoubtedLine[] = []
  for (const line of sheet.lines) {
    await pause()
    const { read, doubt } = withFixedCodes(readLine(line, columns, reading), fields, keyFields)
    lines.push({ read, doubt: doubts.of(line, read) ?? doubt })
  }
  return lines
}

function priceChanges(lines: readonly PlannedRow[], records: readonly MatchingRecord[], fields: Fields): PriceChange[] {
  const known = new Map(records.map((record) => [record.id, record]))
  return validRows(lines).flatMap(({ number, id, input }) => {
    const record = id === null ? undefined : known.get(id)
    return (['price', 'cost'] as const).flatMap((field) => {
      const [before, after] = [record?.[field], input[field]]
      if (!Object.hasOwn(fields, field) || before === undefined || typeof after !== 'string' || after === before)
        return []
      const cost = typeof input.cost === 'string' ? input.cost : (record?.cost ?? null)
      return [{ number, id: record?.id ?? 0, name: record?.text ?? '', field, before, after, cost }]
    })
  })
}

/** Names of the categories that some lines would create. */
export const listNewCategories = ({ categories }: Plan, lines: readonly ValidRow[]): string[] =>
  [...collectCategories(lines)].flatMap(([key, name]) => (categories.has(key) ? [] : [name]))

export interface ImportResult {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  /** Lines in doubt that were not confirmed. */
  readonly skipped: readonly number[]
  readonly errors: readonly { readonly number: number; readonly errors: readonly string[] }[]
}

/** Commands per request, which take some tenths of a second. */
const LINES_PER_REQUEST = 500

/**
 * Imports the valid lines, of those in doubt only the confirmed ones. Resubmitting the form does not repeat a request; after a crash, importing the same file
 * finds the records that exist already.
 */
export async function runImport(
  imported: ImportableKind,
  submission: FormSubmission,
  plan: Plan,
  isConfirmed: (line: ValidRow) => boolean,
): Promise<ImportResult | Refusal> {
  const { writer } = submission.context
  const run = async (invocations: readonly Invocation[]): Promise<readonly CommandResult[] | Refusal> => {
    // Also taken for empty requests, so that a request has the same key in every submission.
    const idempotency = submission.idempotency()
    return invocations.length === 0 ? [] : runList(writer, submission.acting, invocations, { idempotency })
  }
  const valid = validRows(plan.lines)
  const right = valid.filter((line) => line.doubt === null || isConfirmed(line))
  const categories = new Map(plan.categories)
  const newCategories = listNewCategories(plan, right)
  const made = await run(newCategories.map((name) => invoke(createCategory, { name })))
  if (isRefusal(made)) return made
  for (const [at, result] of made.entries())
    if (!isRefusal(result)) categories.set(nameKey(newCategories[at] as string), idOf(result.subject))

  const counts = { created: 0, updated: 0, unchanged: 0 }
  const errors = plan.lines.filter(isWrong).map(({ number, errors }) => ({ number, errors }))
  /** Records by line. */
  const ids = new Map<number, number>()
  for (const portion of portionsOf(right)) {
    const part = portion.flatMap((line) => {
      const variant = variantInput(line, plan.parents, ids)
      if (!isRefusal(variant)) return [{ line, variant }]
      errors.push({ number: line.number, errors: rowMessages(variant, plan.fields) })
      return []
    })
    const results = await run(part.map(({ line, variant }) => commandOf(imported, line, categories, variant)))
    if (isRefusal(results)) return results
    for (const [at, result] of results.entries()) {
      const number = part[at]?.line.number ?? 0
      if (isRefusal(result)) errors.push({ number, errors: rowMessages(result, plan.fields) })
      else {
        counts[result.outcome as keyof typeof counts] += 1
        ids.set(number, idOf(result.subject))
      }
    }
  }
  const imports = new Set(right)
  const skipped = valid.filter((line) => !imports.has(line)).map(({ number }) => number)
  return { ...counts, skipped, errors: errors.sort((a, b) => a.number - b.number) }
}

/**
 * Tries the first lines as one request, without those of variants of items that the file makes. Returns the lines that
 * would be refused; `submission` notes the rest.
 */
export async function tryImport(
  imported: ImportableKind,
  submission: FormSubmission,
  plan: Plan,
  isConfirmed: (line: ValidRow) => boolean,
): Promise<ImportResult['errors'] | Refusal> {
  const right = validRows(plan.lines).filter((line) => line.doubt === null || isConfirmed(line))
  const newCategories = listNewCategories(plan, right)
  const categories = new Map(plan.categories)
  for (const [at, name] of newCategories.entries()) categories.set(nameKey(name), provisionalId(at + 1))
  const part = right.slice(0, LINES_PER_REQUEST).flatMap((line) => {
    const variant = variantInput(line, plan.parents, new Map())
    return isRefusal(variant) ? [] : [{ line, invocation: commandOf(imported, line, categories, variant) }]
  })
  const made = newCategories.map((name) => invoke(createCategory, { name }))
  const invocations: Invocation[] = [...made, ...part.map(({ invocation }) => invocation)]
  const compose = () => ({ outcome: 'updated', json: '' }) as const
  const answer = await runCommands(submission.context.writer, submission.acting, invocations, {
    compose,
    withoutRecords: true,
  })
  if (isRefusal(answer)) return answer
  submission.note(answer)
  return answer.results
    .slice(made.length)
    .flatMap((result, at) =>
      isRefusal(result) ? [{ number: part[at]?.line.number ?? 0, errors: rowMessages(result, plan.fields) }] : [],
    )
}

/** Lines of each request. Items come before variants, which name the records of their items. */
function portionsOf(lines: readonly ValidRow[]): ValidRow[][] {
  const items = lines.filter(({ variant }) => variant === null)
  const variants = lines.filter(({ variant }) => variant !== null)
  return [items, variants].flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / LINES_PER_REQUEST) }, (_, at) =>
      group.slice(at * LINES_PER_REQUEST, (at + 1) * LINES_PER_REQUEST),
    ),
  )
}

/** Fields of a variant; none if the line is none. Its item may be a line that was refused. */
function variantInput(
  { variant }: ValidRow,
  parents: Plan['parents'],
  ids: ReadonlyMap<number, number>,
): object | Refusal {
  if (variant === null) return {}
  const { parent: code, ...values } = variant
  const parent = parents.get(code)
  const id = parent && 'line' in parent ? ids.get(parent.line) : parent?.id
  return id === undefined ? refuseField('parent', 'não foi importado') : { parent_id: id, variant: values }
}

function commandOf(
  { reading }: ImportableKind,
  { id, input, category }: ValidRow,
  categories: ReadonlyMap<string, number>,
  variant: object,
) {
  const ofCategory = category !== null && { category_id: categories.get(nameKey(category)) }
  const whole = { ...input, ...ofCategory, ...variant }
  return id === null ? invoke(reading.create.command, whole) : invoke(reading.update.command, { id, changes: whole })
}

const idOf = (subject: string): number => Number(subject.slice(subject.indexOf('/') + 1))
