import { runner } from 'node-pg-migrate'
import type { Client } from 'pg'
import { isLockConflict } from './transaction.ts'

interface Migrations {
  /** Numbered .sql files. */
  readonly folder: string
  /** Where the names of the applied ones are kept. */
  readonly schema: string
  readonly table: string
  readonly log: (line: string) => void
}

/**
 * Returns the names of the applied files, all or none. Lock conflicts are not reported as errors, because the caller
 * retries.
 */
export async function runMigrations(client: Client, { folder, schema, table, log }: Migrations): Promise<string[]> {
  const complaints: string[] = []
  try {
    const applied = await runner({
      dbClient: client,
      dir: folder,
      direction: 'up',
      migrationsSchema: schema,
      createMigrationsSchema: true,
      migrationsTable: table,
      singleTransaction: true,
      noLock: true,
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: (line: string) => complaints.push(line) },
    })
    return applied.map(({ name }) => name)
  } catch (error) {
    if (!isLockConflict(error)) for (const line of complaints) log(line)
    throw error
  }
}
