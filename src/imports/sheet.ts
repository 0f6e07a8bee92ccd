import { formatCount } from '#domain/brazilian-format.ts'
import { invalid, type Refusal } from '#domain/refusal.ts'
import { restoreFormulas } from '#lib/spreadsheet-text.ts'
import { type CsvFault, type CsvLimits, createCsvReader, type QuoteDoubt } from './csv.ts'
import { decodeText, type Encoding, type Pause, wideEncodingOf } from './encoding.ts'
import { isPackage, readWorkbook, type Workbook, type WorkbookFault } from './workbook.ts'

/** Maximum file size; a line has about 400 bytes. */
export const MAX_FILE_BYTES = 2_000_000
export const MAX_LINES = 5_000
/** Programs export descriptions of a page, in columns that are not imported. */
const LIMITS: CsvLimits = { columns: 200, cellLength: 131_072, rowLength: 262_144 }
/** No field of a record is longer; longer cells are cut behind it, and not read (VAL-741). */
export const MAX_CELL_LENGTH = 2_000
/** Longer column titles are truncated. */
const MAX_HEAD_LENGTH = 200

/** A table with column titles in its first line, or below a title of its own. */
export interface Sheet {
  readonly heads: readonly string[]
  readonly lines: readonly SheetLine[]
  readonly origin: SheetOrigin
}

/** What the table was read from. */
export interface SheetOrigin {
  /** Encoding of a text; null if there is none to choose. */
  readonly encoding: Encoding | null
  /** Name of a workbook's sheet, and the number of its other sheets; null for a text. */
  readonly sheet: string | null
  readonly otherSheets: number
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

/** The rows of a file, one by one; null at the end. */
interface RowSource {
  /** Position in the file, in UTF-16 units. */
  readonly position: number
  next(): SheetLine | { readonly number: number; readonly fault: CsvFault } | null
}

function csvRows(text: string, delimiter: string, linesAbove: number): RowSource {
  const reader = createCsvReader(text, delimiter, LIMITS)
  let number = linesAbove
  return {
    get position() {
      return reader.position
    },
    next() {
      const cells = reader.next()
      number += 1
      if (cells === null) return null
      if (typeof cells === 'string') return { number, fault: cells }
      return { number, cells, ...(reader.quoteDoubt && { problem: QUOTE_DOUBTS[reader.quoteDoubt] }) }
    },
  }
}

/** Length of a row of a workbook for the pauses, in UTF-16 units. */
const ROW_LENGTH = 400

function workbookRows(rows: Workbook['rows']): RowSource {
  let at = 0
  return {
    get position() {
      return at * ROW_LENGTH
    },
    next: () => rows[at++] ?? null,
  }
}

interface HeadRow {
  readonly number: number
  readonly known: number
  readonly cells: number
}

/**
 * The row with the titles: the first one, unless a later one has more titles that are known and more cells. A row above
 * it is a title of the whole table.
 */
function findHeadRow(source: RowSource, isHead: IsHead): HeadRow {
  let best: HeadRow & { readonly filled: number } = { number: 0, known: -1, cells: 0, filled: 0 }
  for (let [at, rows] = [0, 0]; at < MAX_BLANK_ROWS && rows < MAX_ROWS_ABOVE; at++) {
    const row = source.next()
    if (row && 'fault' in row && row.fault === 'columns' && best.cells === 0)
      best = { ...best, cells: LIMITS.columns + 1 }
    if (row === null || 'fault' in row) break
    const { number, cells } = row
    if (best.number === 0) best = { ...best, number, cells: cells.length }
    const filled = cells.filter((cell) => cell !== '').length
    if (filled === 0) continue
    rows += 1
    const known = cells.filter((cell) => isHead(textOf(cell.slice(0, MAX_HEAD_LENGTH)))).length
    if (best.known < 0 || (known > best.known && filled > best.filled))
      best = { number, known, cells: cells.length, filled }
  }
  return { ...best, known: Math.max(best.known, 0) }
}

/** The delimiter that gives the most known titles, or else the most cells. */
async function findDelimiter(text: string, isHead: IsHead, pause: Pause): Promise<string> {
  let best: { readonly delimiter: string; readonly headRow: HeadRow } | null = null
  for (const delimiter of DELIMITERS) {
    await pause()
    const headRow = findHeadRow(csvRows(text, delimiter, 0), isHead)
    const { known = -1, cells = 0 } = best?.headRow ?? {}
    if (best === null || headRow.known > known || (headRow.known === known && headRow.cells > cells))
      best = { delimiter, headRow }
  }
  return best?.delimiter ?? ';'
}

/** `="00017"`: how a text that looks like a number is written for Excel. */
const TEXT_FORMULA = /^="((?:[^"]|"")*)"$/

