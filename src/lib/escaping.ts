const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as content or attribute of HTML. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => ESCAPES[character] as string)

/**
 * Texts in spreadsheet files. A spreadsheet evaluates a cell that begins like a formula. If it splits by
 * another delimiter than the file's, a cell may begin after any comma, semicolon, tab or line end of a text, even
 * within quotes. Apostrophes that are there already get one more, so that the text can be restored.
 */
const FORMULA = /^(?='*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?='*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=[,;\t\r\n]"*)/g

const NEUTRALIZED = /'(?='*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=(?:^|[,;\t\r\n]"*)')|^'(?='*[\t\r\n])/g

/** Inserts an apostrophe wherever a formula could begin. */
export const neutralizeFormulas = (text: string): string => text.replace(FORMULA, "'")

/** Reverses `neutralizeFormulas`, for exported files that are imported again. */
export const restoreFormulas = (text: string): string => text.replace(NEUTRALIZED, '')

const BYTE_ORDER_MARK = '\uFEFF'

/** Characters that a spreadsheet may take for a delimiter or the end of a cell. */
const NEEDS_QUOTES = /[,;\t\r\n"]/

/** Decimal comma, as in Brazil. Some programs would take a quoted number for a text. */
const DECIMAL = /^-?\d+,\d+$/

const csvCell = (text: string): string =>
  NEEDS_QUOTES.test(text) && !DECIMAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** A CSV row in the Brazilian format. Cells are not changed: neutralize untrusted texts first. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(csvCell).join(';')}\r\n`

/** The header row, preceded by the byte order mark that lets spreadsheets recognize UTF-8. */
export const csvHeads = (heads: readonly string[]): string => `${BYTE_ORDER_MARK}${csvRow(heads)}`
