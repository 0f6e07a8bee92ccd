import { isUtf8 } from 'node:buffer'
import { parse } from 'csv-parse/sync'
import { invalid, type Refusal } from '#domain/refusal.ts'

/** Of a file; some 400 bytes a line. */
export const MAX_FILE_BYTES = 2_000_000
export const MAX_LINES = 5_000
const MAX_COLUMNS = 60

/** A table that was saved as CSV; its first line has the heads. */
export interface Sheet {
  readonly heads: readonly string[]
  readonly lines: readonly Line[]
}

interface Line {
  /** As a spreadsheet counts it: the heads are line 1. */
  readonly number: number
  readonly cells: readonly string[]
}

/** The text of a file that a spreadsheet has saved: UTF-8, or what Windows calls ANSI here. */
export const decoded = (bytes: Buffer): string =>
  isUtf8(bytes) ? bytes.toString('utf8') : new TextDecoder('windows-1252').decode(bytes)

const DELIMITERS = [';', ',', '\t']

/** The delimiter that the heads have most of. */
function delimiterOf(text: string): string {
  const heads = text.slice(0, text.search(/[\r\n]|$/))
  const count = (delimiter: string) => heads.split(delimiter).length
  return DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best))
}

/** Our own files put an apostrophe before what a spreadsheet would take for a formula. */
const cellOf = (text: string): string => text.replace(/^'(?=[=+\-@\t\r])/, '')

interface Parsed {
  readonly record: readonly string[]
  readonly info: { readonly records: number }
}

/** The table that a text holds; lines without any content are passed over. Refused is what is none, or too large. */
export function readSheet(text: string): Sheet | Refusal {
  if (text.includes('\0')) return invalid('file', 'não é um arquivo CSV: salve a planilha como CSV')
  let parsed: readonly Parsed[]
  try {
    parsed = parse(text, {
      bom: true,
      delimiter: delimiterOf(text),
      info: true,
      relax_column_count: true,
      relax_quotes: true,
      trim: true,
    }) as unknown as readonly Parsed[]
  } catch {
    return invalid('file', 'não pôde ser lido como CSV: há aspas que não se fecham')
  }
  const [first, ...rest] = parsed.map(({ record, info }) => ({ number: info.records, cells: record.map(cellOf) }))
  const lines = rest.filter(({ cells }) => cells.some((cell) => cell !== ''))
  if (!first || lines.length === 0) return invalid('file', 'não tem linhas abaixo dos títulos das colunas')
  if (first.cells.length > MAX_COLUMNS) return invalid('file', `tem mais de ${MAX_COLUMNS} colunas`)
  if (lines.length > MAX_LINES)
    return invalid('file', `tem mais de ${MAX_LINES.toLocaleString('pt-BR')} linhas: divida-o em partes`)
  return { heads: first.cells, lines }
}
