import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { type AttestationStatus, attestationStatuses } from './attestations.ts'
import type { NamedAttestor } from './attestors.ts'
import { installationOriginOf } from './checkpoint.ts'
import { type RingEntry, ringEntries } from './checkpoint-keys.ts'
import type { SignedCheckpoint } from './checkpoint-log.ts'
import { createCheckpoints, newestCheckpoint, type Sealing } from './checkpoints.ts'
import { installationOf } from './installation.ts'
import { type LogInclusion, logInclusionOf } from './installation-log.ts'

/** Checkpoints and keys for clients of the service. */
export interface ProofServices {
  /**
   * A checkpoint that covers at least `atLeastSize` events: the newest one, or a new one of all events, at most one a
   * second and company. Null for an empty ledger. @throws LedgerNotIntact, CheckpointAltered, WrongSealKey, Unavailable
   */
  checkpointOf(companyId: number, atLeastSize: number): Promise<SignedCheckpoint | null>
  /** The newest checkpoint of a ledger; null if there is none. */
  newest(companyId: number): Promise<SignedCheckpoint | null>
  /**
   * Inclusion of a company's last checkpoint in the installation log; null before the first round that covers one.
   * @throws TreeDiffers
   */
  placeOf(companyId: number): Promise<LogInclusion | null>
  /** The key ring, oldest entry first. */
  keys(): Promise<RingEntry[]>
  /** Name of the installation log. */
  log(): Promise<string>
  /** Status of the attestors of the installation log. */
  attestors(): Promise<AttestationStatus[]>
}

interface ProofOptions {
  /** Null without a directory for checkpoints: none are made. */
  readonly sealing: Sealing | null
  readonly attestors: readonly NamedAttestor[]
}

export function createProofServices(pool: Pool, { sealing, attestors }: ProofOptions): ProofServices {
  const nowhere = () => Promise.reject(new Unavailable('there is no place for seals'))
  return {
    checkpointOf: sealing ? createCheckpoints(sealing) : nowhere,
    newest: (companyId) => newestCheckpoint(pool, companyId),
    placeOf: (companyId) => logInclusionOf(pool, companyId),
    keys: () => ringEntries(pool),
    async log() {
      const { family: installationId, cell } = await installationOf(pool)
      return installationOriginOf({ installationId, cell })
    },
    attestors: () => attestationStatuses(pool, attestors),
  }
}
