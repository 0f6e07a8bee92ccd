import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import type { Move } from '#ledger/move.ts'

/**
 * How a company stands in a home while it moves (HOME-40): one column of its ledger's row, changed under the row's lock, so that every unit
 * of work comes before a change or sees it. Each function may be repeated, and each leaves a state that a move goes on from or is undone from.
 *
 * | | from | to |
 * |---|---|---|
 * | pause | null, paused | paused |
 * | close | null, paused, leaving | leaving |
 * | leave | leaving, left | left |
 * | arrive | no ledger, left, arriving | arriving |
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

/** The company lives elsewhere: nothing here answers for it any more (HOME-42). */
export const leave = (pool: Pool, companyId: number): Promise<void> => change(pool, companyId, 'leave')

/** The company lives here, all of it: a move has ended, or was undone. */
export const open = (pool: Pool, companyId: number): Promise<void> => change(pool, companyId, 'open')

/** The company is to live here: its rows are made, and nobody sees them yet. */
export async function arrive(pool: Pool, companyId: number): Promise<void> {
  await pool.query(
    `insert into ops.ledgers (company_id, hash, move) values ($1, $2, 'arriving') on conflict (company_id) do nothing`,
    [companyId, GENESIS_HASH],
  )
  await change(pool, companyId, 'arrive')
}

/**
 * Has everything that runs by itself begin nothing more of the company, in all processes; writes and reads go on. Resolves when what was
 * begun before has ended (HOME-44).
 */
export async function pause(pool: Pool, companyId: number): Promise<void> {
  await change(pool, companyId, 'pause')
  await delay(0)
}
