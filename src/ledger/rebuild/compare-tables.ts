import type { PoolClient } from 'pg'
import { READ_SCHEMA, type ReadModel, type Rollup } from '../projection.ts'
import { arrayValues, type ColumnValues } from '../row-values.ts'
import { type AnyTable, arrayParameters, type ColumnType, pastColumns } from '../table.ts'

/**
 * Compares the tables of a read model in two schemas of one database: all companies by content, or one company row by
 * row. The caller's transaction holds one snapshot. Memory does not grow with the tables.
 */

/** Content of a table: number of rows, and a digest of all values that ignores the order of rows. */
interface TableContent {
  readonly rows: number
  readonly digest: string
}

/** One table, as served and as rebuilt. */
export interface TableParity {
  readonly table: string
  readonly live: TableContent
  readonly rebuilt: TableContent
  readonly equal: boolean
}

/** A row that deviates from the ledger, without its values: they may be personal. */
export interface RowDifference {
  readonly table: string
  /** The primary key without the company. */
  readonly key: Readonly<Record<string, string | number>>
  /** `missing`: the ledger produces a row that is absent. `unknown`: no event produces the row. */
  readonly found: 'missing' | 'unknown' | 'changed'
  /** Columns that differ; for documents the members (`doc.price`). Empty unless `changed`. */
  readonly fields: readonly string[]
}

/** Reported differences per table: the first ones show what happened. */
const ROWS_TOLD = 20

/** Documents are compared as text, because JSON has neither an equality nor a hash function in Postgres. */
function columnsOf({ columns }: AnyTable): {
  readonly plain: readonly string[]
  readonly documents: readonly string[]
} {
  const all = Object.entries(columns) as [string, ColumnType][]
  const named = (isDocument: boolean) => all.flatMap(([name, type]) => ((type === 'json') === isDocument ? [name] : []))
  return { plain: named(false), documents: named(true) }
}

/** Compares all rows of all companies by content. Rollups are left out: they lag behind and are refreshed later. */
export async function compareContents(
  snapshot: PoolClient,
  { projections }: ReadModel,
  { live, rebuilt }: { readonly live: string; readonly rebuilt: string },
): Promise<TableParity[]> {
  const parity: TableParity[] = []
  for (const table of projections.flatMap(({ tables, grown }) => (grown ? [] : tables))) {
    const [a, b] = [await contentOf(snapshot, live, table), await contentOf(snapshot, rebuilt, table)]
    parity.push({ table: table.name, live: a, rebuilt: b, equal: a.rows === b.rows && a.digest === b.digest })
  }
  return parity
}

async function contentOf(snapshot: PoolClient, schema: string, table: AnyTable): Promise<TableContent> {
  const { rows } = await snapshot.query<TableContent>(
    `select count(*) as rows, coalesce(sum(${digestOf(table)}::numeric), 0)::text as digest from ${schema}.${table.name}`,
  )
  return rows[0] as TableContent
}

/** Digest of one row; the digest of the row's text would cost more than twice as much. */
function digestOf(table: AnyTable): string {
  const { plain, documents } = columnsOf(table)
  return documents.reduce(
    (seed, name) => `hashtextextended(coalesce(${name}::text, ''), ${seed})`,
    `hash_record_extended(row(${plain.join(', ')}), 0)`,
  )
}

/**
 * Compares the live rows of a company with those replayed into another schema, and rollups with their source tables.
 * Returns the first ROWS_TOLD differences of each table.
 */
export async function compareRows(
  snapshot: PoolClient,
  { projections }: ReadModel,
  companyId: number,
  replayedSchema: string,
): Promise<RowDifference[]> {
  const differences: RowDifference[] = []
  for (const { tables, grown } of projections) {
    if (grown) differences.push(...(await differencesOfRollup(snapshot, grown, companyId)))
    else
      for (const table of tables) differences.push(...(await differencesOf(snapshot, table, companyId, replayedSchema)))
  }
  return differences
}

async function differencesOfRollup(snapshot: PoolClient, grown: Rollup, companyId: number): Promise<RowDifference[]> {
  const { rows } = await snapshot.query<RowDifference>(grown.differences(READ_SCHEMA), [companyId, ROWS_TOLD])
  return rows
}

interface DifferingRow {
  readonly is_live: boolean
  readonly is_replayed: boolean
  readonly fields: readonly string[]
  readonly documents: readonly (readonly [name: string, live: string | null, replayed: string | null])[]
  readonly key: Readonly<Record<string, string | number>>
}

