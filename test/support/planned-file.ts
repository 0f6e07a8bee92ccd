import { toRolePermissions } from '#domain/rights.ts'
import { isRefusal } from '#ledger/command.ts'
import { createHeadWords, findCandidates, guessMapping, type ImportMapping } from '#panel/import/column-titles.ts'
import { IMPORTED } from '#panel/import/import-kinds.ts'
import type { ChosenMarks } from '#panel/import/import-lines.ts'
import { isWrong, rowMessages, validRows } from '#panel/import/import-plan.ts'
import { planImport } from '#panel/import/run-import.ts'
import { readSheet } from '#panel/import/sheet.ts'
import { fromWooCommerce, withoutStrayVariants } from '#panel/import/variant-rows.ts'
import type { PageContext } from '#panel/panel-route.ts'
import type { Reader } from '#queries/reader.ts'

/** What the check of a file shows, each text with the number of its line. */
export interface PlannedFile {
  /** Records of the lines that may be imported, those in doubt too. */
  readonly records: readonly Readonly<Record<string, unknown>>[]
  readonly errors: readonly string[]
  readonly doubts: readonly string[]
  readonly warnings: readonly string[]
  /** Columns with numbers that have two readings. */
  readonly numbers: readonly string[]
}

const pause = async () => {}

/** Plans the import of a file into the company of a reader. */
export async function planFile(
  reader: Reader,
  kind: 'items' | 'customers',
  content: string | Buffer,
  marks: ChosenMarks = new Map(),
): Promise<PlannedFile> {
  const imported = IMPORTED.find((one) => one.kind === kind)
  if (!imported) throw new Error(`${kind} cannot be imported`)
  const readModel = { reader, timezone: 'America/Sao_Paulo' }
  const session = { permissions: toRolePermissions('owner') }
  const visit = { primary: reader, readModel, session } as unknown as PageContext
  const fields = await imported.fields(visit)
  const words = createHeadWords(fields, imported.heads)
  const isHead = (cell: string) => findCandidates(words, cell).length > 0
  const guess = (heads: readonly string[]): ImportMapping => guessMapping(heads, words, imported.reading.shared)
  const read = await readSheet(Buffer.from(content as string), pause, { isHead })
  if (isRefusal(read)) return { records: [], errors: rowMessages(read, {}), doubts: [], warnings: [], numbers: [] }
  const sheet = kind === 'items' ? fromWooCommerce(read, guess(read.heads)) : read
  const mapping = withoutStrayVariants(guess(sheet.heads))
  const plan = await planImport(imported, visit, { sheet, fields, mapping, marks, pause })
  const right = validRows(plan.lines)
  return {
    records: right.map(({ input, category }) => ({ ...input, category })),
    errors: plan.lines.filter(isWrong).map(({ number, errors }) => `${number} ${errors.join('; ')}`),
    doubts: right.flatMap(({ number, doubt }) => (doubt ? [`${number} ${doubt.text}`] : [])),
    warnings: plan.warnings.map(({ number, text }) => `${number} ${text}`),
    numbers: [...plan.numbers.keys()],
  }
}
