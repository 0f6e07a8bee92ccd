import type { Pool } from 'pg'
import type { NamedAttestor } from '#integrity/attestors/attestor.ts'
import { createVerifier } from '#integrity/audit/verify.ts'
import type { Sealing } from '#integrity/proofs/checkpoints.ts'
import { assertConsistent, type InstallationCheck } from '#integrity/proofs/installation-watch.ts'
import { ownCheckpointsOf } from '#integrity/proofs/own-checkpoints.ts'
import { createProofServices } from '#integrity/proofs/proofs.ts'
import { createProver } from '#integrity/proofs/prover.ts'
import type { EventStore } from '#ledger/port.ts'

interface Ledgers {
  readonly pool: Pool
  readonly store: EventStore
  readonly installationCheck: InstallationCheck
}

export interface ProofOptions {
  /** Directory and key of checkpoints; without it the process makes none. */
  readonly seals?: Pick<Sealing, 'directory' | 'keyFile'>
  /** Attestors of checkpoints. */
  readonly attestors?: readonly NamedAttestor[]
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