async function differencesOf(
  snapshot: PoolClient,
  table: AnyTable,
  companyId: number,
  replayedSchema: string,
): Promise<RowDifference[]> {
  const live = `(select true as there, * from ${READ_SCHEMA}.${table.name} where company_id = $1)`
  const replayed = `(select true as there, * from ${replayedSchema}.${table.name})`
  const text = `${comparisonOf(table, live, replayed)} limit $2`
  const { rows } = await snapshot.query<DifferingRow>(text, [companyId, ROWS_TOLD])
  return rows.map(({ is_live, is_replayed, fields, documents, key }) => {
    if (!is_live || !is_replayed) return { table: table.name, key, found: is_live ? 'unknown' : 'missing', fields: [] }
    const members = documents.flatMap(([name, live, replayed]) => membersThatDiffer(name, live, replayed))
    return { table: table.name, key, found: 'changed', fields: [...fields, ...members] }
  })
}

/** Rows that are on one side only, or differ; both sides are ordered by the primary key. */
function comparisonOf(table: AnyTable, live: string, replayed: string): string {
  const pk = table.keys.pk as readonly string[]
  const { plain, documents } = columnsOf(table)
  const others = plain.filter((column) => !pk.includes(column))
  const differ = (column: string) => `live.${column} is distinct from replayed.${column}`
  const differAsText = (column: string) => `live.${column}::text is distinct from replayed.${column}::text`
  const fields = others.map((column) => `case when ${differ(column)} then '${column}' end`)
  const texts = documents.map(
    (column) =>
      `case when ${differAsText(column)} then json_build_array('${column}', live.${column}::text, replayed.${column}::text) end`,
  )
  const isOther = [...others.map(differ), ...documents.map(differAsText)]
  const key = pk.filter((column) => column !== 'company_id').flatMap((column) => [`'${column}'`, column])
  return `
    select live.there is not null as is_live, replayed.there is not null as is_replayed,
      array_remove(array[${fields.join(', ')}]::text[], null) as fields,
      to_json(array_remove(array[${texts.map((text) => `(${text})::text`).join(', ')}]::text[], null)::json[]) as documents,
      json_build_object(${key.join(', ')}) as key
    from ${live} as live full join ${replayed} as replayed using (${pk.join(', ')})
    where live.there is null or replayed.there is null${isOther.map((each) => ` or ${each}`).join('')}`
}

/** Where new events begin. */
export interface Since {
  readonly companyId: number
  /** The last revision before them. */
  readonly revision: number
  /** The least of their times (UTC). */
  readonly from: string
}

/**
 * Whether a table with past states differs from the rows that new events make: a row of them is absent or other, or a
 * live row says that it is of these events and is not among them. Columns that past states lack are left out.
 */
export async function differsSince(
  snapshot: PoolClient,
  whole: AnyTable,
  { companyId, revision, from }: Since,
  rows: ColumnValues[],
): Promise<boolean> {
  const table: AnyTable = { ...whole, columns: pastColumns(whole) }
  const found = await snapshot.query({
    name: `differs_since_${table.name}`,
    text: differenceSince(table),
    values: [companyId, revision, from, ...arrayValues(table, rows)],
  })
  return found.rows.length > 0
}

/** Finds the rows of the new events by an index; without one in tables that stay small. */
function rangeOf({ keys, columns, indexes }: AnyTable): string {
  const isLater = 't.revision > $2'
  if (keys.pk.join() === 'company_id,revision') return isLater
  // Grows with sales, and has no index of changes.
  if (!('changed_at' in columns)) return 'false'
  const hasIndex = indexes.some((index) => index.startsWith('(company_id, changed_at, revision'))
  return hasIndex ? `${isLater} and t.changed_at >= $3` : isLater
}

/** Not every range uses all parameters: the first expression gives them their types. */
function differenceSince(table: AnyTable): string {
  const names = Object.keys(table.columns)
  const own = names.map((name) => `t.${name}`).join(', ')
  const range = rangeOf(table)
  const same = table.keys.pk.map((column) => `t.${String(column)} = r.${String(column)}`).join(' and ')
  return `
    with parameters as (select $1::bigint, $2::bigint, $3::timestamptz),
    replayed as materialized (select true as there, r.* from unnest(${arrayParameters(table, 4)}) as r(${names.join(', ')})),
    live as materialized (
      select true as there, ${own} from ${READ_SCHEMA}.${table.name} t where t.company_id = $1 and ${range}
      union all
      select true, ${own} from replayed r join ${READ_SCHEMA}.${table.name} t on t.company_id = $1 and ${same} where not (${range}))
    ${comparisonOf(table, 'live', 'replayed')} limit 1`
}

/**
 * Members of a document that differ; the whole document if no single member does, for example if only their order
 * differs.
 */
function membersThatDiffer(column: string, live: string | null, replayed: string | null): string[] {
  const [a, b] = [membersOf(live), membersOf(replayed)]
  if (!a || !b) return [column]
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  const differing = names.filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]))
  return differing.length > 0 ? differing.map((name) => `${column}.${name}`) : [column]
}

function membersOf(text: string | null): Record<string, unknown> | null {
  const value: unknown = text === null ? null : JSON.parse(text)
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
}
