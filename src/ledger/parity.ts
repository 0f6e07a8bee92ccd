import type { PoolClient } from 'pg'
import type { ReadModel } from './projection.ts'

/** What a table holds: the number of its rows, and a digest of all their text, whatever their order. */
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
  for (const { name } of projections.flatMap(({ tables }) => tables)) {
    const [a, b] = [await contentOf(snapshot, live, name), await contentOf(snapshot, rebuilt, name)]
    parity.push({ table: name, live: a, rebuilt: b, equal: a.rows === b.rows && a.digest === b.digest })
  }
  return parity
}

async function contentOf(snapshot: PoolClient, schema: string, table: string): Promise<TableContent> {
  const { rows } = await snapshot.query<TableContent>(
    `select count(*) as rows, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text as digest from ${schema}.${table} t`,
  )
  return rows[0] as TableContent
}
