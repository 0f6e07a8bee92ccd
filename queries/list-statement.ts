import { hash } from 'node:crypto'
import { MARK } from '#ledger/table.ts'
import { type ByteRange, toByteRange } from '#lib/fair-sharing.ts'
import { columnAt, columnReaders, type RowBytes } from '#postgres/row-bytes.ts'
import type { Statement } from '#postgres/transaction.ts'
import { t } from './table-names.ts'

/** `amount` is the total of `count` records, with two decimals. */
export interface Sum {
  readonly count: number
  readonly amount: string
}

/** SQL of an amount in cents as a decimal text. Postgres numerics are exact at any size. */
export const moneySum = (cents: string): string => `(coalesce(${cents}, 0) * 0.01)::text`

/** SQL of a Sum, as JSON, over the rows that meet a condition. */
export const sumColumn = (cents: string, filter: string): string =>
  `json_build_object('count', count(*) filter (where ${filter}), 'amount', ${moneySum(`sum(${cents}) filter (where ${filter})`)})`

type KeyType = 'bigint' | 'timestamptz' | 'date' | 'uuid' | 'text'

interface OrderColumn {
  readonly name: string
  readonly type: KeyType
  readonly collation?: 'C'
  /** Alias of the column's table if that is not the listed one. */
  readonly of?: string
}

/** Order of a list, and so the key in its cursor. The first column may have a lower bound. */
export interface ListOrder {
  readonly name: string
  readonly columns: readonly OrderColumn[]
  readonly descending?: true
  /** No index: all keys, `id` included, are sorted, and only the records of the page are read. */
  readonly isSorted?: true
}

/** Order by a column, then by id. */
export const orderBy = (name: string, column: string, type: KeyType): ListOrder => ({
  name,
  columns: [
    { name: column, type },
    { name: 'id', type: 'bigint' },
  ],
})

/** The opposite direction. */
export const reverseListOrder = ({ descending, ...order }: ListOrder): ListOrder =>
  descending ? { ...order, name: `${order.name}_up` } : { ...order, name: `${order.name}_down`, descending: true }

/** Source of a resource's records. `t` is the listed table. */
export interface Source {
  /** Name in cursors and prepared statements. */
  readonly resource: string
  readonly from: string
  /** SQL of a record, as json or its text; a function of the day's placeholder if it depends on the company's day. */
  readonly record: string | ((today: string) => string)
  /** SQL condition of all listed records. */
  readonly where?: string
  /** Records survive the reset of a test company (KIT-36). */
  readonly outlastsReset?: true
  /** Table of the rows' often changed columns, with the same ids. */
  readonly companion?: string
  /** Other tables that conditions read by column only. */
  readonly joinedTables?: readonly string[]
  /** Builds the API object where SQL cannot, with instants on the company's clock. */
  present?(record: unknown, timezone: string): object
  /** Adds members that no table stores to the record's JSON text. */
  complete?(record: string): string
}

/** Conditions by name, as SQL of the value's placeholder; those of daily sources get the day's placeholder too. */
export type Conditions = Readonly<Record<string, (parameter: string, today: string) => string>>

/** The listed table; null if the records are of none. */
export const getListedTable = ({ from }: Source): string | null => from.split(MARK)[1] ?? null

/** Whether the source depends on the company's day, which is then parameter $3. */
export const isDaily = ({ record }: Source): boolean => typeof record === 'function'
export const TODAY = '$3::date'

/** SQL of a record, as json or its text. */
export const recordExpression = ({ record }: Source): string => (typeof record === 'function' ? record(TODAY) : record)

/** Start of a page: the first record, a lower bound (inclusive), or after the previous page's last key. */
export type PageStart = 'first' | 'since' | 'after'

/** The ledger's position: the one row of the answer without a record. */
export interface LedgerRow {
  readonly revision: number
  readonly last_recorded_at: string
  readonly timezone: string
  readonly zone_changed: boolean
  readonly tables: number
  /** Last reset of the test company; null for real companies. */
  readonly erased_at: string | null
}

/** Column of the record's text; the key follows it. */
const RECORD = 6
const KEY = 7

const keyColumn = (name: string): string => `key_${name}`

/** The cursor key of a row. */
export const toCursorKey = ({ columns }: ListOrder, row: RowBytes): (string | number)[] =>
  columns.map(({ type }, position) => columnReaders[type](columnAt(row, KEY + position) as ByteRange))

export const recordIn = (row: RowBytes): ByteRange => columnAt(row, RECORD) as ByteRange

const COMMA = toByteRange(',')

/** The records of rows, separated by commas. */
export function recordsIn(rows: readonly RowBytes[]): ByteRange[] {
  const parts: ByteRange[] = []
  for (const row of rows) parts.push(recordIn(row), COMMA)
  parts.pop()
  return parts
}

/**
 * Filters that a prepared statement may have: with all combinations of filters, plans would fill the memory of a
 * connection.
 */
const MOST_PREPARED_FILTERS = 2

/** A statement that counts or sums the records of a list; its text depends on the filters only. */
export const sumStatement = (prefix: string, text: string, filters: number): Statement =>
  filters > MOST_PREPARED_FILTERS ? { text } : { name: `${prefix}_${hash('sha1', text, 'hex').slice(0, 16)}`, text }

const statements = new Map<string, Statement>()

/**
 * The statement of a page. Parameters: company, limit, day if the source depends on it, values of the present
 * conditions in order of declaration, values of the start. One prepared statement per combination of few conditions:
 * text and name never depend on values.
 */
