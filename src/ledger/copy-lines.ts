import type { AnyTable, ColumnType } from './table.ts'

/** Adds rows to a table that has none of them. */
export const copyStatement = ({ name, columns }: AnyTable): string =>
  `copy ${name} (${Object.keys(columns).join(', ')}) from stdin`

/** Rows of a table in Postgres' text format, a line each. */
export function copyLines(table: AnyTable, rows: readonly Record<string, unknown>[]): string {
  const columns = Object.entries(table.columns) as [string, ColumnType][]
  let lines = ''
  for (const row of rows) {
    let end = columns.length
    for (const [name, type] of columns) lines += fieldOf(row[name], type) + (--end > 0 ? '\t' : '\n')
  }
  return lines
}

const HAS_SPECIAL = /[\\\t\n\r]/
const SPECIAL = /[\\\t\n\r]/g
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function fieldOf(value: unknown, type: ColumnType): string {
  if (value === null || value === undefined) return '\\N'
  if (type === 'json') return escapedJson(JSON.stringify(value))
  if (type === 'text') return escaped(String(value))
  return type === 'bytea' ? `\\\\x${(value as Buffer).toString('hex')}` : String(value)
}

/** Of the special characters JSON text has the backslash only, because it writes the others with one. */
const escapedJson = (text: string): string => (text.includes('\\') ? text.replaceAll('\\', '\\\\') : text)

const escaped = (text: string): string =>
  HAS_SPECIAL.test(text) ? text.replace(SPECIAL, (character) => ESCAPED[character] as string) : text
