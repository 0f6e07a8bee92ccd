import { setTimeout as delay } from 'node:timers/promises'
import { close, open, pause } from '../fence.ts'
import { complete } from './arrival.ts'
import { compareTables } from './compare.ts'
import { MoveRefused } from './move-refused.ts'
import { type Held, livesIn, type Moving } from './moving.ts'
import { type Head, headIn, replayTo, verifyLedgerTo } from './replay.ts'
import { caughtUp } from './replication.ts'
import { type Residence, residenceOf, retractSwitch, switchTo } from './switch.ts'

/** Writes are refused for no longer; what takes longer is given up, and tried again (HOME-54). */
export const CLOSED_MS = 1_500
/** What is not waited for by anybody. */
export const BRINGS_MS = 60_000

/** Brings the read model of the target to where the ledger is now. */
export async function follow(moving: Held, withinMs = BRINGS_MS): Promise<Head> {
  const head = await headIn(moving.from, moving.companyId)
  await caughtUp(moving, withinMs)
  await replayTo(moving, moving.replayPool, head.revision)
  return head
}

/** From the refusal of writes to the switch. Returns since when they have been refused. */
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
    // What still runs would be in the way of the next try.
    await working.catch(() => {})
    throw error
  }
  await switched(moving, known)
  await onStep('switched')
  return closedAt
}

/** What has come since, and what only now stands still. */
async function rest(moving: Held, verified: Head): Promise<void> {
  const { onStep = async () => {} } = moving
  const head = await follow(moving, CLOSED_MS)
  await verifyLedgerTo(moving, verified, head)
  await complete(moving)
  await onStep('completed')
  await compareTables(moving, 'rest', () => caughtUp(moving, CLOSED_MS))
  await onStep('compared')
}

/** @throws MoveRefused `slow` where it takes longer */
async function within(limitMs: number, working: Promise<void>): Promise<void> {
  const ended = new AbortController()
  const tooLong = delay(limitMs, null, { signal: ended.signal }).then(() => {
    throw new MoveRefused('slow', `what is left is not done within ${limitMs} ms`)
  })
  tooLong.catch(() => {})
  // Heard of by whoever waits for it.
  working.catch(() => {})
  try {
    await Promise.race([working, tooLong])
  } finally {
    ended.abort()
  }
}

/** The outcome of a switch is not known, nor can it be found out: nobody may open the company anywhere before it is. */
export class SwitchUnknown extends Error {
  override readonly name = 'SwitchUnknown'
}

const ASKED_EVERY_MS = 500
const ASKED_TIMES = 60

/** Has the directory switch, or knows that it does not. @throws MoveRefused where it has not, and the company is open again; SwitchUnknown */
async function switched({ main, companyId, from, to, tell }: Moving, known: Residence): Promise<void> {
  for (let tries = 0; tries < ASKED_TIMES; tries += 1) {
    try {
      const isDone =
        tries === 0
          ? await switchTo(main, companyId, known, to.name)
          : (await retractSwitch(main, companyId))?.home === to.name
      if (isDone) return
      await open(from.pool, companyId)
      throw new MoveRefused('slow', 'the directory was told something else meanwhile')
    } catch (error) {
      if (error instanceof MoveRefused) throw error
      tell(
        `the directory does not answer (${(error as Error).message}): it is asked again whether the company has moved`,
      )
      await delay(ASKED_EVERY_MS)
    }
  }
  throw new SwitchUnknown(
    `nobody knows whether company ${companyId} has moved: repeat the command once the directory answers`,
  )
}
