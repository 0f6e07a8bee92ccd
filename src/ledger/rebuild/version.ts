import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { IncompatibleVersion } from '#lib/other-version.ts'
import { MIGRATE_HINT } from '#postgres/migrate.ts'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'

/** Where the tables of an older version are kept for the processes that still read them. */
export const schemaOfFormer = (number: number): string => `${READ_SCHEMA}_${number}`

/**
 * Where a process looks for its tables. The live ones are in the second schema; when a newer version replaces them, it puts
 * them into the first, in the same transaction, so that an older process goes on reading what it understands (OPS-37).
 */
export const readSchemasOf = ({ number }: Pick<ReadModel, 'number'>): readonly string[] => [
  schemaOfFormer(number),
  READ_SCHEMA,
]

/** What the live tables are of. */
export interface TablesVersion {
  readonly version: string
  readonly number: number
  /** Whether a process of that version serves them. */
  readonly isServed: boolean
}

const READ_VERSION = {
  name: 'read_model_version',
  text: 'select version, number, served_at is not null as "isServed" from ops.read_model',
}

/** Null where there never were tables. */
export async function versionOfTables(pool: Pool): Promise<TablesVersion | null> {
  const { rows } = await pool.query<TablesVersion>(READ_VERSION)
  return rows[0] ?? null
}

/** Whether the tables are there and belong to the read model. @throws IncompatibleVersion when a newer version has made them. */
export async function isCompatible(pool: Pool, model: ReadModel): Promise<boolean> {
  const found = await versionOfTables(pool)
  assertNotNewer(found, model)
  if (found?.version !== model.version) return false
  const { rowCount } = await pool.query('select from pg_namespace where nspname = $1', [READ_SCHEMA])
  return rowCount === 1
}

function assertNotNewer(found: Pick<TablesVersion, 'number'> | null, { number }: ReadModel): void {
  if (found === null || found.number <= number) return
  throw new IncompatibleVersion(
    `The tables were made by a newer version of this program (number ${found.number}, and this one makes ${number}): start that version.`,
  )
}

/** Before anything is done to a database, whatever migrations it has. @throws IncompatibleVersion when a newer version has made its tables. */
export async function assertNotOlder(pool: Pool, model: ReadModel): Promise<void> {
  const { rowCount } = await pool.query(`select where to_regclass('ops.read_model') is not null`)
  if (rowCount === 1) assertNotNewer(await versionOfTables(pool), model)
}

/** @throws IncompatibleVersion where there are tables, but of another version: they are replaced when somebody asks for it. */
export async function assertCompatible(pool: Pool, model: ReadModel): Promise<void> {
  if (!(await isCompatible(pool, model))) throw new IncompatibleVersion(MIGRATE_HINT)
}

/** How often a process looks whether it is older than the tables by now. */
const LOOK_MS = 200
/** Writes of a newer version wait for so long after it began to serve: by then all older ones have stopped reading. */
const NOTICED_MS = 500

interface Watching {
  /** The tables are another version's. */
  readonly onReplaced: () => void
  /** A process of that version serves. */
  readonly onServed: () => void
  readonly onError: (error: unknown) => void
}

/** Looks for as long as the process lives whether its tables were replaced, and whether their successors are served. */
export function watchVersion(pool: Pool, model: ReadModel, { onReplaced, onServed, onError }: Watching): Repetition {
  return repeat(
    async () => {
      const found = await versionOfTables(pool)
      if (found === null || found.version === model.version) return
      onReplaced()
      if (found.isServed) onServed()
    },
    LOOK_MS,
    onError,
  )
}

/** Says that this version is served from now on. Returns for how long its writes have to wait, in milliseconds. */
export async function announceVersion(pool: Pool, { version }: ReadModel): Promise<number> {
  const { rows } = await pool.query<{ served_ms: number }>(
    `update ops.read_model set served_at = coalesce(served_at, clock_timestamp()) where version = $1
     returning (extract(epoch from clock_timestamp() - served_at) * 1000)::float8 as served_ms`,
    [version],
  )
  return Math.max(0, NOTICED_MS - (rows[0]?.served_ms ?? 0))
}

/** Processes of the version before have ended by then, or hang. */
const FORMER_KEPT_MINUTES = 10

/**
 * Empties what was kept for processes of older versions. Tables without columns stay, so that one that hung all the while
 * fails rather than finds the tables of now. Returns how many tables were emptied.
 */
export async function purgeFormer(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ schema: string; tables: string[] }>(
    `select n.nspname as schema, array_agg(distinct c.relname::text) as tables
     from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind = 'r' join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where n.nspname ~ '^${READ_SCHEMA}_[0-9]+$'
       and exists (select from ops.read_model where since < now() - make_interval(mins => $1))
     group by n.nspname`,
    [FORMER_KEPT_MINUTES],
  )
  for (const { schema, tables } of rows) {
    const empty = tables.map((table) => `create table ${schema}.${table} ()`)
    // In one text, and so in one transaction.
    await pool.query([`drop schema ${schema} cascade`, `create schema ${schema}`, ...empty].join(';\n'))
  }
  return rows.reduce((sum, { tables }) => sum + tables.length, 0)
}
