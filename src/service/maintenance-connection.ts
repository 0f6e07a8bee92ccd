import type { Pool } from 'pg'
import { PARALLEL, type RebuildOptions } from '#ledger/rebuild/build.ts'
import { NEXT_SCHEMA } from '#ledger/rebuild/switch-schemas.ts'
import { type TablesVerification, type VerifyTablesOptions, verifyTables } from '#ledger/rebuild/verify-tables.ts'
import { UnsupportedPostgres } from '#lib/unfit-postgres.ts'
import { type PoolOptions, withPool } from '#postgres/pool.ts'
import { isDenied, ownerOfReadModel } from '#postgres/privileges.ts'

/** The holder of the lock, and a snapshot to compare by, beside companies replayed side by side. */
const BUILD_CONNECTIONS = 2
/** The holder of the lock, and one that writes and reads. */
const OWNER_CONNECTIONS = 2

/** Does what takes as long as it takes on connections of its own. */
const apart = <T>(url: string, options: PoolOptions, work: (pool: Pool) => Promise<T>): Promise<T> =>
  withPool(url, { pipeline: true, statement_timeout_ms: 0, idle_in_transaction_timeout_ms: 0, ...options }, work)

/** What tables are made of. */
export interface Rebuilding
  extends Pick<
    RebuildOptions,
    'pool' | 'store' | 'model' | 'keys' | 'parallel' | 'pace' | 'onProgress' | 'missingKeys'
  > {
  readonly databaseUrl: string
}

/**
 * A rebuild has connections of its own, which see the tables that it makes; they wait for as long as it takes. Whoever makes
 * tables anew, as a command with the owner's URL, makes them for whom they belonged to: services could not read them else.
 */
export async function withRebuild<T>(
  { databaseUrl, parallel = PARALLEL, onProgress = () => {}, ...rest }: Rebuilding,
  work: (options: RebuildOptions) => Promise<T>,
): Promise<T> {
  const role = await ownerOfReadModel(rest.pool)
  const sessions = { read_schemas: [NEXT_SCHEMA], role, keyLookupsOnly: true, application_name: 'tillbook rebuild' }
  return apart(databaseUrl, { max: BUILD_CONNECTIONS + parallel, ...sessions }, (buildPool) =>
    work({ ...rest, buildPool, parallel, onProgress }),
  )
}

/** A database, and the same as its owner; without that the role of the first has to be whoever may do what is to be done. */
export interface OwnerConnection {
  readonly databaseUrl: string
  readonly ownerUrl?: string | undefined
}

/** No schema that the service may make things in is looked into: what it has made there would be run as the owner. @throws UnsupportedPostgres */
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

/** Its tables end with its connection. */
export const verifyOnOwnConnections = (
  { databaseUrl, ...rest }: VerifyingApart,
  companyId: number,
): Promise<TablesVerification> =>
  apart(databaseUrl, { max: 1, application_name: 'tillbook verification' }, (pool) =>
    verifyTables({ ...rest, pool }, companyId),
  )
