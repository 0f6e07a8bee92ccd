import { setTimeout as delay } from 'node:timers/promises'
import { close, open, pause } from '../fence.ts'
import { complete } from './arrival.ts'
import { compareTables } from './compare.ts'
import { MoveRefused } from './move-refused.ts'
import { type Held, livesIn, type Moving } from './moving.ts'
import { type Head, headIn, replayTo, verifyLedgerTo } from './replay.ts'
import { caughtUp } from './replication.ts'
import { type Residence, residenceOf, retractSwitch, switchTo } from './switch.ts'

/** Longest write pause. Beyond it the attempt is given up and repeated (HOME-54). */
export const CLOSED_MS = 1_500
/** Wait budget while writes are open. */
export const BRINGS_MS = 60_000

/** Brings the target's read model up to the ledger's present head. */
export async function follow(moving: Held, withinMs = BRINGS_MS): Promise<Head> {
  const head = await headIn(moving.from, moving.companyId)
  await caughtUp(moving, withinMs)
  await replayTo(moving, moving.replayPool, head.revision)
  return head
}

/** From closing writes to the switch. Returns when writes were closed. */
export async function whileClosed(moving: Held, verified: Head): Promise<number> {
  const { companyId, from, main, onStep = async () => {} } = moving
  const known = await residenceOf(main, companyId)
  if (known?.home !== from.name) throw livesIn(companyId, known)
  let working: Promise<void> = Promise.resolve()
  let closedAt = performance.now()
  try {
    await pause(from.pool, companyId)
    await onStep('paused')
    await close(from.pool, companyId)
    closedAt = performance.now()
    await onStep('closed')
    working = rest(moving, verified)
    await within(CLOSED_MS, working)
    await moving.assertAlone()
  } catch (error) {
    await open(from.pool, companyId)
    // Work still running would disturb the next attempt.
    await working.catch(() => {})
    throw error
  }
  await switched(moving, known)
  await onStep('switched')
  return closedAt
}

/** The remaining events, and tables that stand still only while writes are closed. */
async function rest(moving: Held, verified: Head): Promise<void> {
  const { onStep = async () => {} } = moving
  const head = await follow(moving, CLOSED_MS)
  await verifyLedgerTo(moving, verified, head)
  await complete(moving)
  await onStep('completed')
  await compareTables(moving, 'rest', () => caughtUp(moving, CLOSED_MS))
  await onStep('compared')
}

/** @throws MigrationRefused `slow` after the limit */
async function within(limitMs: number, working: Promise<void>): Promise<void> {
  const ended = new AbortController()
  const tooLong = delay(limitMs, null, { signal: ended.signal }).then(() => {
    throw new MoveRefused('slow', `the rest did not arrive within ${limitMs} ms`)
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
export class SwitchUnknown extends Error {
  override readonly name = 'SwitchUnknown'
}

const ASKED_EVERY_MS = 500
const ASKED_TIMES = 60

/**
 * Switches the placement in the directory, or makes sure that it did not change. @throws MigrationRefused if it did
 * not, with the company open again; SwitchUnknown
 */
async function switched({ main, companyId, from, to, tell }: Moving, known: Residence): Promise<void> {
  for (let tries = 0; tries < ASKED_TIMES; tries += 1) {
    try {
      const isDone =
        tries === 0
          ? await switchTo(main, companyId, known, to.name)
          : (await retractSwitch(main, companyId))?.home === to.name
      if (isDone) return
      await open(from.pool, companyId)
      throw new MoveRefused('slow', 'the placement was changed by another command')
    } catch (error) {
      if (error instanceof MoveRefused) throw error
      tell(
        `the directory does not answer (${(error as Error).message}); checking again whether the company has migrated`,
      )
      await delay(ASKED_EVERY_MS)
    }
  }
  throw new SwitchUnknown(
    `it is unknown whether company ${companyId} has migrated: repeat the command once the directory answers`,
  )
}
