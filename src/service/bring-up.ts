import type { Pool } from 'pg'
import { claimDatabase } from '#crypto/master-key-registry.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import {
  type InstallationCheck,
  type InstallationFile,
  inconsistencyMessage,
  isOfStore,
} from '#integrity/installation-check.ts'
import type { ReadModel } from '#ledger/projection.ts'
import { assertNotOlder } from '#ledger/rebuild/version.ts'
import { IncompatibleVersion } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'
import { assertLeast, migrateAsOwner } from '#postgres/migrate.ts'
import type { OwnerConnection } from './maintenance-connection.ts'

export interface BringUpOptions extends OwnerConnection {
  /** Keys that encrypt secrets. */
  readonly masterKeys: MasterKeys
  /** Called with the location of a new master key. The operator must back it up. */
  readonly onKeyMade?: (source: string) => void
  /** Called with excess privileges of the service's role, if it is configured without an owner. */
  readonly onExcess?: (privileges: readonly string[]) => void
  /** False: refuses a database of another version instead of upgrading it. */
  readonly upgrades?: boolean
  /** Reports migrations and rebuilds; on standard error by default. */
  readonly tell?: (line: string) => void
}

interface Parts {
  readonly pool: Pool
  readonly model: Pick<ReadModel, 'number'>
  readonly installationCheck: InstallationCheck
}

/**
 * Applies migrations if upgrades are allowed or the database is empty, and checks privileges, master keys and
 * installation: all that precedes the tables of the read model. @throws IncompatibleVersion, UnsupportedPostgres,
 * WrongMasterKey
 */
export async function bringUpDatabase(
  { pool, model, installationCheck }: Parts,
  {
    databaseUrl,
    ownerUrl,
    masterKeys,
    upgrades = true,
    tell,
    onKeyMade = () => {},
    onExcess = () => {},
  }: BringUpOptions,
): Promise<void> {
  await assertNotOlder(pool, model)
  await migrateAsOwner({ pool, databaseUrl, ownerUrl }, { upgrades, ...(tell && { log: tell }) })
  await assertLeast(pool, { onExcess: ownerUrl === undefined ? onExcess : null })
  await claimDatabase({ pool, keys: masterKeys, onMade: onKeyMade })
  await assertOwnStore(installationCheck)
}

export interface PlaceOptions {
  readonly log: (message: string, error: unknown) => void
  readonly eventStoreUrl?: string | undefined
  readonly dataDir?: string
}

/** Installation file in DATA_DIR, which reveals a restored database; null without DATA_DIR. */
export function createInstallationFile(
  { pool, store }: Pick<InstallationFile, 'pool' | 'store'>,
  options: PlaceOptions,
): InstallationFile | null {
  const { eventStoreUrl = null, dataDir, log } = options
  const now = () => new Date().toISOString()
  const onPutAside = (folder: string) =>
    log('installation: DATA_DIR of another installation taken over by a new one', { former_seals: folder })
  return dataDir === undefined ? null : { pool, store, eventStoreUrl, dataDir, newId, now, onPutAside }
}

/** @throws IncompatibleVersion if the store holds other ledgers than the tables. */
export async function assertOwnStore(installationCheck: InstallationCheck): Promise<void> {
  await installationCheck.look()
  assertStore(installationCheck)
}

/**
 * Refuses the store of another installation before anything is read: tables must not be built from it. @throws
 * IncompatibleVersion
 */
export function assertStore({ inconsistency }: Pick<InstallationCheck, 'inconsistency'>): void {
  const found = inconsistency()
  if (found && isOfStore(found)) throw new IncompatibleVersion(inconsistencyMessage(found))
}
