import { formatCount } from '#domain/brazilian-format.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { restoreFormulas } from '#lib/spreadsheet-text.ts'
import { type CsvFault, type CsvLimits, createCsvReader, type QuoteDoubt } from './csv.ts'
import { decodeText, type Pause, wideEncodingOf } from './encoding.ts'

/** Maximum file size; a line has about 400 bytes. */
export const MAX_FILE_BYTES = 2_000_000
export const MAX_LINES = 5_000
const LIMITS: CsvLimits = { columns: 60, cellLength: 5_000, rowLength: 65_536 }
/** No field of a record is longer; longer cells are not read (VAL-741). */
export const MAX_CELL_LENGTH = 2_000
/** Longer column titles are truncated. */
const MAX_HEAD_LENGTH = 200

/** A table saved as CSV, with column titles in its first line, or below a title of its own. */
export interface Sheet {
  readonly heads: readonly string[]
  readonly lines: readonly SheetLine[]
}

export interface SheetLine {
  /** Line number in a spreadsheet: the first line of the file is 1. */
  readonly number: number
  readonly cells: readonly string[]
  /** Why the cells of the line are uncertain. */
  readonly problem?: string
}

/** Amount read between two pauses, in UTF-16 units. */
const PART = 16_384

const DELIMITERS = [';', ',', '\t', '|']

/** `sep=;`: a line for Excel, before the titles. */
const DELIMITER_LINE = /^\s*"?sep=([;,\t|])"?[;,\t|]*(?:\r\n|\r|\n)/i

/** Lines among which the titles are. */
const [MAX_ROWS_ABOVE, MAX_BLANK_ROWS] = [10, 30]

/** Whether a text is a known column title. */
export type IsHead = (text: string) => boolean

interface HeadRow {
  /** Position among the rows of the table. */
  readonly at: number
  readonly known: number
  readonly cells: number
}

/**
 * The row with the titles: the first one, unless a later one has more titles that are known and more cells. A row above
 * it is a title of the whole table.
 */
function findHeadRow(text: string, delimiter: string, isHead: IsHead): HeadRow {
  const reader = createCsvReader(text, delimiter, LIMITS)
  let best = { at: 0, known: -1, cells: 0, filled: 0 }
  for (let [at, rows] = [0, 0]; at < MAX_BLANK_ROWS && rows < MAX_ROWS_ABOVE; at++) {
    const row = reader.next()
    if (row === 'columns' && best.cells === 0) best.cells = LIMITS.columns + 1
    if (row === null || typeof row === 'string') break
    if (at === 0) best.cells = row.length
    const filled = row.filter((cell) => cell !== '').length
    if (filled === 0) continue
    rows += 1
    const known = row.filter((cell) => isHead(textOf(cell.slice(0, MAX_HEAD_LENGTH)))).length
    if (best.known < 0 || (known > best.known && filled > best.filled)) best = { at, known, cells: row.length, filled }
  }
  return { ...best, known: Math.max(best.known, 0) }
}

interface Layout {
  readonly delimiter: string
  readonly headRow: HeadRow
}

/** The delimiter that gives the most known titles, or else the most cells. */
async function findLayout(text: string, named: string | undefined, isHead: IsHead, pause: Pause): Promise<Layout> {
  let best: Layout | null = null
  for (const delimiter of named === undefined ? DELIMITERS : [named]) {
    await pause()
    const headRow = findHeadRow(text, delimiter, isHead)
    const { known = -1, cells = 0 } = best?.headRow ?? {}
    if (best === null || headRow.known > known || (headRow.known === known && headRow.cells > cells))
      best = { delimiter, headRow }
  }
  return best as Layout
}

/** `="00017"`: how a text that looks like a number is written for Excel. */
const TEXT_FORMULA = /^="((?:[^"]|"")*)"$/

/** Content of a cell: formulas that our own files disarm are restored, and formulas of a constant text are that text. */
function textOf(cell: string): string {
  const restored = restoreFormulas(cell)
  const [, constant] = restored === cell ? (TEXT_FORMULA.exec(cell) ?? []) : []
  return constant === undefined ? restored : constant.replaceAll('""', '"').trim()
}

const FAULTS: Readonly<Record<CsvFault, string>> = {
  columns: `tem mais de ${LIMITS.columns} colunas`,
  cell: `tem uma célula com mais de ${formatCount(LIMITS.cellLength)} caracteres`,
  row: `tem uma linha com mais de ${formatCount(LIMITS.rowLength)} caracteres`,
  quotes: `tem aspas que não se fecham em ${formatCount(LIMITS.cellLength)} caracteres`,
}

const QUOTE_DOUBTS: Readonly<Record<QuoteDoubt, string>> = {
  open: 'as aspas de uma célula não se fecham nesta linha',
  inner: 'há aspas dentro das aspas de uma célula: escreva cada uma delas duas vezes',
}

/**
 * Reads a table in slices, up to its limits; empty lines are skipped. Refuses a file that is no table or exceeds a
 * limit (PANEL-321).
 */
export async function readSheet(bytes: Buffer, pause: Pause, isHead: IsHead = () => false): Promise<Sheet | Refusal> {
  const whole = wideEncodingOf(bytes) === null && bytes.includes(0) ? '\0' : await decodeText(bytes, pause)
  if (whole.includes('\0')) return invalid('file', 'não é um arquivo CSV: salve a planilha como CSV')
  const [above = '', named] = DELIMITER_LINE.exec(whole) ?? []
  const text = whole.slice(above.length)
  const { delimiter, headRow } = await findLayout(text, named, isHead, pause)
  const reader = createCsvReader(text, delimiter, LIMITS)
  const lines: SheetLine[] = []
  let heads: readonly string[] | null = null
  let number = above === '' ? 0 : 1
  const headNumber = number + headRow.at + 1
  for (let read = 0; ; ) {
    if (reader.position - read > PART) {
      read = reader.position
      await pause()
    }
    const row = reader.next()
    if (row === null) break
    number += 1
    if (typeof row === 'string') return invalid('file', `${FAULTS[row]} (linha ${formatCount(number)})`)
    if (number < headNumber) continue
    if (!heads) heads = row.map((head) => textOf(head.slice(0, MAX_HEAD_LENGTH)))
    else if (row.some((cell) => cell !== '')) {
      if (lines.length === MAX_LINES)
        return invalid('file', `tem mais de ${formatCount(MAX_LINES)} linhas: divida-o em partes`)
      lines.push({
        number,
        cells: row.map(textOf),
        ...(reader.quoteDoubt && { problem: QUOTE_DOUBTS[reader.quoteDoubt] }),
      })
    }
  }
  if (!heads || lines.length === 0) return invalid('file', 'não tem linhas abaixo dos títulos das colunas')
  return { heads, lines }
}
