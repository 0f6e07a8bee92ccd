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
