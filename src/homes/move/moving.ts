import type { Pool } from 'pg'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'
import type { Residence } from './switch.ts'

/** Steps of a migration in order; it may be interrupted after each (HOME-56). */
export const STEPS = [
  'checked',
  'arriving',
  'replicating',
  'copied',
  'replayed',
  'verified',
  'paused',
  'closed',
  'completed',
  'compared',
  'switched',
  'opened',
  'left',
  'drained',
  'unlinked',
  'wiped',
] as const
export type Step = (typeof STEPS)[number]

export interface Moving extends Move {
  /** Database of the directory. */
  readonly main: Pool
  /** Longest time that answers begun before the switch may still read rows on the source. */
  readonly answersMs: number
  /** Keeps the rows on the source shard. */
  readonly keep?: boolean
  /** Called after each step. */
  readonly onStep?: (step: Step) => Promise<void>
}

/** Under the migration's lock. */
export interface Held extends Moving {
  readonly assertAlone: () => Promise<void>
  readonly replayPool: Pool
}

export const livesIn = (companyId: number, known: Residence | null): MoveRefused =>
  new MoveRefused('company', `company ${companyId} is on ${known ? `shard ${known.home}` : 'no shard'}`)
