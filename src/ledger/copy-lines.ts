import type { AnyTable, ColumnType } from './table.ts'

/** Adds rows to a table that has none of them. */
export const copyStatement = ({ name, columns }: AnyTable): string =>
  `copy ${name} (${Object.keys(columns).join(', ')}) from stdin`

/** Rows of a table in Postgres' text format, a line each. */
export function copyLines(table: AnyTable, rows: readonly Record<string, unknown>[]): string {
  const columns = Object.entries(table.columns) as [string, ColumnType][]
  let lines = ''
  for (const row of rows) {
    let separator = ''
    for (const [name, type] of columns) {
      lines += separator + fieldOf(row[name], type)
      separator = '\t'
    }
    lines += '\n'
  }
  return lines
}

const HAS_SPECIAL = /[\\\t\n\r]/
const SPECIAL = /[\\\t\n\r]/g
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function fieldOf(value: unknown, type: ColumnType): string {
  if (value === null || value === undefined) return '\\N'
  if (type === 'bytea') return `\\\\x${(value as Buffer).toString('hex')}`
  if (type === 'json') return escaped(JSON.stringify(value))
  return type === 'text' ? escaped(String(value)) : String(value)
}

const escaped = (text: string): string =>
  HAS_SPECIAL.test(text) ? text.replace(SPECIAL, (character) => ESCAPED[character] as string) : text
