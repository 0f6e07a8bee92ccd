/** Limits at which reading a table stops. Lengths are in UTF-16 units of the raw text. */
export interface CsvLimits {
  readonly columns: number
  readonly cellLength: number
  readonly rowLength: number
}

/** The limit that a row exceeds; `quotes`: a quote is not closed within it. */
export type CsvFault = 'columns' | 'cell' | 'row' | 'quotes'

export type QuoteDoubt = 'open' | 'inner'

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
