import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import { arrive, close, leave, open, pause } from '../fence.ts'
import { alone } from './alone.ts'
import { complete } from './arrival.ts'
import { check } from './checks.ts'
import { compareTables } from './compare.ts'
import { removeFiles } from './files.ts'
import { MoveRefused } from './move-refused.ts'
import type { Move } from './moving-home.ts'
import { BEGINNING, createReplayPool, type Head, headIn, replayTo, verifyLedgerTo } from './replay.ts'
import { caughtUp, copied, endReplication, isWhole, lookAtReplication, replicate } from './replication.ts'
import { type Residence, residenceOf, retractSwitch, switchTo } from './switch.ts'
import { wipe } from './wipe.ts'

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
  /** Whether the rows of the home that it has left stay there. */
  readonly keep?: boolean
  /** Hears of each step when it is done. */
  readonly onStep?: (step: Step) => Promise<void>
}

/** Under the lock of the move. */
interface Held extends Moving {
  readonly assertAlone: () => Promise<void>
  readonly replayPool: Pool
}

export interface MoveReport {
  readonly company_id: number
  readonly from: string
  readonly to: string
  /** Of the last event that was recorded where it lived before. */
  readonly revision: number
  /** For how long writes were refused, in milliseconds; null where an earlier run had done that. */
  readonly refused_ms: number | null
}

/** Writes are refused for no longer; what takes longer is given up, and tried again (HOME-54). */
const CLOSED_MS = 1_500
const TRIES = 5
/** So little may be behind when writes begin to be refused. */
const NEARLY_DONE = 100
const BRINGS_MS = 60_000

/**
 * Moves a company from one home to another while it sells (HOME-50). A move that was interrupted is taken up where it was, by the
 * same call. @throws MoveRefused; the company goes on where it lives.
 */
export async function moveCompany(moving: Moving): Promise<MoveReport> {
  const { companyId, from, to, main, tell, onStep = async () => {} } = moving
  return alone(moving, async (assertAlone) => {
    // A switch that an earlier run has sent may be under way still.
    const known = await retractSwitch(main, companyId)
    if (known?.home !== to.name && known?.home !== from.name) throw livesIn(companyId, known)
    const closedAt = known.home === from.name ? await brought(moving, assertAlone) : null
    const { revision } = await headIn(to, companyId)
    await open(to.pool, companyId)
    const refused_ms = closedAt && Math.round(performance.now() - closedAt)
    tell(`moved${refused_ms === null ? '' : `; writes were refused for ${refused_ms} ms`}`)
    await onStep('opened')
    await finish(moving)
    return { company_id: companyId, from: from.name, to: to.name, revision, refused_ms }
  })
}

const livesIn = (companyId: number, known: Residence | null): MoveRefused =>
  new MoveRefused('company', `company ${companyId} lives in ${known?.home ?? 'no home'}`)

/** Ends a move that has not come to its switch: nothing of it is left behind (HOME-56). @throws MoveRefused after the switch */
export async function undoMove(moving: Moving): Promise<void> {
  await alone(moving, async () => {
    const known = await retractSwitch(moving.main, moving.companyId)
    if (known?.home !== moving.from.name) throw livesIn(moving.companyId, known)
    await undo(moving)
  })
}

async function brought(moving: Moving, assertAlone: () => Promise<void>): Promise<number> {
  const replayPool = createReplayPool(moving.to)
  try {
    return await bring({ ...moving, assertAlone, replayPool })
  } finally {
    await replayPool.end()
  }
}

/** Up to the switch: returns since when writes have been refused. Whatever happens before it, the company is open where it lives. */
async function bring(moving: Held): Promise<number> {
  const { companyId, from, tell, onStep = async () => {} } = moving
  try {
    // As an earlier run may have left it.
    await open(from.pool, companyId)
    await check(moving)
    await onStep('checked')
    await begin(moving, onStep)
    await copied(moving)
    await onStep('copied')
    let verified = await follow(moving)
    await onStep('replayed')
    await verify(moving, verified)
    await onStep('verified')
    for (let tries = 1; ; tries += 1) {
      verified = await nearly(moving, verified)
      try {
        return await whileClosed(moving, verified)
      } catch (error) {
        if (!(error instanceof MoveRefused) || error.obstacle !== 'slow' || tries === TRIES) throw error
        tell(`${error.message}: the company is open again, and it is tried once more`)
        await delay(tries * 1_000)
      }
    }
  } catch (error) {
    if (error instanceof MoveRefused && error.obstacle === 'differs') {
      tell(`${error.message}: the move is undone`)
      await undo(moving)
    }
    throw error
  }
}

