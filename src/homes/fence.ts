import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import type { Move } from '#ledger/move.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { LIVE_CHANNEL, TOO_MANY } from '#live/notifier.ts'

/**
 * How a company stands in a home while it moves (HOME-40): one column of its ledger's row, changed under the row's lock, so that every unit
 * of work comes before a change or sees it. Each function may be repeated, and each leaves a state that a move goes on from or is undone from.
 *
 * | | from | to |
 * |---|---|---|
 * | pause | null, paused | paused |
 * | close | null, paused, leaving | leaving |
 * | leave | leaving, left | left |
 * | arrive | no ledger or an empty one, left, arriving | arriving |
 * | open | null, paused, leaving, arriving | null |
 */
const CHANGES = {
  pause: { from: [null, 'paused'], to: 'paused' },
  close: { from: [null, 'paused', 'leaving'], to: 'leaving' },
  leave: { from: ['leaving', 'left'], to: 'left' },
  arrive: { from: ['left', 'arriving'], to: 'arriving' },
  open: { from: [null, 'paused', 'leaving', 'arriving'], to: null },
} as const satisfies Record<string, { from: readonly (Move | null)[]; to: Move | null }>

/** A step that does not follow from how the company stands: nothing was changed. */
export class OutOfOrder extends Error {
  override readonly name = 'OutOfOrder'
}

/** How a company stands in its home; undefined where the home has no ledger of it. */
export async function moveOf(pool: Pool, companyId: number): Promise<Move | null | undefined> {
  const { rows } = await pool.query<{ move: Move | null }>('select move from ops.ledgers where company_id = $1', [
    companyId,
  ])
  return rows[0]?.move
}

/** @throws OutOfOrder */
async function change(pool: Pool, companyId: number, step: keyof typeof CHANGES): Promise<void> {
  const { from, to } = CHANGES[step]
  const { rowCount } = await pool.query(
    `update ops.ledgers set move = $2 where company_id = $1 and coalesce(move, '') = any($3::text[])`,
    [companyId, to, from.map((move) => move ?? '')],
  )
  if (rowCount === 1) return
  const move = await moveOf(pool, companyId)
  throw new OutOfOrder(
    `company ${companyId} is ${move ?? (move === null ? 'open' : 'unknown')} here: it cannot ${step}`,
  )
}

/** No unit of work of the company is under way when it resolves, and none begins (HOME-41). */
export const close = (pool: Pool, companyId: number): Promise<void> => change(pool, companyId, 'close')

/** The company lives here, all of it: a move has ended, or was undone. */
export const open = (pool: Pool, companyId: number): Promise<void> => change(pool, companyId, 'open')

/** The company is to live here: its rows are made, and nobody sees them yet. */
export async function arrive(pool: Pool, companyId: number): Promise<void> {
  await pool.query(
    `insert into ops.ledgers as l (company_id, hash, move) values ($1, $2, 'arriving')
     on conflict (company_id) do update set move = 'arriving' where l.move is null and l.revision < 0`,
    [companyId, GENESIS_HASH],
  )
  await change(pool, companyId, 'arrive')
}

/** How long is waited for what was begun before: longer than anything that is claimed may take. */
const PATIENCE_MS = 330_000
const LOOK_AGAIN_MS = 50

/**
 * The company lives elsewhere: nothing here answers for it any more (HOME-42). Open pages are told to ask again. Resolves when
 * statements that may not have seen it yet have ended: whatever they wrote is there to go along.
 * @throws Unavailable where that takes too long; the company has left nevertheless.
 */
export async function leave(pool: Pool, companyId: number, patience_ms = PATIENCE_MS): Promise<void> {
  await change(pool, companyId, 'leave')
  await pool.query('select pg_notify($1, $2)', [LIVE_CHANNEL, TOO_MANY])
  const since = await clock(pool)
  await until(patience_ms, async () => !(await isOverlapped(pool, since)))
}

/**
 * Has everything that runs by itself begin nothing more of the company, in all processes; writes and reads go on. Resolves when what was
 * begun before has ended (HOME-45). Again is soon done.
 * @throws Unavailable where that takes too long: the company stays paused.
 */
export async function pause(pool: Pool, companyId: number, patience_ms = PATIENCE_MS): Promise<void> {
  await change(pool, companyId, 'pause')
  const since = await clock(pool)
  await until(patience_ms, async () => !(await isOverlapped(pool, since)))
  await until(patience_ms, async () => !(await isClaimed(pool, companyId)))
}

async function until(patience_ms: number, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patience_ms
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Unavailable('what was begun before takes too long to end')
    await delay(LOOK_AGAIN_MS)
  }
}

async function clock(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ now: string }>('select clock_timestamp() as now')
  return rows[0]?.now as string
}

/**
 * Whether a statement or a transaction that writes is under way since before a moment: it may not have seen what was committed then.
 * A transaction that only reads between two statements of its own will see it in the next.
 */
async function isOverlapped(pool: Pool, since: string): Promise<boolean> {
  const { rowCount } = await pool.query(OVERLAPPING, [since])
  return rowCount !== 0
}

const OVERLAPPING = `
  select from pg_stat_activity
  where datname = current_database() and usename = current_user and pid <> pg_backend_pid() and backend_type = 'client backend'
    and (backend_xid is not null and xact_start <= $1 or state = 'active' and query_start <= $1)
  limit 1`

/** Whether somebody may have taken a delivery, notice or order, and not be done with it. */
async function isClaimed(pool: Pool, companyId: number): Promise<boolean> {
  const { rows } = await pool.query<{ is_claimed: boolean }>(CLAIMED, [companyId])
  return rows[0]?.is_claimed ?? false
}

const CLAIMED = `
  select exists (
      select from ops.webhook_deliveries where status = 'pending' and company_id = $1 and leased_until > clock_timestamp())
    or exists (select from ops.notices where company_id = $1 and claimed_until > clock_timestamp())
    or exists (select from ops.payment_sweeps where company_id = $1 and claimed_until > clock_timestamp()) as is_claimed`
