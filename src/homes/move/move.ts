import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import { arrive, leave, open } from '../fence.ts'
import { alone } from './alone.ts'
import { check } from './checks.ts'
import { BRINGS_MS, CLOSED_MS, follow, whileClosed } from './closed.ts'
import { compareTables } from './compare.ts'
import { removeFiles } from './files.ts'
import { MoveRefused } from './move-refused.ts'
import { type Held, livesIn, type Moving, type Step } from './moving.ts'
import { BEGINNING, createReplayPool, type Head, headIn, verifyLedgerTo } from './replay.ts'
import { caughtUp, copied, endReplication, isWhole, lookAtReplication, replicate } from './replication.ts'
import { retractSwitch } from './switch.ts'
import { wipe } from './wipe.ts'

export interface MoveReport {
  readonly company_id: number
  readonly from: string
  readonly to: string
  /** Of the last event that was recorded where it lived before. */
  readonly revision: number
  /** For how long writes were refused, in milliseconds; null where an earlier run had done that. */
  readonly refused_ms: number | null
}

const TRIES = 5
/** So little may be behind when writes begin to be refused. */
const NEARLY_DONE = 100

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

/** After the switch, once the company is open there: ends what is left of it here. Repeatable. */
async function finish(moving: Moving): Promise<void> {
  const { companyId, from, answersMs, keep = false, tell, onStep = async () => {} } = moving
  await leave(from.pool, companyId)
  await onStep('left')
  // Calls were counted, and people logged in, while writes were refused.
  if (isWhole(await lookAtReplication(moving))) await caughtUp(moving, CLOSED_MS * 2).catch(() => {})
  await onStep('drained')
  await endReplication(moving)
  await onStep('unlinked')
  tell(`answers that were begun in ${from.name} may take ${answersMs / 1_000} s more`)
  await delay(answersMs)
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
