import { createCategory } from '#commands/catalog/categories.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { nameKey } from '#domain/text.ts'
import type { Pause } from '#imports/encoding.ts'
import type { Sheet } from '#imports/sheet.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
import { runList } from '#ledger/write/run.ts'
import { categoriesNamed } from '#queries/import-matches.ts'
import type { Fields } from '../forms/form.ts'
import type { FormSubmission, PageContext } from '../route.ts'
import { checkDigitWarnings, type LineWarning, linePriceWarnings, warningsOf } from './alike.ts'
import { type ChosenMarks, findNumberColumns, type NumberColumn } from './cells.ts'
import type { ImportMapping } from './heads.ts'
import type { ImportableKind } from './kinds.ts'
import { categoriesOf, createPlanner, isWrong, type PlannedRow, rowMessages } from './plan.ts'
import { type ReadLine, readLine, widthOf } from './read-line.ts'
import { createMatchRequest, createRecordIndex } from './record-index.ts'
import { type PlannedParent, resolveVariants } from './variants.ts'

/** Planned actions for a file, line by line. */
export interface Plan {
  readonly fields: Fields
  readonly lines: readonly PlannedRow[]
  /** Existing categories named by lines, by name as the read model compares it. */
  readonly categories: ReadonlyMap<string, number>
  /** Items of variants, by the codes in the file. */
  readonly parents: ReadonlyMap<string, PlannedParent>
  /** Categories that would be created. */
  readonly newCategories: readonly string[]
  /** Columns with numbers that can be read in two ways, by field. */
  readonly numbers: ReadonlyMap<string, NumberColumn>
  /** New records that may exist already, and barcodes with a wrong check digit. */
  readonly warnings: readonly LineWarning[]
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
  const { readModel, context } = visit
  const { companyId, timezone } = readModel
  const pool = context.poolOf(companyId)
  const reading = { ...imported.reading, fields }
  const { keyFields } = reading
  const numbers = await findNumberColumns(sheet, mapping, fields, marks, pause)
  const columns = { mapping, width: widthOf(sheet.heads), numbers }
  const read: ReadLine[] = []
  const asked = createMatchRequest(keyFields)
  for (const line of sheet.lines) {
    await pause()
    const readOne = readLine(line, columns, reading)
    read.push(readOne)
    asked.add(readOne)
  }
  const holders = createRecordIndex(keyFields)
  for (const record of await imported.matches(pool, companyId, asked.values)) {
    await pause()
    holders.add(record)
  }
  const plan = createPlanner(reading, holders, timezone)
  const planned: PlannedRow[] = []
  for (const line of read) {
    await pause()
    planned.push(plan(line))
  }
  const { lines, parents } = await resolveVariants(pool, companyId, planned, fields.parent?.label ?? 'parent')
  const named = categoriesOf(lines)
  const categories = await categoriesNamed(pool, companyId, [...named.keys()])
  const newCategories = [...named].flatMap(([key, name]) => (categories.has(key) ? [] : [name]))
  const alike = await imported.alike(pool, companyId, lines)
  const found = [...warningsOf(lines, alike), ...checkDigitWarnings(lines), ...linePriceWarnings(lines)]
  const warnings = found.sort((a, b) => a.number - b.number)
  return { fields, lines, parents, categories, newCategories, numbers, warnings }
}

export interface ImportResult {
  readonly created: number
  readonly updated: number
  readonly unchanged: number
  readonly errors: readonly { readonly number: number; readonly errors: readonly string[] }[]
}

/** Commands per request, which take some tenths of a second. */
const LINES_PER_REQUEST = 500

/**
 * Imports the valid lines. Resubmitting the form does not repeat a request; after a crash, importing the same file
 * finds the records that exist already (PANEL-182).
 */
export async function runImport(
  imported: ImportableKind,
  submission: FormSubmission,
  plan: Plan,
): Promise<ImportResult | Refusal> {
  const { writer } = submission.context
  const run = async (invocations: readonly Invocation[]): Promise<readonly CommandResult[] | Refusal> => {
    // Also taken for empty requests, so that a request has the same key in every submission.
    const idempotency = submission.idempotency()
    return invocations.length === 0 ? [] : runList(writer, submission.acting, invocations, { idempotency })
  }
  const categories = new Map(plan.categories)
  const made = await run(plan.newCategories.map((name) => invoke(createCategory, { name })))
  if (isRefusal(made)) return made
  for (const [at, result] of made.entries())
    if (!isRefusal(result)) categories.set(nameKey(plan.newCategories[at] as string), idOf(result.subject))

  const counts = { created: 0, updated: 0, unchanged: 0 }
  const errors = plan.lines.filter(isWrong).map(({ number, errors }) => ({ number, errors }))
  const right = plan.lines.flatMap((line) => (isWrong(line) ? [] : [line]))
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
  return { ...counts, errors: errors.sort((a, b) => a.number - b.number) }
}

type ValidRow = Exclude<PlannedRow, { errors: unknown }>

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
  return id === undefined ? invalid('parent', 'não foi importado') : { parent_id: id, variant: values }
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
