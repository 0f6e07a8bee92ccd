import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { workInTurn } from '#background/round-robin.ts'
import { leave, open } from '../fence.ts'
import type { Homes } from '../homes.ts'
import { LOCK } from './alone.ts'
import { residenceOf, retractSwitch } from './switch.ts'

/**
 * Ends what a move that was interrupted has left of a company: nobody holds its lock any more (HOME-56). The directory says where it
 * lives, after it has seen to it that no late switch happens: there it is opened, elsewhere it has left. Returns those that were opened.
 * What fails for one company is tried again at the next look.
 */
export async function settleAbandoned(
  { pool, name }: { readonly pool: Pool; readonly name: string },
  main: Pool,
  onError: (error: unknown) => void,
): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number; is_arriving: boolean }>(
    `select company_id, move = 'arriving' as is_arriving from ops.ledgers
     where move is not null and move <> 'left' order by company_id`,
  )
  const opened: number[] = []
  const arriving = new Map(rows.map(({ company_id, is_arriving }) => [company_id, is_arriving]))
  const settle = async (companyId: number) => {
    const isArriving = arriving.get(companyId)
    await unlessMoved(pool, companyId, async () => {
      const known = await (isArriving ? residenceOf : retractSwitch)(main, companyId)
      if (known?.home === name) {
        await open(pool, companyId)
        opened.push(companyId)
      } else if (known && !isArriving) await leave(pool, companyId)
    })
    return 'done' as const
  }
  await workInTurn(arriving.keys(), settle, { onError })
  return opened
}

/** Does it under the lock of the company's move, unless a command has that. */
async function unlessMoved(pool: Pool, companyId: number, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${LOCK}) as got`, [companyId])
    if (rows[0]?.got) await work()
  } finally {
    await client.query(`select pg_advisory_unlock(${LOCK})`, [companyId]).catch(() => {})
    client.release()
  }
}

/** What a forgotten move keeps Postgres from clearing up. */
export interface HeldWal {
  readonly company_id: number
  readonly bytes: number
}

/** Slots of moves, with what they hold back: a move that nobody ends fills the disk. */
export async function heldByMoves(pool: Pool): Promise<HeldWal[]> {
  const { rows } = await pool.query<HeldWal>(
    `select substring(slot_name from '^tillbook_move_(\\d+)')::bigint as company_id,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint as bytes
     from pg_replication_slots where database = current_database() and slot_name ~ '^tillbook_move_\\d+_\\d+$'`,
  )
  return rows
}

const LOOKS_EVERY_MS = 2_000
const TOLD_EVERY_LOOKS = 300

interface Watching {
  readonly homes: Homes<{ readonly pool: Pool }>
  /** Hears of companies that were opened again, and of what forgotten moves hold back. */
  readonly warn: (message: string, details: object) => void
  readonly onError: (error: unknown) => void
}

/** Looks after moves whose command has ended too early: once in a process that has the role `projector` is enough. */
export function watchMoves({ homes, warn, onError }: Watching): Repetition {
  let looks = 0
  const look = async () => {
    // What fails in one home does not keep the others from being looked after.
    for (const { name, home } of homes.present()) await lookAt(name, home.pool).catch(onError)
    looks += 1
  }
  const lookAt = async (name: string, pool: Pool) => {
    const opened = await settleAbandoned({ pool, name }, homes.main.pool, onError)
    for (const company_id of opened)
      warn('a move was interrupted: its company is open again', { company_id, home: name })
    if (looks % TOLD_EVERY_LOOKS > 0) return
    for (const held of await heldByMoves(pool))
      warn('a move keeps Postgres from clearing its log up until it is ended or undone', { home: name, ...held })
  }
  return repeat(look, LOOKS_EVERY_MS, onError)
}
