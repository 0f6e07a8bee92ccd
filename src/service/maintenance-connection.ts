import type { Pool } from 'pg'
import { compareChanges, type VerifiedRevision } from '#integrity/table-checks.ts'
import { NEXT_SCHEMA, PARALLEL, type RebuildOptions } from '#ledger/rebuild/build.ts'
import { type TablesVerification, type VerifyTablesOptions, verifyTables } from '#ledger/rebuild/rebuild.ts'
import { runPaced, type WorkPace } from '#lib/background-loops.ts'
import { UnsupportedPostgres } from '#lib/errors.ts'
import { isDenied, ownerOfReadModel } from '#postgres/migrate.ts'
import { type PoolOptions, withPool } from '#postgres/pool.ts'

/** One holds the lock and one a snapshot for the comparison, besides those that replay companies in parallel. */
const BUILD_CONNECTIONS = 2
/** One holds the lock, one reads and writes. */
const OWNER_CONNECTIONS = 2

/** Runs long work on dedicated connections. */
const apart = <T>(url: string, options: PoolOptions, work: (pool: Pool) => Promise<T>): Promise<T> =>
  withPool(url, { pipeline: true, statement_timeout_ms: 0, idle_in_transaction_timeout_ms: 0, ...options }, work)

/** Inputs of a rebuild. */
export interface Rebuilding
  extends Pick<
    RebuildOptions,
    'pool' | 'store' | 'model' | 'keys' | 'parallel' | 'pace' | 'onApplied' | 'missingKeys'
  > {
  readonly databaseUrl: string
}

/**
 * Runs a rebuild on dedicated connections without a statement timeout; they see the tables under construction. A
 * command with the owner's URL creates the tables for their former owner: services could not read them otherwise.
 */
export async function withRebuild<T>(
  { databaseUrl, parallel = PARALLEL, ...rest }: Rebuilding,
  work: (options: RebuildOptions) => Promise<T>,
): Promise<T> {
  const role = await ownerOfReadModel(rest.pool)
  const sessions = { read_schemas: [NEXT_SCHEMA], role, keyLookupsOnly: true, application_name: 'tillbook rebuild' }
  return apart(databaseUrl, { max: BUILD_CONNECTIONS + parallel, ...sessions }, (buildPool) =>
    work({ ...rest, buildPool, parallel }),
  )
}

/**
 * A database, with and without the owner's role. Without an owner URL the first role must have the necessary
 * privileges.
 */
export interface OwnerConnection {
  readonly databaseUrl: string
  readonly ownerUrl?: string | undefined
}

/**
 * Excludes schemas in which the service may create objects from the search path: the owner would execute them. @throws
 * UnsupportedPostgres
 */
export async function asOwner<T>(
  { ownerUrl, databaseUrl }: OwnerConnection,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const sessions = { read_schemas: [], application_name: 'tillbook owner' }
  return apart(ownerUrl ?? databaseUrl, { max: OWNER_CONNECTIONS, ...sessions }, work).catch((error: Error) => {
    if (!isDenied(error)) throw error
    throw new UnsupportedPostgres(`${error.message}: only the owner of the database may, whom DATABASE_OWNER_URL names`)
  })
}

interface VerifyingApart extends Omit<VerifyTablesOptions, 'pool'> {
  readonly databaseUrl: string
}

/** Its temporary tables end with the connection. */
export const verifyOnOwnConnections = (
  { databaseUrl, ...rest }: VerifyingApart,
  companyId: number,
): Promise<TablesVerification> =>
  apart(databaseUrl, { max: 1, application_name: 'tillbook verification' }, (pool) =>
    verifyTables({ ...rest, pool }, companyId),
  )

/** Companies compared at once: while Postgres works for one, this process works for another. */
const AT_ONCE = 4

/** Compares what has changed in companies, some at once. A failure counts as a difference. */
export async function verifyChangesOnOwnConnections(
  { databaseUrl, ...rest }: Omit<VerifyingApart, 'pace'>,
  checks: readonly VerifiedRevision[],
  pace: WorkPace,
): Promise<VerifiedRevision[]> {
  const session = { max: AT_ONCE, application_name: 'tillbook verification' }
  return apart(databaseUrl, session, async (pool) => {
    const equal: VerifiedRevision[] = []
    const compare = async ({ company_id, revision }: VerifiedRevision) => {
      const found = await compareChanges({ ...rest, pool }, company_id, revision).catch(() => null)
      if (found !== null) equal.push({ company_id, revision: found })
    }
    for (let from = 0; from < checks.length; from += AT_ONCE)
      await runPaced(pace, () => Promise.all(checks.slice(from, from + AT_ONCE).map(compare)))
    return equal
  })
}
