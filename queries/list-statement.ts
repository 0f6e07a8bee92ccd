import { type Part, partOf } from '#lib/bytes.ts'
import { columnAt, columnOf, type RowBytes } from '#postgres/row-bytes.ts'

type KeyType = 'bigint' | 'timestamptz' | 'date' | 'uuid' | 'text'

/** In which order records are listed, and so what a cursor holds. The first column may have a lower bound. */
export interface Order {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: KeyType; readonly collation?: 'C' }[]
  readonly descending?: true
  /** There is no index for it: all keys, `id` among them, are sorted, and only the records of the page are read. */
  readonly isSorted?: true
}

/** The same the other way round. */
export const reversed = ({ descending, ...order }: Order): Order =>
  descending ? { ...order, name: `${order.name}_up` } : { ...order, name: `${order.name}_down`, descending: true }

/** Where records of one resource are found. `t` is the listed table. */
export interface Source {
  /** Of cursors and prepared statements. */
  readonly resource: string
  readonly from: string
  /** SQL of a record, as json or its text; where it depends on the company's day, with the placeholder of that date. */
  readonly record: string | ((today: string) => string)
  /** SQL of what all listed records have in common. */
  readonly where?: string
  /** Its records stay when a test company is emptied (KIT-36). */
  readonly outlastsReset?: true
  /** Other tables, of which conditions look at columns only (looking.ts). */
  readonly lookedUp?: readonly string[]
  /** Makes the API's object of a record, where SQL cannot; its instants are on the company's clock then. */
  present?(record: unknown, timezone: string): object
  /** The record's JSON text with what is in no table. */
  complete?(record: string): string
}

/** Conditions by name, as SQL with a placeholder for the value; those of a source that depends on the day get that one too. */
export type Conditions = Readonly<Record<string, (parameter: string, today: string) => string>>

/** The listed table. */
export const tableOf = ({ from }: Source): string => from.slice(0, from.indexOf(' '))

/** Whether a source depends on the company's day, which is then parameter $3 of its statements. */
export const isDaily = ({ record }: Source): boolean => typeof record === 'function'
export const TODAY = '$3::date'

/** SQL of a record, as json or its text. */
export const recordOf = ({ record }: Source): string => (typeof record === 'function' ? record(TODAY) : record)

/** Where a page begins: at the first record, at a lower bound (inclusive), or after the last key of the page before. */
export type Start = 'first' | 'since' | 'after'

/** Where the ledger is: the one row of a list statement's answer without a record. */
export interface LedgerRow {
  readonly revision: number
  readonly last_recorded_at: string
  readonly timezone: string
  readonly zone_changed: boolean
  readonly tables: number
  /** When the test company was last emptied; null of real ones. */
  readonly erased_at: string | null
}

/** Where the other rows have a record's text, and from where on its key. */
const RECORD = 6
const KEY = 7

const keyColumn = (name: string): string => `key_${name}`

/** The key of a row's record, in an order. */
export const keyIn = ({ columns }: Order, row: RowBytes): (string | number)[] =>
  columns.map(({ type }, position) => columnOf[type](columnAt(row, KEY + position) as Part))

export const recordIn = (row: RowBytes): Part => columnAt(row, RECORD) as Part

const COMMA = partOf(',')

/** The records of rows, and commas between them. */
export function recordsIn(rows: readonly RowBytes[]): Part[] {
  const parts: Part[] = []
  for (const row of rows) parts.push(recordIn(row), COMMA)
  parts.pop()
  return parts
}

const statements = new Map<string, { name: string; text: string }>()

/**
 * The statement of a page. Its parameters are the company, the limit, the day if the source depends on it, the values of
 * the present conditions in the order of their declaration, and what the start needs. One prepared statement per
 * combination: text and name never vary with values.
 */
