import { createCategory } from '#commands/catalog/categories.ts'
import type { Refusal } from '#domain/refusal.ts'
import { nameKey } from '#domain/text.ts'
import type { Pause } from '#imports/encoding.ts'
import type { Sheet } from '#imports/sheet.ts'
import { type Invocation, invoke, isRefusal } from '#ledger/command.ts'
import type { CommandResult } from '#ledger/write/answer.ts'
import { runList } from '#ledger/write/run.ts'
import { categoriesNamed } from '#queries/import-matches.ts'
import type { Fields } from '../forms/form.ts'
import type { FormSubmission, PageContext } from '../route.ts'
import { checkDigitWarnings, type LineWarning, warningsOf } from './alike.ts'
import { type ChosenMarks, findNumberColumns, type NumberColumn } from './cells.ts'
import type { ImportMapping } from './heads.ts'
import type { ImportableKind } from './kinds.ts'
import {
  categoriesOf,
  createMatchRequest,
  createPlanner,
  createRecordIndex,
  isWrong,
  type PlannedRow,
  type ReadLine,
  readLine,
  rowMessages,
  widthOf,
} from './plan.ts'

/** Planned actions for a file, line by line. */
export interface Plan {
  readonly fields: Fields
  readonly lines: readonly PlannedRow[]
  /** Existing categories named by lines, by name as the read model compares it. */
  readonly categories: ReadonlyMap<string, number>
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
  const lines: PlannedRow[] = []
  for (const line of read) {
    await pause()
    lines.push(plan(line))
  }
  const named = categoriesOf(lines)
  const categories = await categoriesNamed(pool, companyId, [...named.keys()])
  const newCategories = [...named].flatMap(([key, name]) => (categories.has(key) ? [] : [name]))
  const alike = await imported.alike(pool, companyId, lines)
  const warnings = [...warningsOf(lines, alike), ...checkDigitWarnings(lines)].sort((a, b) => a.number - b.number)
  return { fields, lines, categories, newCategories, numbers, warnings }
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
  for (let from = 0; from < right.length; from += LINES_PER_REQUEST) {
    const part = right.slice(from, from + LINES_PER_REQUEST)
    const results = await run(part.map((line) => commandOf(imported, line, categories)))
    if (isRefusal(results)) return results
    for (const [at, result] of results.entries())
      if (isRefusal(result)) errors.push({ number: part[at]?.number ?? 0, errors: rowMessages(result, plan.fields) })
      else counts[result.outcome as keyof typeof counts] += 1
  }
  return { ...counts, errors: errors.sort((a, b) => a.number - b.number) }
}

type ValidRow = Exclude<PlannedRow, { errors: unknown }>

function commandOf(
  { reading }: ImportableKind,
  { id, input, category }: ValidRow,
  categories: ReadonlyMap<string, number>,
) {
  const whole = category === null ? input : { ...input, category_id: categories.get(nameKey(category)) }
  return id === null ? invoke(reading.create.command, whole) : invoke(reading.update.command, { id, changes: whole })
}

const idOf = (subject: string): number => Number(subject.slice(subject.indexOf('/') + 1))
