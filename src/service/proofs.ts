import type { Pool } from 'pg'
import type { Attestor } from '#integrity/attestors/attestor.ts'
import { createVerifier } from '#integrity/audit/verify.ts'
import type { Sealing } from '#integrity/proofs/checkpoints.ts'
import { inconsistencyMessage, isOfStore } from '#integrity/proofs/installation-check.ts'
import type { InstallationFile } from '#integrity/proofs/installation-file.ts'
import { assertConsistent, type InstallationCheck } from '#integrity/proofs/installation-watch.ts'
import { ownCheckpointsOf } from '#integrity/proofs/own-checkpoints.ts'
import { createProofServices } from '#integrity/proofs/proofs.ts'
import { createProver } from '#integrity/proofs/prover.ts'
import type { EventStore } from '#ledger/port.ts'
import { IncompatibleVersion } from '#lib/errors.ts'
import { newId } from '#lib/ids.ts'

interface Ledgers {
  readonly pool: Pool
  readonly store: EventStore
  readonly installationCheck: InstallationCheck
}

export interface ProofOptions {
  /** Directory and key of checkpoints; without it the process makes none. */
  readonly seals?: Pick<Sealing, 'directory' | 'keyFile'>
  /** Attestors of checkpoints. */
  readonly attestors?: readonly Pick<Attestor, 'source' | 'kind'>[]
}

/** Services that prove the integrity of ledgers. */
export function createProofParts({ pool, store, installationCheck }: Ledgers, { seals, attestors = [] }: ProofOptions) {
  const clock = Date.now
  const now = () => new Date().toISOString()
  const assertMaySeal = async () => assertConsistent(installationCheck)
  const sealing: Sealing | null = seals ? { pool, store, ...seals, now, assertMaySeal } : null
  const proof = createProofServices(pool, { sealing, attestors })
  const verifier = createVerifier(
    { pool, store },
    { clock, sealedOf: (companyId) => ownCheckpointsOf(sealing, companyId) },
  )
  const prover = createProver({ pool, store, newestOf: proof.newest, clock })
  return { sealing, proof, verifier, prover }
}

interface PlaceOptions {
  readonly log: (message: string, error: unknown) => void
  readonly eventStoreUrl?: string | undefined
  readonly dataDir?: string
}

/** Installation file in DATA_DIR, which reveals a restored database; null without DATA_DIR. */
export function createInstallationFile(
  { pool, store }: Omit<Ledgers, 'installationCheck'>,
  options: PlaceOptions,
): InstallationFile | null {
  const { eventStoreUrl = null, dataDir, log } = options
  const now = () => new Date().toISOString()
  const onPutAside = (folder: string) =>
    log('DATA_DIR was of another installation, and is of a new one now', { former_seals: folder })
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
function assertStore({ inconsistency }: Pick<InstallationCheck, 'inconsistency'>): void {
  const found = inconsistency()
  if (found && isOfStore(found)) throw new IncompatibleVersion(inconsistencyMessage(found))
}