export function listStatement(
  source: Source,
  order: Order,
  conditions: Conditions,
  present: readonly string[],
  start: Start,
): { name: string; text: string } {
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
 * The ledger's position in a row, then the records, a row each, all of one snapshot. A record more than the limit is looked
 * for, to know whether there are more.
 *
 * - Rows, because a page that Postgres puts together to one text costs half as much again: it is copied several times. A `doc`
 *   is taken as it is: as `text` it would be copied as well.
 * - Both are in the order of the index, with nulls where they are by default, so that the ledger's row, which has no key, is merged
 *   with the records and nothing is sorted.
 * - The limit is a subquery, so that the planner does not know it and takes a page for a small part of the list: where it
 *   believes that the list is hardly longer than the page (of a table that has just grown it knows little), it would sort
 *   the whole list rather than walk an index in order. The pool's session sees to the rest (src/postgres/pool.ts).
 */
function textOf(
  source: Source,
  order: Order,
  conditions: Conditions,
  present: readonly string[],
  start: Start,
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
    ...begin(order, start, first + filters.length),
  ]
  const noKeys = order.columns.map(
    (column) => `null::${column.type}${collationOf(column)} as ${keyColumn(column.name)}`,
  )
  const inOrder = order.columns.map(({ name }) => `${keyColumn(name)}${directionOf(order)}`)
  return `select l.revision, l.last_recorded_at, c.timezone, c.zone_changed, c.tableoid as tables, c.erased_at, null as record, ${noKeys.join(', ')}
    from ledgers l
    join companies c on c.company_id = l.company_id
    where l.company_id = $1
    union all
    select null, null, null, null, null, null, p.*
    from (${(order.isSorted ? sortedPage : walkedPage)(source, order, wanted.join(' and '))}
    ) p
    order by ${inOrder.join(', ')}`
}

/** The ledger's row, where Postgres has nulls in this order, and those of the records. */
export function readRows(rows: readonly RowBytes[], { descending }: Order, companyId: number): [LedgerRow, RowBytes[]] {
  const row = rows.at(descending ? 0 : -1)
  if (!row) throw new Error(`company ${companyId} is not registered`)
  const column = (position: number) => columnAt(row, position) as Part
  const erasedAt = columnAt(row, 5)
  const ledger = {
    revision: columnOf.bigint(column(0)),
    last_recorded_at: columnOf.timestamptz(column(1)),
    timezone: columnOf.text(column(2)),
    zone_changed: columnOf.boolean(column(3)),
    tables: columnOf.oid(column(4)),
    erased_at: erasedAt && columnOf.timestamptz(erasedAt),
  }
  return [ledger, descending ? rows.slice(1) : rows.slice(0, -1)]
}

const collationOf = ({ collation }: Order['columns'][number]): string => (collation ? ` collate "${collation}"` : '')
const directionOf = ({ descending }: Order): string => (descending ? ' desc' : '')
const keysOf = ({ columns }: Order): string =>
  columns.map((column) => `t.${column.name}${collationOf(column)} as ${keyColumn(column.name)}`).join(', ')
const sortedBy = (order: Order): string =>
  order.columns.map((column) => `t.${column.name}${collationOf(column)}${directionOf(order)}`).join(', ')

/** The records of a page by walking an index. */
const walkedPage = (source: Source, order: Order, wanted: string): string => `
      select ${recordOf(source)} as record, ${keysOf(order)}
      from ${source.from}
      where ${wanted}
      order by ${sortedBy(order)}
      limit (select $2::bigint + 1)`

/** The same where all keys have to be sorted: sorted with their records, 50,000 items would take six times as long. */
const sortedPage = (source: Source, order: Order, wanted: string): string => `
      select (select ${recordOf(source)} from ${source.from} where t.company_id = $1 and t.id = k.${keyColumn('id')}) as record, k.*
      from (
        select ${keysOf(order)}
        from ${source.from}
        where ${wanted}
        order by ${sortedBy(order)}
        limit (select $2::bigint + 1)
      ) k`

/** A page after a cursor needs no lower bound: the cursor's key lies beyond it, and with both the index would be entered at the bound. */
function begin({ columns, descending }: Order, start: Start, next: number): string[] {
  const [first] = columns
  if (start === 'first' || !first) return []
  if (start === 'since') return [`t.${first.name} >= $${next}::${first.type}`]
  const names = columns.map((column) => `t.${column.name}${collationOf(column)}`)
  const values = columns.map(({ type }, position) => `$${next + position}::${type}`)
  return [`(${names.join(', ')}) ${descending ? '<' : '>'} (${values.join(', ')})`]
}
