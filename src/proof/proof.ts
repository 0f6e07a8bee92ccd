import type { Pool } from 'pg'
import { Unavailable } from '#lib/unavailable.ts'
import { createCheckpoints, newestCheckpoint, type Sealing } from './checkpoints.ts'
import { type Place, placeOf } from './installation-log.ts'
import type { SignedCheckpoint } from './kept-checkpoints.ts'
import { ringEntries } from './key-ring.ts'
import type { RingEntry } from './key-statement.ts'

/** What callers of the service get of checkpoints and keys. */
export interface Proof {
  /**
   * A checkpoint that covers at least so many events: the newest one if it does, else a new one of all there are, at most one a
   * second and company. Null for an empty ledger. @throws NotWhole, SealAltered, WrongSealKey, Unavailable
   */
  checkpointOf(companyId: number, atLeastSize: number): Promise<SignedCheckpoint | null>
  /** The newest checkpoint of a ledger; null where there is none. */
  newest(companyId: number): Promise<SignedCheckpoint | null>
  /** Where a company's last checkpoint is in the installation log; null where no round has covered one yet. @throws TreeDiffers */
  placeOf(companyId: number): Promise<Place | null>
  /** The key ring, the oldest entry first. */
  keys(): Promise<RingEntry[]>
}

/** `sealing` is null where there is no place for seals: then no checkpoint is made. */
export function createProof(pool: Pool, sealing: Sealing | null): Proof {
  const nowhere = () => Promise.reject(new Unavailable('there is no place for seals'))
  return {
    checkpointOf: sealing ? createCheckpoints(sealing) : nowhere,
    newest: (companyId) => newestCheckpoint(pool, companyId),
    placeOf: (companyId) => placeOf(pool, companyId),
    keys: () => ringEntries(pool),
  }
}