async function begin(moving: Moving, onStep: (step: Step) => Promise<void>): Promise<void> {
  const { companyId, to, from, tell } = moving
  const { rowCount } = await to.pool.query(`select from ops.ledgers where company_id = $1 and move = 'arriving'`, [
    companyId,
  ])
  if (rowCount === 1 && isWhole(await lookAtReplication(moving))) return tell('an interrupted move is taken up')
  await endReplication(moving)
  await wipe(to, companyId, tell)
  await note(from.pool, companyId, 'out', to.name)
  await note(to.pool, companyId, 'in', from.name)
  await arrive(to.pool, companyId)
  await emptyLedger(to.pool, companyId)
  await onStep('arriving')
  tell('Postgres copies what there is')
  await replicate(moving)
  await onStep('replicating')
}

/** Whoever finds it knows of the move, and who is at its other end. */
const note = (pool: Pool, companyId: number, direction: 'in' | 'out', home: string) =>
  pool.query(
    `insert into ops.moves (company_id, direction, other_home) values ($1, $2, $3)
     on conflict (company_id) do update set direction = excluded.direction, other_home = excluded.other_home`,
    [companyId, direction, home],
  )

const emptyLedger = (pool: Pool, companyId: number) =>
  pool.query(
    `update ops.ledgers set revision = -1, reacted_revision = -1, hash = $2, last_recorded_at = null, ids = '{}'
     where company_id = $1 and move is not null`,
    [companyId, GENESIS_HASH],
  )

/** Brings the read model of the target to where the ledger is now. */
async function follow(moving: Held, withinMs = BRINGS_MS): Promise<Head> {
  const head = await headIn(moving.from, moving.companyId)
  await caughtUp(moving, withinMs)
  await replayTo(moving, moving.replayPool, head.revision)
  return head
}

/** Repeated until little is behind; each pass is shorter than the one before. */
async function nearly(moving: Held, verified: Head): Promise<Head> {
  for (let done = verified; ; ) {
    const next = await follow(moving)
    await verifyLedgerTo(moving, done, next)
    if (next.revision - done.revision <= NEARLY_DONE) return next
    done = next
  }
}

/** Whatever takes as long as the company is large, and cannot change any more. */
async function verify(moving: Moving, head: Head): Promise<void> {
  const { companyId, to, tell } = moving
  tell(`verifying ${head.revision + 1} events and what was made of them`)
  await verifyLedgerTo(moving, BEGINNING, head)
  const tables = await to.verifyTables(companyId)
  if (tables.kind !== 'verified')
    throw new MoveRefused('busy', `tables of ${to.name} cannot be verified now: ${tables.kind}`)
  const [difference] = tables.differences
  if (difference) throw new MoveRefused('differs', `the read model of ${to.name} differs, in ${difference.table}`)
  await compareTables(moving, 'settled', () => caughtUp(moving, BRINGS_MS))
}

/** From the refusal of writes to the switch. Returns since when they have been refused. */
async function whileClosed(moving: Held, verified: Head): Promise<number> {
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

/** After the switch, once the company is open there: ends what is left of it here. Repeatable. */
async function finish(moving: Moving): Promise<void> {
  const { companyId, from, keep = false, tell, onStep = async () => {} } = moving
  await leave(from.pool, companyId)
  await onStep('left')
  // Calls were counted, and people logged in, while writes were refused.
  if (isWhole(await lookAtReplication(moving))) await caughtUp(moving, CLOSED_MS * 2).catch(() => {})
  await onStep('drained')
  await endReplication(moving)
  await onStep('unlinked')
  await removeFiles(from, companyId)
  if (!keep) {
    await wipe(from, companyId, tell)
    await emptyLedger(from.pool, companyId)
  }
  await onStep('wiped')
  await forget(moving)
}

const forget = async ({ companyId, from, to }: Moving): Promise<void> => {
  for (const { pool } of [from, to]) await pool.query('delete from ops.moves where company_id = $1', [companyId])
}

async function undo(moving: Moving): Promise<void> {
  const { companyId, from, to, tell } = moving
  await open(from.pool, companyId)
  await endReplication({ companyId, from, to })
  await wipe(to, companyId, tell)
  await removeFiles(to, companyId)
  await to.pool.query(`delete from ops.ledgers where company_id = $1 and move = 'arriving'`, [companyId])
  await forget(moving)
}
