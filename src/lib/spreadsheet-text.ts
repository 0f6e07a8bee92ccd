/**
 * Texts in files for spreadsheets (PANEL-144). A spreadsheet evaluates a cell that begins like a formula. Where it splits by another
 * delimiter than the file has, a cell may begin behind any comma, semicolon, tab or line end of a text, also within quotes.
 */
const FORMULA = /^(?=[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20])|(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=[,;\t\r\n]"*)/g

const NEUTRALIZED = /'(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=(?:^|[,;\t\r\n]"*)')|^'(?=[\t\r\n])/g

/** The text with an apostrophe before each place where a formula could begin. */
export const neutralizeFormulas = (text: string): string => text.replace(FORMULA, "'")

/** The text as it was before `neutralizeFormulas`, for files of ours that come back. */
export const restoreFormulas = (text: string): string => text.replace(NEUTRALIZED, '')

const BYTE_ORDER_MARK = '\uFEFF'

/** What a spreadsheet may take for a delimiter, or for the end of a cell. */
const NEEDS_QUOTES = /[,;\t\r\n"]/

/** As it is in Brazil; in quotes some programs would take it for a text. */
const DECIMAL = /^-?\d+,\d+$/

const csvCell = (text: string): string =>
  NEEDS_QUOTES.test(text) && !DECIMAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/** A row of a CSV file, as spreadsheets read it in Brazil. Cells are taken as they are: texts of others are to be neutralized before. */
export const csvRow = (cells: readonly string[]): string => `${cells.map(csvCell).join(';')}\r\n`

/** The first row, with the mark by which spreadsheets know UTF-8. */
export const csvHeads = (heads: readonly string[]): string => `${BYTE_ORDER_MARK}${csvRow(heads)}`
