import type { ElementType } from '#postgres/row-bytes.ts'
import type { Statement } from '#postgres/transaction.ts'

/**
 * Postgres types that a working set can load and flush. `json` keeps its text as written, so the same object always has
 * the same bytes. `sealed` is any JSON value, stored as bytes that only the vault opens; for tables of `ops` only.
 */
export type ColumnType =
  | 'bigint'
  | 'integer'
  | 'numeric'
  | 'text'
  | 'boolean'
  | 'timestamptz'
  | 'date'
  | 'json'
  | 'bytea'
  | 'uuid'
  | 'sealed'

/** Value of a key column. A key that contains null is not indexed: a deleted row frees its name. */
export type KeyValue = string | number | Buffer

/**
 * A table of the read model (or of `ops`) that commands and projections access by key. A company table has `company_id`
 * as the first column of each key; a global table does not.
 */
export interface Table<R> {
  readonly name: string
  /** Comment of the table in Postgres. */
  readonly about?: string
  /** Rows belong to no company, such as users' e-mail addresses, which are unique in the whole service. */
  readonly global: boolean
  readonly columns: { readonly [C in keyof R & string]: ColumnType }
  /** Column lists of `pk` and of the unique keys. */
  readonly keys: { readonly pk: readonly (keyof R & string)[]; readonly [key: string]: readonly (keyof R & string)[] }
  /** Further indexes for queries: the text after `create index on <table>`. */
  readonly indexes: readonly string[]
  /**
   * Percentage of a page that inserts fill. The rest is for new versions of frequently changed rows: a version on the
   * same page costs the log only the difference.
   */
  readonly fillfactor?: number
  /** Declares the row history; without it the table has no past states. */
  readonly past?: HistoryDeclaration<keyof R & string>
  /** A table with the same primary key, and a row for each row of this one: both are loaded by one statement. */
  readonly companion?: AnyTable
  /** A table of which rows are replaced whenever rows are added to this one: one statement writes both. */
  readonly writtenWith?: AnyTable
}

/**
 * How past states of a company's rows are reconstructed (ADR-0039). Each row has the `revision` of its last change.
 */
export interface HistoryDeclaration<C extends string = string> {
  /** Integer column that identifies a row within the company. */
  readonly id: C
  /** Columns that depend on other rows. Only commands read them, and past states omit them. */
  readonly without?: readonly C[]
  /** Rows are only added. */
  readonly isFixed?: true
  /**
   * Columns that change often and mostly alone. Row states are stored now and then, and lists read the history of the
   * displayed rows only. Not for rows with data about persons.
   */
  readonly hot?: readonly C[]
}

/** History columns that a working set maintains in each row. They follow the table's own columns. */
export interface RowHistory {
  /** The event that created the row. */
  first_revision: number
  /** Events that changed the row before `revision`, ascending, except those in `row_histories`; null if there are none. */
  past_revisions: number[] | null
  /** The last event that changed more than hot columns; only in tables with hot columns. */
  columns_revision?: number
}

const LINEAGE: { readonly [C in keyof Required<RowHistory>]: ColumnType } = {
  first_revision: 'bigint',
  past_revisions: 'json',
  columns_revision: 'bigint',
}

/** Whether a column is maintained by the working set. */
export const isRowHistory = (column: string): boolean => column in LINEAGE

/** Columns of a row's past states: the table's own, without those that past states lack. */
export const pastColumns = ({ columns, past }: AnyTable): Record<string, ColumnType> =>
  Object.fromEntries(
    Object.entries<ColumnType>(columns).filter(([name]) => !isRowHistory(name) && !past?.without?.includes(name)),
  )

function lineageOf(past: HistoryDeclaration | undefined): Record<string, ColumnType> {
  if (!past || past.isFixed) return {}
  const { columns_revision, ...all } = LINEAGE
  return past.hot ? { ...all, columns_revision } : all
}

/** A row by one of its keys, without the company, which the holder of the rows adds. */
export interface Ref<R> {
  readonly table: Table<R>
  readonly by: string
  readonly values: readonly KeyValue[]
}

// biome-ignore lint/suspicious/noExplicitAny: a table is invariant in its row type, so only `any` accepts them all
export type AnyTable = Table<any>

// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyRef = Ref<any>

/** Declares a table. The compiler checks keys and columns against the row type. */
export function table<R extends object>(
  name: string,
  declaration: Pick<Table<R>, 'columns' | 'keys' | 'past' | 'fillfactor' | 'companion' | 'writtenWith'> & {
    about?: string
    indexes?: readonly string[]
    global?: boolean
  },
): Table<R> {
  const columns = { ...declaration.columns, ...lineageOf(declaration.past) }
  return { global: false, indexes: [], name, ...declaration, columns }
}

export const byPk = <R>(table: Table<R>, ...values: KeyValue[]): Ref<R> => ({ table, by: 'pk', values })

export const byKey = <R>(table: Table<R>, by: string, ...values: KeyValue[]): Ref<R> => ({ table, by, values })