export function listStatement(
  source: Source,
  order: ListOrder,
  conditions: Conditions,
  present: readonly string[],
  start: PageStart,
): Statement {
  if (present.length > MOST_PREPARED_FILTERS) return { text: textOf(source, order, conditions, present, start) }
  const bits = Object.keys(conditions).map((name) => (present.includes(name) ? '1' : '0'))
  const name = `list_${source.resource}_${order.name}_${start}_${bits.join('')}`
  let statement = statements.get(name)
  if (!statement) {
    statement = { name, text: textOf(source, order, conditions, present, start) }
    statements.set(name, statement)
  }
  return statement
}

/**
 * The ledger's position as one row, then one row per record, in one snapshot. One record more than the limit tells
 * whether there are more.
 *
 * - Rows instead of one text: Postgres would copy the text several times, which costs half as much again. `doc` is not
 * cast to `text`: that copies it too.
 * - Both parts are in index order with default nulls, so the ledger's row, which has no key, is merged without a sort.
 * - The limit is a subquery, which hides it from the planner. With a known limit, and little knowledge of a growing
 * table, it would sort the whole list instead of walking the index. The pool's session settings do the rest
 * (src/postgres/pool.ts).
 */
function textOf(
  source: Source,
  order: ListOrder,
  conditions: Conditions,
  present: readonly string[],
  start: PageStart,
): string {
  const { where } = source
  const first = isDaily(source) ? 4 : 3
  const filters = Object.keys(conditions)
    .filter((name) => present.includes(name))
    .map((name, position) => conditions[name]?.(`$${first + position}`, TODAY) ?? '')
  const wanted = [
    't.company_id = $1',
    ...(where ? [where] : []),
    ...filters,
    ...startConditions(order, start, first + filters.length),
  ]
  const noKeys = order.columns.map(
    (column) => `null::${column.type}${collationOf(column)} as ${keyColumn(column.name)}`,
  )
  const inOrder = order.columns.map(({ name }) => `${keyColumn(name)}${directionOf(order)}`)
  return `select l.revision, l.last_recorded_at, c.timezone, c.zone_changed, c.tableoid as tables, c.erased_at, null as record, ${noKeys.join(', ')}
    from ${t.ledgers} l
    join ${t.companies} c on c.company_id = l.company_id
    where l.company_id = $1
    union all
    select null, null, null, null, null, null, p.*
    from (${(order.isSorted ? sortedPage : walkedPage)(source, order, wanted.join(' and '))}
    ) p
    order by ${inOrder.join(', ')}`
}

/** Splits the rows into the ledger's row, which comes where Postgres sorts nulls, and the records. */
export function readRows(
  rows: readonly RowBytes[],
  { descending }: ListOrder,
  companyId: number,
): [LedgerRow, RowBytes[]] {
  const row = rows.at(descending ? 0 : -1)
  if (!row) throw new Error(`company ${companyId} is not registered`)
  const column = (position: number) => columnAt(row, position) as ByteRange
  const erasedAt = columnAt(row, 5)
  const ledger = {
    revision: columnReaders.bigint(column(0)),
    last_recorded_at: columnReaders.timestamptz(column(1)),
    timezone: columnReaders.text(column(2)),
    zone_changed: columnReaders.boolean(column(3)),
    tables: columnReaders.oid(column(4)),
    erased_at: erasedAt && columnReaders.timestamptz(erasedAt),
  }
  return [ledger, descending ? rows.slice(1) : rows.slice(0, -1)]
}

const collationOf = ({ collation }: OrderColumn): string => (collation ? ` collate "${collation}"` : '')
const columnIn = ({ of = 't', name, ...column }: OrderColumn): string =>
  `${of}.${name}${collationOf({ name, ...column })}`
const directionOf = ({ descending }: ListOrder): string => (descending ? ' desc' : '')
const keysOf = ({ columns }: ListOrder): string =>
  columns.map((column) => `${columnIn(column)} as ${keyColumn(column.name)}`).join(', ')
const sortedBy = (order: ListOrder): string =>
  order.columns.map((column) => `${columnIn(column)}${directionOf(order)}`).join(', ')

/** A page by an index scan. */
const walkedPage = (source: Source, order: ListOrder, wanted: string): string => `
      select ${recordExpression(source)} as record, ${keysOf(order)}
      from ${source.from}
      where ${wanted}
      order by ${sortedBy(order)}
      limit (select $2::bigint + 1)`

/** A page by sorting all keys: sorting 50,000 items with their records would take six times as long. */
const sortedPage = (source: Source, order: ListOrder, wanted: string): string => `
      select (select ${recordExpression(source)} from ${source.from} where t.company_id = $1 and t.id = k.${keyColumn('id')}) as record, k.*
      from (
        select ${keysOf(order)}
        from ${source.from}
        where ${wanted}
        order by ${sortedBy(order)}
        limit (select $2::bigint + 1)
      ) k`

/** After a cursor no lower bound is needed: with both, the index scan would start at the bound. */
function startConditions({ columns, descending }: ListOrder, start: PageStart, next: number): string[] {
  const [first] = columns
  if (start === 'first' || !first) return []
  if (start === 'since') return [`${columnIn(first)} >= $${next}::${first.type}`]
  const names = columns.map(columnIn)
  const values = columns.map(({ type }, position) => `$${next + position}::${type}`)
  return [`(${names.join(', ')}) ${descending ? '<' : '>'} (${values.join(', ')})`]
}