/** Content of a cell: formulas that our own files disarm are restored, and formulas of a constant text are that text. */
function textOf(cell: string): string {
  const restored = restoreFormulas(cell.slice(0, MAX_CELL_LENGTH + 1))
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

const TOO_MANY_LINES = `tem mais de ${formatCount(MAX_LINES)} linhas: divida-o em partes`

const WORKBOOK_FAULTS: Readonly<Record<WorkbookFault, string>> = {
  format: 'não é uma planilha XLSX que se possa ler: salve-a no Excel como XLSX ou CSV, sem senha',
  parts: 'é grande demais depois de descompactado: deixe só a planilha dos cadastros e salve de novo',
  elements: 'tem linhas e células demais, mesmo que vazias: copie só os cadastros para uma planilha nova',
  rows: TOO_MANY_LINES,
  columns: FAULTS.columns,
}

/** The first bytes of files of old versions of Excel, and of encrypted ones. */
const COMPOUND_FILE = 0xd0cf11e0

/** The rows of a file and where they come from. */
interface OpenedFile {
  readonly origin: SheetOrigin
  /** Begins anew at each call. */
  rows(): RowSource
}

async function openText(bytes: Buffer, pause: Pause, isHead: IsHead, chosen?: Encoding): Promise<OpenedFile | Refusal> {
  const notText = { text: '\0', encoding: null }
  const isBinary = wideEncodingOf(bytes) === null && bytes.includes(0)
  const { text: whole, encoding } = isBinary ? notText : await decodeText(bytes, pause, chosen)
  // Some programs save a web page, or XML, under the name of a workbook.
  const isMarkup = /^\s{0,20}<[!?a-z]/i.test(whole.slice(0, 40))
  if (isMarkup || whole.includes('\0'))
    return invalid('file', 'não é um arquivo CSV nem XLSX: salve a planilha como XLSX ou CSV')
  const [above = '', named] = DELIMITER_LINE.exec(whole) ?? []
  const text = whole.slice(above.length)
  const delimiter = named ?? (await findDelimiter(text, isHead, pause))
  return {
    origin: { encoding, sheet: null, otherSheets: 0 },
    rows: () => csvRows(text, delimiter, above === '' ? 0 : 1),
  }
}

async function openWorkbook(bytes: Buffer, pause: Pause): Promise<OpenedFile | Refusal> {
  const limits = { rows: MAX_LINES + MAX_BLANK_ROWS, columns: LIMITS.columns, cellLength: MAX_CELL_LENGTH + 1 }
  const workbook = await readWorkbook(bytes, limits, pause)
  if (typeof workbook === 'string') return invalid('file', WORKBOOK_FAULTS[workbook])
  const { sheet, others, rows } = workbook
  return { origin: { encoding: null, sheet, otherSheets: others }, rows: () => workbookRows(rows) }
}

/** How a file is read: which texts are known titles, and the encoding that its owner chose. */
export interface Reading {
  readonly isHead?: IsHead
  readonly encoding?: Encoding | undefined
}

/**
 * Reads a table in slices, up to its limits; empty lines are skipped. Refuses a file that is no table or exceeds a
 * limit (PANEL-321).
 */
export async function readSheet(bytes: Buffer, pause: Pause, reading: Reading = {}): Promise<Sheet | Refusal> {
  const { isHead = () => false, encoding } = reading
  if (bytes.length > 4 && bytes.readUInt32BE(0) === COMPOUND_FILE) return invalid('file', WORKBOOK_FAULTS.format)
  const file = isPackage(bytes) ? await openWorkbook(bytes, pause) : await openText(bytes, pause, isHead, encoding)
  if (isRefused(file)) return file
  const { number: headNumber } = findHeadRow(file.rows(), isHead)
  const source = file.rows()
  const lines: SheetLine[] = []
  let heads: readonly string[] | null = null
  for (let read = 0; ; ) {
    if (source.position - read > PART) {
      read = source.position
      await pause()
    }
    const row = source.next()
    if (row === null) break
    if ('fault' in row) return invalid('file', `${FAULTS[row.fault]} (linha ${formatCount(row.number)})`)
    if (row.number < headNumber) continue
    if (!heads) heads = row.cells.map((head) => textOf(head.slice(0, MAX_HEAD_LENGTH)))
    else if (row.cells.some((cell) => cell !== '')) {
      if (lines.length === MAX_LINES) return invalid('file', TOO_MANY_LINES)
      lines.push({ ...row, cells: row.cells.map(textOf) })
    }
  }
  if (!heads || lines.length === 0) return invalid('file', 'não tem linhas abaixo dos títulos das colunas')
  return { heads, lines, origin: file.origin }
}

const isRefused = (file: OpenedFile | Refusal): file is Refusal => 'refused' in file
