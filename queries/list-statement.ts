/** Types of the columns that lists go by. */
type KeyType = 'bigint' | 'timestamptz' | 'date' | 'uuid' | 'text'

/** In which order records are listed, and so what a cursor holds. The first column may have a lower bound. */
export interface Order {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: KeyType }[]
  /** The last first. */
  readonly descending?: true
  /**
   * There is no index for it: all keys are sorted, and only the records of the page are read. Its columns have the record's `id`
   * among them.
   */
  readonly isSorted?: true
}

/** Where records of one resource are found. `t` is the listed table. */
export interface Source {
  /** Of cursors and prepared statements. */
  readonly resource: string
  readonly from: string
  /** SQL of a record's JSON text; where it depends on the company's day, with the placeholder of that date. */
  readonly record: string | ((today: string) => string)
  /** SQL of what all listed records have in common. */
  readonly where?: string
  /** Makes the API's object of a record, where SQL cannot: times on the company's clock. */
  present?(record: unknown, timezone: string): object
}

/** Conditions by name, as SQL with a placeholder for the value; those of a source that depends on the day get that one too. */
export type Conditions = Readonly<Record<string, (parameter: string, today: string) => string>>

/** Whether a source depends on the company's day, which is then a parameter of its statements: $3, after two of their own. */
export const isDaily = ({ record }: Source): boolean => typeof record === 'function'
export const TODAY = '$3::date'

/** SQL of a record's JSON text. */
export const recordOf = ({ record }: Source): string => (typeof record === 'function' ? record(TODAY) : record)

/** Where a page begins: at the first record, at a lower bound (inclusive), or after the last key of the page before. */
export type Start = 'first' | 'since' | 'after'

/** Column of the last listed record's key, in the answer of a list statement. */
export const lastColumn = (name: string): string => `last_${name}`

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
 * One row, also for an empty page: the ledger's position and the page in one snapshot. A record more than the limit is
 * looked for, to know whether there are more; it is not in `data`.
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
  const direction = order.descending ? ' desc' : ''
  const sorted = order.columns.map(({ name }) => `t.${name}${direction}`).join(', ')
  // There is no greatest uuid before PostgreSQL 18; of the one row that is left, its text is as good.
  const last = order.columns.map(
    ({ name, type }) =>
      `max(r.${name}${type === 'uuid' ? '::text' : ''}) filter (where r.position = $2) as ${lastColumn(name)}`,
  )
  return `select l.revision, l.last_recorded_at, c.timezone, p.*
    from ledgers l
    join companies c on c.company_id = l.company_id
    cross join (
      select count(*) as found,
             string_agg(r.record, ',' order by ${sorted.replaceAll('t.', 'r.')}) filter (where r.position <= $2) as data,
             ${last.join(', ')}
      from (${(order.isSorted ? keysFirst : inOneGo)(source, order, wanted.join(' and '), sorted)}
      ) r
    ) p
    where l.company_id = $1`
}

/** The records of a page, where an index has the order. */
const inOneGo = (source: Source, { columns }: Order, wanted: string, sorted: string): string => `
        select ${columns.map(({ name }) => `t.${name}`).join(', ')}, ${recordOf(source)} as record, row_number() over (order by ${sorted}) as position
        from ${source.from}
        where ${wanted}
        order by ${sorted}
        limit $2::bigint + 1`

/** The same where all keys have to be sorted: 50,000 items by name take 25 ms, and 150 ms when their records are sorted with them. */
const keysFirst = (source: Source, { columns }: Order, wanted: string, sorted: string): string => `
        select k.*, row_number() over (order by ${sorted.replaceAll('t.', 'k.')}) as position,
               (select ${recordOf(source)} from ${source.from} where t.company_id = $1 and t.id = k.id) as record
        from (
          select ${columns.map(({ name }) => `t.${name}`).join(', ')}
          from ${source.from}
          where ${wanted}
          order by ${sorted}
          limit $2::bigint + 1
        ) k`

/** A page after a cursor needs no lower bound: the cursor's key is beyond it, and the index would be entered at the bound. */
function begin({ columns, descending }: Order, start: Start, next: number): string[] {
  const [first] = columns
  if (start === 'first' || !first) return []
  if (start === 'since') return [`t.${first.name} >= $${next}::${first.type}`]
  const names = columns.map(({ name }) => `t.${name}`)
  const values = columns.map(({ type }, position) => `$${next + position}::${type}`)
  return [`(${names.join(', ')}) ${descending ? '<' : '>'} (${values.join(', ')})`]
}
