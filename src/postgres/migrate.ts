import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { OtherVersion } from '#lib/other-version.ts'
import { projectRoot } from '#lib/project-root.ts'
import { isInTheWay, LOCK_TIMEOUT_MS, patiently } from './patience.ts'

const SCHEMA = 'ops'
const TABLE = 'migrations'
/** Advisory lock: of two processes that start at once, the second waits and then finds nothing left to do. */
const MIGRATION_LOCK = 8_314_159_266

interface Options {
  /** Numbered .sql files; the service's own by default. */
  readonly folder?: string
  /** False: only a database that has nothing yet is set up. */
  readonly upgrades?: boolean
  readonly log?: (line: string) => void
}

/** What to do where a database is behind and was not to be brought up to date. */
export const BRING_UP =
  'The database is of an older version of this program: start the service of this version, or run "tillbook projections rebuild", and repeat.'

/**
 * Brings the operational schema to the newest numbered .sql file, all files in one transaction. It looks first: where there is
 * nothing to do, nothing is locked. @throws OtherVersion for a database that has seen a migration which is unknown here, since
 * an older program could not keep what the newer one relies on; and where there is something to do that was not asked for.
 */
export async function migrate(url: string, options: Options = {}): Promise<void> {
  const folder = options.folder ?? join(projectRoot(), 'src', 'postgres', 'migrations')
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`))
  const client = new pg.Client({ connectionString: url, application_name: 'tillbook migrations' })
  await client.connect()
  try {
    const { isNew, isCurrent } = await look(client, folder)
    if (isCurrent) return
    if (!isNew && options.upgrades === false) throw new OtherVersion(BRING_UP)
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await look(client, folder)
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
    const applied = await patiently({ client, what: 'the migration', tell: log }, () => apply(client, folder, log))
    for (const name of applied) log(`migration ${name} applied`)
  } finally {
    await client.end()
  }
}

/** Names of the files that were applied, all or none. What was only in the way is not complained about: it is tried again. */
async function apply(client: pg.Client, folder: string, log: (line: string) => void): Promise<string[]> {
  const complaints: string[] = []
  try {
    const applied = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsSchema: SCHEMA,
      createMigrationsSchema: true,
      migrationsTable: TABLE,
      singleTransaction: true,
      noLock: true,
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: (line: string) => complaints.push(line) },
    })
    return applied.map(({ name }) => name)
  } catch (error) {
    if (!isInTheWay(error)) for (const line of complaints) log(line)
    throw error
  }
}

interface Look {
  /** Nothing was ever applied. */
  readonly isNew: boolean
  readonly isCurrent: boolean
}

async function look(client: pg.Client, folder: string): Promise<Look> {
  const known = new Set((await readdir(folder)).map((file) => parse(file).name))
  const table = await client.query<{ name: string | null }>('select to_regclass($1) as name', [`${SCHEMA}.${TABLE}`])
  if (!table.rows[0]?.name) return { isNew: true, isCurrent: false }
  const { rows } = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE} order by id`)
  const unknown = rows.map(({ name }) => name).filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw new OtherVersion(
      `The database was set up by a newer version of this program, which applied ${unknown.join(', ')}: start that version.`,
    )
  return { isNew: rows.length === 0, isCurrent: rows.length === known.size }
}
