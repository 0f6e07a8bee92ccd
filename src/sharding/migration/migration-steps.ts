import type { Pool } from 'pg'
import type { Migration } from './migrating-shard.ts'
import { MigrationRefused } from './migration-refused.ts'
import type { CompanyResidence } from './placement-switch.ts'

/** Steps of a migration in order; it may be interrupted after each (SHARD-56). */
export const MIGRATION_STEPS = [
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
export type MigrationStep = (typeof MIGRATION_STEPS)[number]

export interface MigrationRun extends Migration {
  /** Database of the directory. */
  readonly main: Pool
  /** Longest time that answers begun before the switch may still read rows on the source. */
  readonly answersMs: number
  /** Keeps the rows on the source shard. */
  readonly keep?: boolean
  /** Called after each step. */
  readonly onStep?: (step: MigrationStep) => Promise<void>
}

/** Under the migration's lock. */
export interface LockedMigration extends MigrationRun {
  readonly assertAlone: () => Promise<void>
  readonly replayPool: Pool
}

export const companyIsOn = (companyId: number, known: CompanyResidence | null): MigrationRefused =>
  new MigrationRefused('company', `company ${companyId} is on ${known ? `shard ${known.shard}` : 'no shard'}`)
