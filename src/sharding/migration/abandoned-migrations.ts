import type { Pool } from 'pg'
import { type Repetition, repeat } from '#background/repeat.ts'
import { workInTurn } from '#background/round-robin.ts'
import { withAdvisoryLock } from '#postgres/advisory-lock.ts'
import type { Shards } from '../shards.ts'
import { markLeft, openWrites } from '../write-fence.ts'
import { moveLockOf } from './migration-lock.ts'
import { readResidence, retractSwitch } from './placement-switch.ts'

/**
 * Cleans up after an interrupted migration, whose lock is free (SHARD-56). First rules out a late switch; then opens the
 * company where the directory places it and marks it as left elsewhere. Returns the opened companies. A failure of one company is
 * retried in the next round.
 */
export async function resolveAbandonedMigrations(
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
    await unlessMigrating(pool, companyId, async () => {
      const known = await (isArriving ? readResidence : retractSwitch)(main, companyId)
      if (known?.shard === name) {
        await openWrites(pool, companyId)
        opened.push(companyId)
      } else if (known && !isArriving) await markLeft(pool, companyId)
    })
    return 'done' as const
  }
  await workInTurn(arriving.keys(), settle, { onError })
  return opened
}

/** Runs `work` under the migration's lock, unless a command holds it. */
async function unlessMigrating(pool: Pool, companyId: number, work: () => Promise<void>): Promise<void> {
  await withAdvisoryLock(pool, { key: moveLockOf(companyId), ifTaken: () => {} }, work)
}

/** Write-ahead log retained by an abandoned migration. */
export interface RetainedWal {
  readonly company_id: number
  readonly bytes: number
}

/** Slots of migrations with the log they retain: an abandoned migration fills the disk. */
async function walRetainedByMigrations(pool: Pool): Promise<RetainedWal[]> {
  const { rows } = await pool.query<RetainedWal>(
    `select substring(slot_name from '^tillbook_move_(\\d+)')::bigint as company_id,
       coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint as bytes
     from pg_replication_slots where database = current_database() and slot_name ~ '^tillbook_move_\\d+_\\d+$'`,
  )
  return rows
}

const CHECK_EVERY_MS = 2_000
const WARN_EVERY_CHECKS = 300

interface MigrationMonitorOptions {
  readonly shards: Shards<{ readonly pool: Pool }>
  /** Reports reopened companies and retained log. */
  readonly warn: (message: string, details: object) => void
  readonly onError: (error: unknown) => void
}

/** Monitors migrations whose command has died; one process with the role `projector` is enough. */
export function monitorMigrations({ shards, warn, onError }: MigrationMonitorOptions): Repetition {
  let checks = 0
  const check = async () => {
    // A failure on one shard must not stop the checks of the others.
    for (const { name, shard } of shards.present()) await checkShard(name, shard.pool).catch(onError)
    checks += 1
  }
  const checkShard = async (name: string, pool: Pool) => {
    const opened = await resolveAbandonedMigrations({ pool, name }, shards.main.pool, onError)
    for (const company_id of opened)
      warn('migration: interrupted; the company is open again', { company_id, shard: name })
    if (checks % WARN_EVERY_CHECKS > 0) return
    for (const log of await walRetainedByMigrations(pool))
      warn('migration: retains the write-ahead log until it is finished or undone', { shard: name, ...log })
  }
  return repeat(check, CHECK_EVERY_MS, onError)
}