export const toDdl = (table: AnyTable, schema: string): string =>
  [tableDdl(table, schema), ...indexDdl(table, schema)].join('\n')

/**
 * DDL of a table with its keys. Unique keys are deferrable, because two rows may swap their names within one statement.
 */
export function tableDdl(table: AnyTable, schema: string): string {
  const columns = Object.entries<ColumnType>(table.columns).map(([name, type]) => `${name} ${type}`)
  const unique = Object.entries(table.keys)
    .filter(([key]) => key !== 'pk')
    .map(
      ([key, names]) =>
        `constraint ${table.name}_${key}_key unique (${names.join(', ')}) deferrable initially immediate`,
    )
  const parts = [...columns, `primary key (${table.keys.pk.join(', ')})`, ...unique]
  const fill = table.fillfactor === undefined ? '' : ` with (fillfactor = ${table.fillfactor})`
  return `create table ${schema}.${table.name} (\n  ${parts.join(',\n  ')}\n)${fill};`
}

/** Comments of columns by their names, which mean the same in every table. */
const COLUMN_COMMENTS: readonly (readonly [name: RegExp, comment: string])[] = [
  [/^(?:quantity|stock|min_stock)$/, 'Units of the item, three decimals.'],
  [/^(?:price|unit_cost)$/, 'Reais.'],
  [/_ms$/, 'Milliseconds.'],
  [/_minutes$/, 'Minutes.'],
  [/^(?:paid|settled|due|last_due)_on$|^due_date$/, "Day of the company's calendar."],
  [/^revision$/, 'Event that changed the row last.'],
  [/^changed_at$/, 'recorded_at of that event.'],
  [/^first_revision$/, 'Event that created the row.'],
  [/^past_revisions$/, 'Earlier events that changed the row; older ones are in row_histories.'],
  [/^columns_revision$/, 'Last event that changed more than the columns that change often.'],
  [/^doc$/, 'JSON of the record.'],
  [/^(?:name|variant|phone)_key$/, 'Normalized, for comparison.'],
  [/^(?:search|sort_key)$/, 'Without case and accents, for search and order.'],
  [/^fingerprint$/, 'Hash of the upload, which recognizes its repetition.'],
  [/^actor$/, 'Author of the event: api_key/7, user/3.'],
  [/^reduced_cents$/, 'Cents by which the amount was lowered later.'],
  [/(?:^|_)cents$/, 'Cents of a real.'],
  [/^receipt_number$/, 'Accounts that were paid together share one.'],
  [/^reverses$/, 'Payment that this one takes back.'],
  [/^carrying_payment_id$/, 'Payment at the provider that makes the order paid.'],
  [/^(?:forgotten|keeps_contact)$/, 'Whether personal data are erased, or contacts stay until the day.'],
  [/^payload$/, 'Upload as the till sent it.'],
  [/^resolved_(?:at|by)$/, 'When and by whom the refused upload was resolved.'],
  [/^awaiting_sale$/, 'Returns that came before their sale.'],
  [/^reported_number$/, 'Gaps of the chain are reported up to this number.'],
  [/^[xy]$/, 'Coordinate of the public key (P-256).'],
  [/^was_product$/, 'Whether tills ever knew the item as a product.'],
  [/^watched_since$/, 'Deliveries count for the health from here on.'],
  [/^is_in_drawer$/, 'Whether the money left a drawer that is still open.'],
  [/^(?:filled_to|is_filled|widened_to)$/, 'How far rollups by hour, and by day, are filled.'],
  [/^zone_changed$/, 'Whether records may have times of a former zone.'],
  [/^table_name$/, 'Table of the row.'],
  [/^(?:stock_moves|takings|days|sessions|cancellations|warnings|items|lines|refunds|returns)$/, 'JSON list.'],
]

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Comments of a table and its columns, for operators who read the schema. */
export function commentDdl({ name, about, columns }: AnyTable, schema: string): string {
  const ofTable = about === undefined ? '' : `\ncomment on table ${schema}.${name} is ${quoted(about)};`
  const ofColumns = Object.keys(columns).map((column) => {
    const comment = COLUMN_COMMENTS.find(([pattern]) => pattern.test(column))?.[1]
    return comment === undefined ? '' : `\ncomment on column ${schema}.${name}.${column} is ${quoted(comment)};`
  })
  return ofTable + ofColumns.join('')
}

/** DDL of a table's further indexes, separate because a table without them is filled faster. */
export const indexDdl = (table: AnyTable, schema: string): string[] =>
  table.indexes.map((index) => `create index on ${schema}.${table.name} ${index};`)

/** Type in which a column's values are sent; the statement casts texts. */
export function toElementType(type: ColumnType): ElementType {
  if (type === 'sealed') return 'bytea'
  return type === 'numeric' || type === 'timestamptz' || type === 'date' || type === 'uuid' ? 'text' : type
}

