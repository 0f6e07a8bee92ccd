import type { Pool } from 'pg'
import { type Repetition, repeat } from '#lib/background-loops.ts'
import { IncompatibleVersion } from '#lib/errors.ts'
import { MIGRATE_HINT } from '#postgres/migrate.ts'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'

/** Schema of an older version's tables, kept for processes that still read them. */
export const schemaOfFormer = (number: number): string => `${READ_SCHEMA}_${number}`

/**
 * Schemas in which a process looks up its tables. The live ones are in the second schema. A newer version that replaces
 * them moves them into the first one in the same transaction, so that older processes go on reading tables that they
 * understand.
 */
export const listReadSchemas = ({ number }: Pick<ReadModel, 'number'>): readonly string[] => [
  schemaOfFormer(number),
  READ_SCHEMA,
]

/** Version of the live tables. */
export interface TablesVersion {
  readonly version: string
  readonly number: number
  /** Whether a process of that version serves requests. */
  readonly isServed: boolean
}

const READ_VERSION = {
  name: 'read_model_version',
  text: 'select version, number, served_at is not null as "isServed" from ops.read_model',
}

/** Null if there never were tables. */
export async function versionOfTables(pool: Pool): Promise<TablesVersion | null> {
  const { rows } = await pool.query<TablesVersion>(READ_VERSION)
  return rows[0] ?? null
}

/**
 * Whether the tables exist and belong to the read model. @throws IncompatibleVersion if they belong to a newer version.
 */
export async function isCompatible(pool: Pool, model: ReadModel): Promise<boolean> {
  const found = await versionOfTables(pool)
  assertNotNewer(found, model)
  return found?.version === model.version && hasReadSchema(pool)
}

async function hasReadSchema(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query('select from pg_namespace where nspname = $1', [READ_SCHEMA])
  return rowCount === 1
}

function assertNotNewer(found: Pick<TablesVersion, 'number'> | null, { number }: Pick<ReadModel, 'number'>): void {
  if (found === null || found.number <= number) return
  throw new IncompatibleVersion(
    `The tables were made by a newer version of this program (number ${found.number}, and this one makes ${number}): start that version.`,
  )
}

/**
 * Runs before any change of a database, whatever its migrations. @throws IncompatibleVersion if its tables belong to a
 * newer version.
 */
export async function assertNotOlder(pool: Pool, model: Pick<ReadModel, 'number'>): Promise<void> {
  const { rowCount } = await pool.query(IS_SET_UP)
  if (rowCount === 1) assertNotNewer(await versionOfTables(pool), model)
}

const IS_SET_UP = `select where to_regclass('ops.read_model') is not null`

/** Whether the tables were ever made, in a database of any version. */
export async function hasTables(pool: Pool): Promise<boolean> {
  const { rowCount } = await pool.query(IS_SET_UP)
  return rowCount === 1 && (await versionOfTables(pool)) !== null
}

/** @throws IncompatibleVersion if the tables belong to another version: they are replaced only on request. */
export async function assertCompatible(pool: Pool, model: ReadModel): Promise<void> {
  if (!(await isCompatible(pool, model))) throw new IncompatibleVersion(MIGRATE_HINT)
}

/**
 * The same for a process that only reads, by the number alone: no other number's tables have these columns and
 * documents. @throws IncompatibleVersion
 */
export async function assertReadable(pool: Pool, model: Pick<ReadModel, 'number'>): Promise<void> {
  const found = await versionOfTables(pool)
  assertNotNewer(found, model)
  if (found?.number !== model.number || !(await hasReadSchema(pool))) throw new IncompatibleVersion(MIGRATE_HINT)
}

/** Interval between checks whether the tables belong to a newer version. */
const LOOK_MS = 200
/**
 * Delay before the writes of a newer version after it began to serve: by then all older processes have stopped reading.
 */
const NOTICED_MS = 500

interface Watching {
  /** Called when the tables belong to another version. */
  readonly onReplaced: () => void
  /** Called when a process of that version serves. */
  readonly onServed: () => void
  readonly onError: (error: unknown) => void
}

/** Checks until stopped whether the tables were replaced, and whether a process serves the new ones. */
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

/** Records that this version is served from now on. Returns the delay before its first write, in ms. */
export async function announceVersion(pool: Pool, { version }: ReadModel): Promise<number> {
  const { rows } = await pool.query<{ served_ms: number }>(
    `update ops.read_model set served_at = coalesce(served_at, clock_timestamp()) where version = $1
     returning (extract(epoch from clock_timestamp() - served_at) * 1000)::float8 as served_ms`,
    [version],
  )
  return Math.max(0, NOTICED_MS - (rows[0]?.served_ms ?? 0))
}

/** By then processes of the former version have ended, or hang. */
const FORMER_KEPT_MINUTES = 10

/**
 * Empties the tables kept for processes of older versions. Tables without columns stay, so that a process that hung
 * fails instead of reading the current tables. Returns the number of emptied tables. Not a rule of retention, because
 * the tables change, not their rows.
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
    // One text and so one transaction.
    await pool.query([`drop schema ${schema} cascade`, `create schema ${schema}`, ...empty].join(';\n'))
  }
  return rows.reduce((sum, { tables }) => sum + tables.length, 0)
}
