import type { Pool } from 'pg'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'
import type { Residence } from './switch.ts'

/** What a move comes through, in this order; after each of them it may be interrupted (HOME-56). */
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
  /** Where the directory is. */
  readonly main: Pool
  /** For so long answers that were begun before the company left may still read its rows there. */
  readonly answersMs: number
  /** Whether the rows of the home that it has left stay there. */
  readonly keep?: boolean
  /** Hears of each step when it is done. */
  readonly onStep?: (step: Step) => Promise<void>
}

/** Under the lock of the move. */
export interface Held extends Moving {
  readonly assertAlone: () => Promise<void>
  readonly replayPool: Pool
}

export const livesIn = (companyId: number, known: Residence | null): MoveRefused =>
  new MoveRefused('company', `company ${companyId} lives in ${known?.home ?? 'no home'}`)
