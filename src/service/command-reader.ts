import { createInstallationCheck } from '#integrity/installation-check.ts'
import { assertReadable, hasTables, listReadSchemas } from '#ledger/rebuild/version.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { READ_MODEL_NUMBER } from '#projections/number.ts'
import { type BringUpOptions, bringUpDatabase, createInstallationFile, type PlaceOptions } from './bring-up.ts'
import type { Core, ProofOptions } from './core.ts'

/** What commands that only read take of a core. */
export interface ReadingCore extends Pick<Core, 'pool' | 'store' | 'installationCheck'> {
  /** Checkpoints and their keys, loaded on demand. */
  proofs(): Promise<Pick<Core, 'sealing' | 'proof'>>
}

/** A core in place of a reader. */
export const readerOfCore = (core: Core): ReadingCore => ({ ...core, proofs: async () => core })

export interface OpenedReader extends ReadingCore {
  close(): Promise<void>
}

interface ReaderOptions extends BringUpOptions, PlaceOptions {
  readonly proofOptions: () => Promise<ProofOptions>
  readonly connections: number
  readonly applicationName: string
}

/**
 * Opens a database with its ledgers in Postgres for reading, after the checks of a core, without the code of events and
 * projections: that takes most of the time of a core. Null if the database has no tables, which only a core makes.
 * @throws as openCore without upgrades
 */
export async function openReader(options: ReaderOptions): Promise<OpenedReader | null> {
  const { databaseUrl, connections: max, applicationName: application_name } = options
  const model = { number: READ_MODEL_NUMBER }
  const pool = createPool(databaseUrl, { max, pipeline: true, read_schemas: listReadSchemas(model), application_name })
  const close = () => pool.end()
  try {
    if (await hasTables(pool)) {
      const store = createPostgresStore(pool)
      const installationCheck = createInstallationCheck(createInstallationFile({ pool, store }, options))
      await bringUpDatabase({ pool, model, installationCheck }, { ...options, upgrades: false })
      await assertReadable(pool, model)
      const ledgers = { pool, store, installationCheck }
      const proofs = async () => {
        const { createProofParts } = await import('./core.ts')
        return createProofParts(ledgers, await options.proofOptions())
      }
      return { ...ledgers, proofs, close }
    }
  } catch (error) {
    await close()
    throw error
  }
  await close()
  return null
}
