import { formatCount } from '#domain/person-values.ts'
import { type Refusal, refuseField } from '#domain/refusals.ts'
import { restoreFormulas } from '#domain/text.ts'
import { decodeText, detectWideEncoding, type Encoding, type Pause } from './encoding.ts'
import { isPackage, readWorkbook, type Workbook, type WorkbookFault } from './workbook.ts'

/** Limits at which reading a table stops. Lengths are in UTF-16 units of the raw text. */
export interface CsvLimits {
  readonly columns: number
  readonly cellLength: number
  readonly rowLength: number
}

/** The limit that a row exceeds; `quotes`: a quote is not closed within it. */
type CsvFault = 'columns' | 'cell' | 'row' | 'quotes'

type QuoteDoubt = 'open' | 'inner'

export interface CsvReader {
  /** Position in the text, in UTF-16 units. */
  readonly position: number
  /**
   * Why a cell of the last row is uncertain. `open`: it begins with a quote that does not end in this row. `inner`: it
   * begins and ends with quotes that may enclose it or belong to it.
   */
  readonly quoteDoubt: QuoteDoubt | null
  /** Cells of the next row, a fault, or null at the end. Each call reads at most one row's limits. */
  next(): string[] | CsvFault | null
}

const QUOTE = 0x22
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const TAB = 0x09

const isLineEnd = (unit: number): boolean => unit === LINE_FEED || unit === CARRIAGE_RETURN

const isEnclosed = (cell: string): boolean => cell.length > 1 && cell.startsWith('"') && cell.endsWith('"')

/** `"TV 42" LED"`: a program put quotes around a text and did not double the one in it. Even numbers do not tell. */
function withoutOuterQuotes(cell: string): string {
  const isOdd = cell.split('"').length % 2 === 0
  return isEnclosed(cell) && isOdd ? cell.slice(1, -1).replaceAll('""', '"') : cell
}

/**
 * Reads CSV as spreadsheets and cash registers write it (RFC 4180 and its variants): rows end with LF, CRLF or CR,
 * cells are trimmed, and a quote that does not enclose its whole cell is text. Such a quote does not reach beyond its
 * line.
 */
export function createCsvReader(text: string, delimiter: string, limits: CsvLimits): CsvReader {
  const separator = delimiter.charCodeAt(0)
  let position = 0
  let quoteDoubt: QuoteDoubt | null = null

  const isEnd = (at: number): boolean => at >= text.length || isLineEnd(text.charCodeAt(at))
  const isCellEnd = (at: number): boolean => isEnd(at) || text.charCodeAt(at) === separator

  function afterBlanks(at: number, end: number): number {
    for (; at < end; at++) {
      const unit = text.charCodeAt(at)
      if (unit !== SPACE && (unit !== TAB || separator === TAB)) break
    }
    return at
  }

  /** Text between quotes and the position after them; null if they are not closed before `end`. */
  function quoted(at: number, end: number): { readonly content: string; readonly after: number } | null {
    let content = ''
    for (let from = at + 1; ; ) {
      const quote = text.indexOf('"', from)
      if (quote < 0 || quote >= end) return null
      content += text.slice(from, quote)
      if (text.charCodeAt(quote + 1) !== QUOTE) return { content, after: quote + 1 }
      content += '"'
      from = quote + 2
    }
  }

  /** Reads the cell at the present position and stops at its delimiter. */
  function cell(): { readonly content: string } | CsvFault {
    const begin = position
    const end = Math.min(text.length, begin + limits.cellLength + 1)
    let at = afterBlanks(begin, end)
    if (text.charCodeAt(at) === QUOTE) {
      const found = quoted(at, end)
      if (!found) return 'quotes'
      at = afterBlanks(found.after, end)
      if (isCellEnd(at)) {
        position = at
        return { content: found.content.trim() }
      }
      if (/[\r\n]/.test(found.content)) {
        quoteDoubt = 'open'
        at = begin
      }
    }
    while (at < end && !isCellEnd(at)) at += 1
    if (at - begin > limits.cellLength) return 'cell'
    position = at
    const content = withoutOuterQuotes(text.slice(begin, at).trim())
    if (isEnclosed(content)) quoteDoubt ??= 'inner'
    return { content }
  }

  return {
    get position() {
      return position
    },
    get quoteDoubt() {
      return quoteDoubt
    },
    next() {
      if (position >= text.length) return null
      const begin = position
      quoteDoubt = null
      const cells: string[] = []
      for (;;) {
        if (cells.length === limits.columns) return 'columns'
        const found = cell()
        if (typeof found === 'string') return found
        if (position - begin > limits.rowLength) return 'row'
        cells.push(found.content)
        if (isEnd(position)) break
        position += 1
      }
      const isPair = text.charCodeAt(position) === CARRIAGE_RETURN && text.charCodeAt(position + 1) === LINE_FEED
      position += isPair ? 2 : 1
      return cells
    },
  }
}

/** Maximum file size; a line has about 400 bytes. */
export const MAX_FILE_BYTES = 2_000_000
export const MAX_LINES = 5_000
/** Programs export descriptions of a page, in columns that are not imported. */
const LIMITS: CsvLimits = { columns: 200, cellLength: 131_072, rowLength: 262_144 }
/** No field of a record is longer; longer cells are cut behind it, and not read. */
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
  const isBinary = detectWideEncoding(bytes) === null && bytes.includes(0)
  const { text: whole, encoding } = isBinary ? notText : await decodeText(bytes, pause, chosen)
  // Some programs save a web page, or XML, under the name of a workbook.
  const isMarkup = /^\s{0,20}<[!?a-z]/i.test(whole.slice(0, 40))
  if (isMarkup || whole.includes('\0'))
    return refuseField('file', 'não é um arquivo CSV nem XLSX: salve a planilha como XLSX ou CSV')
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
  if (typeof workbook === 'string') return refuseField('file', WORKBOOK_FAULTS[workbook])
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
 * limit.
 */
export async function readSheet(bytes: Buffer, pause: Pause, reading: Reading = {}): Promise<Sheet | Refusal> {
  const { isHead = () => false, encoding } = reading
  if (bytes.length > 4 && bytes.readUInt32BE(0) === COMPOUND_FILE) return refuseField('file', WORKBOOK_FAULTS.format)
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
    if ('fault' in row) return refuseField('file', `${FAULTS[row.fault]} (linha ${formatCount(row.number)})`)
    if (row.number < headNumber) continue
    if (!heads) heads = row.cells.map((head) => textOf(head.slice(0, MAX_HEAD_LENGTH)))
    else if (row.cells.some((cell) => cell !== '')) {
      if (lines.length === MAX_LINES) return refuseField('file', TOO_MANY_LINES)
      lines.push({ ...row, cells: row.cells.map(textOf) })
    }
  }
  if (!heads || lines.length === 0) return refuseField('file', 'não tem linhas abaixo dos títulos das colunas')
  return { heads, lines, origin: file.origin }
}

const isRefused = (file: OpenedFile | Refusal): file is Refusal => 'refused' in file
