import type { Pool } from 'pg'
import { open } from '../fence.ts'
import { LOCK } from './alone.ts'
import { retractSwitch } from './switch.ts'

/**
 * Opens companies again whose move was interrupted once it had paused them, or had writes refused (HOME-56): nobody holds its lock any more, and the
 * directory says, after it has seen to it that no late switch happens, that they live here. Returns them.
 */
export async function openAbandoned(
  { pool, name }: { readonly pool: Pool; readonly name: string },
  main: Pool,
): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ops.ledgers where move in ('paused', 'leaving') order by company_id`,
  )
  const opened: number[] = []
  for (const { company_id } of rows) {
    const client = await pool.connect()
    try {
      const { rows: lock } = await client.query<{ got: boolean }>(`select pg_try_advisory_lock(${LOCK}) as got`, [
        company_id,
      ])
      if (!lock[0]?.got) continue
      if ((await retractSwitch(main, company_id))?.home !== name) continue
      await open(pool, company_id)
      opened.push(company_id)
    } finally {
      await client.query('select pg_advisory_unlock_all()').catch(() => {})
      client.release()
    }
  }
  return opened
}

/** What a forgotten move keeps Postgres from clearing up. */
export interface HeldWal {
  readonly company_id: number
  readonly bytes: number
}

/** Slots of moves, with what they hold back: a move that nobody ends fills the disk. */
export async function heldByMoves(pool: Pool): Promise<HeldWal[]> {
  const { rows } = await pool.query<HeldWal>(
    `select substring(slot_name from '\\d+$')::bigint as company_id,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint as bytes
     from pg_replication_slots where database = current_database() and slot_name ~ '^tillbook_move_\\d+$'`,
  )
  return rows
}
