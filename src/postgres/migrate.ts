import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import type { Client, Pool } from 'pg'
import { IncompatibleVersion, UnsupportedPostgres } from '#lib/errors.ts'
import { projectRoot } from '#lib/own-program.ts'
import { createClient } from './pool.ts'
import { assignPrivileges, isDenied, loadCurrentRole, statementsFor } from './privileges.ts'
import { LOCK_TIMEOUT_MS, retryOnLockTimeout } from './transaction.ts'

const SCHEMA = 'ops'
const TABLE = 'migrations'
/** Advisory lock: of two processes that start together, the second one waits and then has nothing to do. */
const MIGRATION_LOCK = 8_314_159_266

interface Options {
  /** Numbered .sql files; the service's own by default. */
  readonly folder?: string
  /** False: only an empty database is set up. */
  readonly upgrades?: boolean
  /** The service's role if it differs from the migrating role; it is granted the required privileges. */
  readonly service?: string | null
  readonly log?: (line: string) => void
}

/** Hint for a database that is outdated and was not to be migrated. */
export const MIGRATE_HINT =
  'The database is of an older version of this program: start the service of this version, or run "tillbook projections rebuild", and repeat.'

/**
 * Applies all new numbered .sql files to the operational schema in one transaction. It checks first: if nothing is to
 * do, nothing is locked. @throws IncompatibleVersion if the database has a migration that is unknown here, because an
 * older program cannot keep the invariants of a newer one; and if migrations are pending but were not requested.
 * @throws UnsupportedPostgres if the role of `url` lacks privileges.
 */
export async function migrate(url: string, options: Options = {}): Promise<void> {
  const folder = options.folder ?? join(projectRoot(), 'src', 'postgres', 'migrations')
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`))
  const client = createClient(url, { application_name: 'tillbook migrations' })
  // A connection lost between statements fails the next statement.
  client.on('error', () => {})
  await client.connect()
  try {
    // Roles that may create schemas could shadow the intended names.
    await client.query('set search_path = pg_catalog, pg_temp')
    await bringUp(client, { ...options, folder, log })
  } catch (error) {
    throw isDenied(error) ? new UnsupportedPostgres(`${(error as Error).message}: ${NOT_OWNER}`) : error
  } finally {
    await client.end()
  }
}

interface Roles {
  /** Pool of the service's role. */
  readonly pool: Pool
  readonly databaseUrl: string
  /** URL of the owner; without it the service's role must be the owner. */
  readonly ownerUrl: string | undefined
}

/** Migrates, and grants the service's role its privileges if it is not the owner. @throws as `migrate` */
export async function migrateAsOwner({ pool, databaseUrl, ownerUrl }: Roles, options: Options = {}): Promise<void> {
  if (ownerUrl === undefined) return migrate(databaseUrl, options)
  await migrate(ownerUrl, { ...options, service: await loadCurrentRole(pool) })
}

const NOT_OWNER =
  'the role of DATABASE_URL may not set the database up. Call "tillbook database prepare" with DATABASE_OWNER_URL'

async function bringUp(
  client: Client,
  { folder, log, upgrades, service = null }: Options & Required<Pick<Options, 'folder' | 'log'>>,
): Promise<void> {
  const { isNew, isCurrent } = await look(client, folder)
  if (!isNew && !isCurrent && upgrades === false) throw new IncompatibleVersion(MIGRATE_HINT)
  const isServable = async () => service === null || (await statementsFor(client, service)).length === 0
  if (isCurrent && (await isServable())) return
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
  const { isCurrent: isDone } = await look(client, folder)
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
  const patience = { client, what: 'migrations', tell: log }
  const applied = isDone ? [] : await retryOnLockTimeout(patience, () => apply(client, folder, log))
  for (const name of applied) log(`migrations: ${name} applied`)
  if (service !== null) await retryOnLockTimeout(patience, () => assignPrivileges(client, service))
}

/** The library is loaded only if there is something to migrate. */
async function apply(client: Client, folder: string, log: (line: string) => void): Promise<string[]> {
  const { runMigrations } = await import('./run-migrations.ts')
  return runMigrations(client, { folder, schema: SCHEMA, table: TABLE, log })
}

interface Look {
  /** No migration was ever applied. */
  readonly isNew: boolean
  readonly isCurrent: boolean
}

async function look(client: Client, folder: string): Promise<Look> {
  const known = new Set((await readdir(folder)).map((file) => parse(file).name))
  const table = await client.query<{ name: string | null }>('select to_regclass($1) as name', [`${SCHEMA}.${TABLE}`])
  if (!table.rows[0]?.name) return { isNew: true, isCurrent: false }
  const { rows } = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE} order by id`)
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw new IncompatibleVersion(
      `The database was set up by a newer version of this program, which applied ${unknown.join(', ')}: start that version.`,
    )
  return { isNew: rows.length === 0, isCurrent: rows.length === known.size }
}
