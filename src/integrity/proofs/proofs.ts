import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { type AttestationStatus, attestationStatuses } from '../attestors/attestation-status.ts'
import type { Attestor } from '../attestors/attestor.ts'
import type { SignedCheckpoint } from './checkpoint-log.ts'
import { createCheckpoints, newestCheckpoint, type Sealing } from './checkpoints.ts'
import { type LogInclusion, logInclusionOf } from './installation-log.ts'
import { ringEntries } from './key-ring.ts'
import type { RingEntry } from './key-statement.ts'

/** What callers of the service get of checkpoints and keys. */
export interface ProofServices {
  /**
   * A checkpoint that covers at least so many events: the newest one if it does, else a new one of all there are, at most one a
   * second and company. Null for an empty ledger. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey, Unavailable
   */
  checkpointOf(companyId: number, atLeastSize: number): Promise<SignedCheckpoint | null>
  /** The newest checkpoint of a ledger; null where there is none. */
  newest(companyId: number): Promise<SignedCheckpoint | null>
  /** Where a company's last checkpoint is in the installation log; null where no round has covered one yet. @throws TreeDiffers */
  placeOf(companyId: number): Promise<LogInclusion | null>
  /** The key ring, the oldest entry first. */
  keys(): Promise<RingEntry[]>
  /** How it goes with those who vouch for checkpoints of the installation log. */
  outsiders(): Promise<AttestationStatus[]>
}

interface ProofOptions {
  /** Null where there is no place for seals: then no checkpoint is made. */
  readonly sealing: Sealing | null
  readonly outsiders: readonly Pick<Attestor, 'source' | 'kind'>[]
}

export function createProofServices(pool: Pool, { sealing, outsiders }: ProofOptions): ProofServices {
  const nowhere = () => Promise.reject(new Unavailable('there is no place for seals'))
  return {
    checkpointOf: sealing ? createCheckpoints(sealing) : nowhere,
    newest: (companyId) => newestCheckpoint(pool, companyId),
    placeOf: (companyId) => logInclusionOf(pool, companyId),
    keys: () => ringEntries(pool),
    outsiders: () => attestationStatuses(pool, outsiders),
  }
}
