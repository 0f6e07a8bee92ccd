import { readdir } from 'node:fs/promises'
import { join, parse } from 'node:path'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import { projectRoot } from '#lib/project-root.ts'

const SCHEMA = 'ops'
const TABLE = 'migrations'
/** Advisory lock: of two processes that start at once, the second waits and then finds nothing left to do. */
const MIGRATION_LOCK = 8_314_159_266

interface Options {
  /** Numbered .sql files; the service's own by default. */
  readonly folder?: string
  readonly log?: (line: string) => void
}

/**
 * Brings the operational schema to the newest numbered .sql file, all files in one transaction. Refuses a database that
 * has seen a migration which is unknown here: an older program could not keep what the newer one relies on.
 */
export async function migrate(url: string, options: Options = {}): Promise<void> {
  const folder = options.folder ?? join(projectRoot(), 'src', 'postgres', 'migrations')
  const log = options.log ?? ((line: string) => process.stderr.write(`${line}\n`))
  const client = new pg.Client({ connectionString: url, application_name: 'tillbook migrations' })
  await client.connect()
  try {
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
    await assertAllKnown(client, folder)
    const applied = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsSchema: SCHEMA,
      createMigrationsSchema: true,
      migrationsTable: TABLE,
      singleTransaction: true,
      noLock: true,
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: log },
    })
    for (const { name } of applied) log(`migration ${name} applied`)
  } finally {
    await client.end()
  }
}

async function assertAllKnown(client: pg.Client, folder: string): Promise<void> {
  const table = await client.query<{ name: string | null }>('select to_regclass($1) as name', [`${SCHEMA}.${TABLE}`])
  if (!table.rows[0]?.name) return
  const known = new Set((await readdir(folder)).map((file) => parse(file).name))
  const applied = await client.query<{ name: string }>(`select name from ${SCHEMA}.${TABLE} order by id`)
  const unknown = applied.rows.map(({ name }) => name).filter((name) => !known.has(name))
  if (unknown.length === 0) return
  throw new Error(
    `The database was set up by a newer version of this program, which applied ${unknown.join(', ')}: start that version.`,
  )
}