/** Array parameter with the values of a column. */
function arrayOf(type: ColumnType, position: number): string {
  const element = toElementType(type)
  const cast = element === 'text' && type !== 'text' ? `::${type}[]` : ''
  return `$${position}::${element}[]${cast}`
}

/** Array parameters from a position on, with the values of all columns. */
export const arrayParameters = ({ columns }: AnyTable, from: number): string =>
  Object.values<ColumnType>(columns)
    .map((type, index) => arrayOf(type, from + index))
    .join(', ')

/** Column of a loaded row that holds a column of the companion's row. */
export const companionColumn = (column: string): string => `companion_${column}`

/** Loads the rows with the given keys, and those of the companion: one array parameter per key column. */
export function loadStatement(table: AnyTable, by: string): Statement {
  const key = table.keys[by] as readonly string[] | undefined
  if (!key) throw new Error(`table ${table.name} has no key ${by}`)
  const columns = table.columns as Record<string, ColumnType>
  const arrays = key.map((column, index) => arrayOf(columns[column] as ColumnType, index + 1))
  const names = key.map((column) => `k_${column}`)
  const on = key.map((column) => `t.${column} = wanted.k_${column}`)
  const { companion } = table
  const selected = Object.keys(columns).map((column) => `t.${column}`)
  const beside = Object.keys(companion?.columns ?? {}).map((column) => `c.${column} as ${companionColumn(column)}`)
  const same = (companion?.keys.pk ?? []).map((column) => `c.${String(column)} = t.${String(column)}`)
  const wanted = `unnest(${arrays.join(', ')}) as wanted(${names.join(', ')})`
  // `offset 0` keeps the order of the joins: plans made for empty tables would read the whole company for each key.
  const nextTo = (name: string, alias: string, conditions: readonly string[]) =>
    ` cross join lateral (select * from ${name} ${alias} where ${conditions.join(' and ')} offset 0) ${alias}`
  const from = companion
    ? wanted + nextTo(table.name, 't', on) + nextTo(companion.name, 'c', same)
    : `${wanted} join ${table.name} t on ${on.join(' and ')}`
  return { name: `load_${table.name}_${by}`, text: `select ${[...selected, ...beside].join(', ')} from ${from}` }
}

/**
 * Ways to write rows, in execution order: replace existing rows, which may free a name; upsert rows of unknown
 * existence; add new rows.
 */
export const WRITES = ['replace', 'upsert', 'add'] as const
export type RowWrite = (typeof WRITES)[number]

/**
 * Writes rows of a table in one statement: one array parameter per column. An upsert writes one more log record per
 * row, for the lock on the existing or new row.
 */
export function writeStatement(table: AnyTable, write: RowWrite): Statement {
  const columns = Object.entries<ColumnType>(table.columns)
  const names = columns.map(([name]) => name).join(', ')
  const rows = `unnest(${arrayParameters(table, 1)})`
  const pk = table.keys.pk as readonly string[]
  const set = (source: string) =>
    columns.flatMap(([name]) => (pk.includes(name) ? [] : [`${name} = ${source}.${name}`])).join(', ')
  const insert = `insert into ${table.name} (${names}) select * from ${rows}`
  const texts = {
    replace: () =>
      `update ${table.name} t set ${set('v')} from ${rows} as v(${names}) where ${pk.map((name) => `t.${name} = v.${name}`).join(' and ')}`,
    add: () => insert,
    upsert: () => `${insert} on conflict (${pk.join(', ')}) do update set ${set('excluded')}`,
  }
  return { name: `${write}_${table.name}`, text: texts[write]() }
}

/** One statement that adds rows to a table and replaces rows of `writtenWith`: its parameters are those of both. */
export function jointStatement(table: AnyTable, replaced: AnyTable): Statement {
  const [add, replace] = [writeStatement(table, 'add'), writeStatement(replaced, 'replace')]
  const first = Object.keys(table.columns).length
  const text = replace.text.replace(/\$(\d+)/g, (_, position) => `$${Number(position) + first}`)
  return { name: `${add.name}_${replace.name}`, text: `with added as (${add.text}) ${text}` }
}

/** COPY statement for new rows. */
export const copyStatement = ({ name, columns }: AnyTable): string =>
  `copy ${name} (${Object.keys(columns).join(', ')}) from stdin`

/** Rows in Postgres's text format, one line per row. */
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

/** The only special character in JSON text is the backslash: JSON escapes the others with one. */
const escapedJson = (text: string): string => (text.includes('\\') ? text.replaceAll('\\', '\\\\') : text)

const escaped = (text: string): string =>
  HAS_SPECIAL.test(text) ? text.replace(SPECIAL, (character) => ESCAPED[character] as string) : text

/**
 * Stands before and after a table's name in a statement whose tables have rules (queries/tables.ts). Postgres takes it
 * for a part of the name, so a statement that no reader has rendered fails.
 */
export const MARK = '§'

export const markTable = (name: string): string => `${MARK}${name}${MARK}`

/** The statement on the tables themselves, for transactions and programs, which see everything. */
export const plainSql = (text: string): string => text.replaceAll(MARK, '')
