import pg from 'pg'
import type { AnyTable, ColumnType } from './table.ts'

/** What the driver's own types leave out. */
interface CopyConnection {
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

/**
 * COPY … FROM STDIN of what is in memory. Statement and data are sent in one go, without waiting to be asked for them: a
 * server that has refused the statement drops the data, so it can be pipelined with other statements as any of them.
 */
class CopyIn extends pg.Query {
  readonly #statement: string
  readonly #data: Buffer

  constructor(statement: string, data: Buffer, done: (error: Error | undefined) => void) {
    super(statement, done)
    this.#statement = statement
    this.#data = data
  }

  override submit = (connection: unknown): void => {
    const to = connection as CopyConnection
    to.query(this.#statement)
    to.sendCopyFromChunk(this.#data)
    to.endCopyFrom()
  }

  /** The server asks for the data, which is on its way. */
  handleCopyInResponse(): void {}
}

/** Runs a COPY … FROM STDIN whose data are lines of Postgres' text format. */
export function copyIn(client: pg.PoolClient, statement: string, lines: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(statement, Buffer.from(lines), (error) => (error ? reject(error) : resolve())))
  })
}

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
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (type === 'bytea') return `\\\\x${(value as Buffer).toString('hex')}`
  const text = type === 'json' ? JSON.stringify(value) : String(value)
  return HAS_SPECIAL.test(text) ? text.replace(SPECIAL, (character) => ESCAPED[character] as string) : text
}
