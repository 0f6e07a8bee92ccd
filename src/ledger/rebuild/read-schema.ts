import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import type { Projection, ReadModel } from '../projection.ts'
import { ddlOf } from '../table.ts'
import { type RebuildOptions, type RebuildReport, rebuild } from './rebuild.ts'
import { READ_SCHEMA } from './schemas.ts'

/** The version of a read model: its tables' DDL and a number that grows when a projection's meaning changes. */
export function versionOf(projections: readonly Projection[], meaning: number): string {
  const ddl = projections.flatMap((projection) => projection.tables.map((table) => ddlOf(table, READ_SCHEMA)))
  return `${meaning}-${createHash('sha256').update(ddl.join('\n')).digest('hex').slice(0, 12)}`
}

/** Whether the tables are there and belong to the read model. */
async function fits(pool: Pool, { version }: ReadModel): Promise<boolean> {
  const { rows } = await pool.query(
    'select 1 from ops.read_model where version = $1 and exists (select from pg_namespace where nspname = $2)',
    [version, READ_SCHEMA],
  )
  return rows.length > 0
}

/**
 * Makes the tables fit the projections before anything is served: creates them in an empty database, and replays all
 * ledgers when they belong to another version. Of processes that start together, one does it. Null when nothing was to do.
 */
export async function ensureReadModel(options: RebuildOptions): Promise<RebuildReport | null> {
  if (await fits(options.pool, options.model)) return null
  return rebuild(options, () => fits(options.pool, options.model))
}
