import { setTimeout as delay } from 'node:timers/promises'
import { closeWrites, openWrites, pauseBackgroundWork } from '../write-fence.ts'
import { completeArrival } from './arrival.ts'
import { MigrationRefused } from './migration-refused.ts'
import { companyIsOn, type LockedMigration, type MigrationRun } from './migration-steps.ts'
import { type CompanyResidence, readResidence, retractSwitch, switchPlacement } from './placement-switch.ts'
import { type LedgerHead, readLedgerHead, replayTo, verifyLedgerTo } from './replay.ts'
import { waitForReplication } from './replication.ts'
import { compareTables } from './table-comparison.ts'

/** Longest write pause. Beyond it the attempt is given up and repeated (SHARD-54). */
export const MAX_WRITE_PAUSE_MS = 1_500
/** Wait budget while writes are open. */
export const CATCH_UP_MS = 60_000

/** Brings the target's read model up to the ledger's present head. */
export async function catchUpTarget(migration: LockedMigration, withinMs = CATCH_UP_MS): Promise<LedgerHead> {
  const head = await readLedgerHead(migration.from, migration.companyId)
  await waitForReplication(migration, withinMs)
  await replayTo(migration, migration.replayPool, head.revision)
  return head
}

/** From closing writes to the switch. Returns when writes were closed. */
export async function switchWithWritesClosed(migration: LockedMigration, verified: LedgerHead): Promise<number> {
  const { companyId, from, main, onStep = async () => {} } = migration
  const known = await readResidence(main, companyId)
  if (known?.shard !== from.name) throw companyIsOn(companyId, known)
  let working: Promise<void> = Promise.resolve()
  let closedAt = performance.now()
  try {
    await pauseBackgroundWork(from.pool, companyId)
    await onStep('paused')
    await closeWrites(from.pool, companyId)
    closedAt = performance.now()
    await onStep('closed')
    working = completeTarget(migration, verified)
    await withTimeLimit(MAX_WRITE_PAUSE_MS, working)
    await migration.assertAlone()
  } catch (error) {
    await openWrites(from.pool, companyId)
    // Work still running would disturb the next attempt.
    await working.catch(() => {})
    throw error
  }
  await confirmSwitch(migration, known)
  await onStep('switched')
  return closedAt
}

/** The remaining events, and tables that stand still only while writes are closed. */
async function completeTarget(migration: LockedMigration, verified: LedgerHead): Promise<void> {
  const { onStep = async () => {} } = migration
  const head = await catchUpTarget(migration, MAX_WRITE_PAUSE_MS)
  await verifyLedgerTo(migration, verified, head)
  await completeArrival(migration)
  await onStep('completed')
  await compareTables(migration, 'rest', () => waitForReplication(migration, MAX_WRITE_PAUSE_MS))
  await onStep('compared')
}

/** @throws MigrationRefused `slow` after the limit */
async function withTimeLimit(limitMs: number, working: Promise<void>): Promise<void> {
  const ended = new AbortController()
  const tooLong = delay(limitMs, null, { signal: ended.signal }).then(() => {
    throw new MigrationRefused('slow', `the rest did not arrive within ${limitMs} ms`)
  })
  tooLong.catch(() => {})
  // The awaiting caller handles the error.
  working.catch(() => {})
  try {
    await Promise.race([working, tooLong])
  } finally {
    ended.abort()
  }
}

/** The outcome of the switch is unknown and cannot be determined: the company must stay closed on both shards. */
class SwitchUnknown extends Error {
  override readonly name = 'SwitchUnknown'
}

const RETRY_EVERY_MS = 500
const MAX_TRIES = 60

/**
 * Switches the placement in the directory, or makes sure that it did not change. @throws MigrationRefused if it did
 * not, with the company open again; SwitchUnknown
 */
async function confirmSwitch(
  { main, companyId, from, to, onProgress }: MigrationRun,
  known: CompanyResidence,
): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    try {
      const isDone =
        tries === 0
          ? await switchPlacement(main, companyId, known, to.name)
          : (await retractSwitch(main, companyId))?.shard === to.name
      if (isDone) return
      await openWrites(from.pool, companyId)
      throw new MigrationRefused('slow', 'the placement was changed by another command')
    } catch (error) {
      if (error instanceof MigrationRefused) throw error
      onProgress(
        `the directory does not answer (${(error as Error).message}); checking again whether the company has migrated`,
      )
      await delay(RETRY_EVERY_MS)
    }
  }
  throw new SwitchUnknown(
    `it is unknown whether company ${companyId} has migrated: repeat the command once the directory answers`,
  )
}
