import type { EventStore } from '#ledger/port.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { RingPlace } from './key-ring.ts'

/** What checkpoints are made with, and where they are kept. */
export interface Sealing extends RingPlace {
  readonly store: EventStore
  /** @throws where nothing may be signed now, as in a restored database. */
  readonly assertMaySeal: () => Promise<void>
}

/** A checkpoint of a ledger as it is kept: on the disk and in the database. */
export interface SignedCheckpoint extends Checkpoint {
  /** Its signed note. */
  readonly note: string
  /** UTC. */
  readonly made_at: string
}

/** The newest checkpoint of a ledger; null where there is none. */
export declare function newestCheckpoint(
  pool: RingPlace['pool'],
  companyId: number,
): Promise<SignedCheckpoint | null>

/**
 * A checkpoint of a ledger that covers at least so many events: the newest one if it does, else a new one. Null for an empty
 * ledger. @throws NotWhole, WrongSealKey
 */
export declare function checkpointOf(
  sealing: Sealing,
  companyId: number,
  atLeastSize?: number,
): Promise<SignedCheckpoint | null>
