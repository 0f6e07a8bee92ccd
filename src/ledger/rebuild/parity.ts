import type { PoolClient } from 'pg'
import type { ReadModel } from '../projection.ts'
import type { AnyTable, ColumnType } from '../table.ts'

/** What a table holds: the number of its rows, and a digest of all their values, whatever their order. */
interface TableContent {
  readonly rows: number
  readonly digest: string
}

/** One table, as it was served and as it was rebuilt. */
export interface TableParity {
  readonly table: string
  readonly live: TableContent
  readonly rebuilt: TableContent
  readonly equal: boolean
}

/** Compares all tables of a read model in two schemas, as one snapshot sees them. Memory does not grow with the tables. */
export async function compareSchemas(
  snapshot: PoolClient,
  { projections }: ReadModel,
  { live, rebuilt }: { readonly live: string; readonly rebuilt: string },
): Promise<TableParity[]> {
  const parity: TableParity[] = []
  for (const table of projections.flatMap(({ tables }) => tables)) {
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

/** Digest of one row; that of a row's text would cost more than twice as much. JSON has no digest of its own, so its text has. */
function digestOf({ columns }: AnyTable): string {
  const all = Object.entries(columns) as [string, ColumnType][]
  const plain = all.filter(([, type]) => type !== 'json').map(([name]) => name)
  const json = all.filter(([, type]) => type === 'json').map(([name]) => name)
  return json.reduce(
    (seed, name) => `hashtextextended(coalesce(${name}::text, ''), ${seed})`,
    `hash_record_extended(row(${plain.join(', ')}), 0)`,
  )
}
