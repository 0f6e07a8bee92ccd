import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import { markArriving, markLeft, openWrites } from '../write-fence.ts'
import { deleteSourceRows } from './delete-source-rows.ts'
import { removeCheckpoints } from './files.ts'
import { withMoveLock } from './migration-lock.ts'
import { MigrationRefused } from './migration-refused.ts'
import { companyIsOn, type LockedMigration, type MigrationRun, type MigrationStep } from './migration-steps.ts'
import { retractSwitch } from './placement-switch.ts'
import { checkPreconditions } from './preconditions.ts'
import { createReplayPool, LEDGER_START, type LedgerHead, readLedgerHead, verifyLedgerTo } from './replay.ts'
import {
  endReplication,
  isWhole,
  readReplication,
  startReplication,
  waitForInitialCopy,
  waitForReplication,
} from './replication.ts'
import { CATCH_UP_MS, catchUpTarget, MAX_WRITE_PAUSE_MS, switchWithWritesClosed } from './switchover.ts'
import { compareTables } from './table-comparison.ts'

export interface MigrationReport {
  readonly company_id: number
  readonly from: string
  readonly to: string
  /** Last revision recorded on the source shard. */
  readonly revision: number
  /** Duration of the write pause in ms; null if an earlier run had closed writes. */
  readonly refused_ms: number | null
}

const TRIES = 5
/** Lag in events at which writes are closed. */
const NEARLY_DONE = 100

/**
 * Migrates a company to another shard while it sells (SHARD-50). Repeating the call resumes an interrupted migration.
 * @throws MigrationRefused; the company stays open on its shard
 */
export async function migrateCompany(migration: MigrationRun): Promise<MigrationReport> {
  const { companyId, from, to, main, onProgress, onStep = async () => {} } = migration
  return withMoveLock(migration, async (assertAlone) => {
    // A switch sent by an earlier run may still be under way.
    const known = await retractSwitch(main, companyId)
    if (known?.shard !== to.name && known?.shard !== from.name) throw companyIsOn(companyId, known)
    const closedAt = known.shard === from.name ? await runWithReplayPool(migration, assertAlone) : null
    const { revision } = await readLedgerHead(to, companyId)
    await openWrites(to.pool, companyId)
    const refused_ms = closedAt && Math.round(performance.now() - closedAt)
    onProgress(`migrated${refused_ms === null ? '' : `; writes were refused for ${refused_ms} ms`}`)
    await onStep('opened')
    await completeMigration(migration)
    return { company_id: companyId, from: from.name, to: to.name, revision, refused_ms }
  })
}

/** Undoes a migration before its switch, without leftovers (SHARD-56). @throws MigrationRefused after the switch */
export async function undoMigration(migration: MigrationRun): Promise<void> {
  await withMoveLock(migration, async () => {
    const known = await retractSwitch(migration.main, migration.companyId)
    if (known?.shard !== migration.from.name) throw companyIsOn(migration.companyId, known)
    await rollBack(migration)
  })
}

async function runWithReplayPool(migration: MigrationRun, assertAlone: () => Promise<void>): Promise<number> {
  const replayPool = createReplayPool(migration.to)
  try {
    return await prepareAndSwitch({ ...migration, assertAlone, replayPool })
  } finally {
    await replayPool.end()
  }
}

/**
 * Everything up to the switch; returns when writes were closed. On any failure before it the company is open on the
 * source shard.
 */
async function prepareAndSwitch(migration: LockedMigration): Promise<number> {
  const { companyId, from, onProgress, onStep = async () => {} } = migration
  try {
    // An earlier run may have left it closed.
    await openWrites(from.pool, companyId)
    await checkPreconditions(migration)
    await onStep('checked')
    await startReplicating(migration, onStep)
    await waitForInitialCopy(migration)
    await onStep('copied')
    let verified = await catchUpTarget(migration)
    await onStep('replayed')
    await verify(migration, verified)
    await onStep('verified')
    for (let tries = 1; ; tries += 1) {
      verified = await reduceLag(migration, verified)
      try {
        return await switchWithWritesClosed(migration, verified)
      } catch (error) {
        if (!(error instanceof MigrationRefused) || error.obstacle !== 'slow' || tries === TRIES) throw error
        onProgress(`${error.message}: the company is open again; retrying`)
        await delay(tries * 1_000)
      }
    }
  } catch (error) {
    if (error instanceof MigrationRefused && error.obstacle === 'differs') {
      onProgress(`${error.message}: the migration is undone`)
      await rollBack(migration)
    }
    throw error
  }
}

async function startReplicating(
  migration: MigrationRun,
  onStep: (step: MigrationStep) => Promise<void>,
): Promise<void> {
  const { companyId, to, from, onProgress } = migration
  const { rowCount } = await to.pool.query(`select from ops.ledgers where company_id = $1 and move = 'arriving'`, [
    companyId,
  ])
  if (rowCount === 1 && isWhole(await readReplication(migration)))
    return onProgress('resuming an interrupted migration')
  await endReplication(migration)
  await deleteSourceRows(to, companyId, onProgress)
  await recordMigration(from.pool, companyId, 'out', to.name)
  await recordMigration(to.pool, companyId, 'in', from.name)
  await markArriving(to.pool, companyId)
  await emptyLedger(to.pool, companyId)
  await onStep('arriving')
  onProgress('copying existing rows')
  await startReplication(migration)
  await onStep('replicating')
}

/** Marks the migration and its other end on a shard, for the monitor of interrupted migrations. */
const recordMigration = (pool: Pool, companyId: number, direction: 'in' | 'out', shard: string) =>
  pool.query(
    `insert into ops.moves (company_id, direction, other_shard) values ($1, $2, $3)
     on conflict (company_id) do update set direction = excluded.direction, other_shard = excluded.other_shard`,
    [companyId, direction, shard],
  )

const emptyLedger = (pool: Pool, companyId: number) =>
  pool.query(
    `update ops.ledgers set revision = -1, reacted_revision = -1, hash = $2, last_recorded_at = null, ids = '{}'
     where company_id = $1 and move is not null`,
    [companyId, GENESIS_HASH],
  )

/** Repeats until the lag is small; each pass is shorter. */
async function reduceLag(migration: LockedMigration, verified: LedgerHead): Promise<LedgerHead> {
  for (let done = verified; ; ) {
    const next = await catchUpTarget(migration)
    await verifyLedgerTo(migration, done, next)
    if (next.revision - done.revision <= NEARLY_DONE) return next
    done = next
  }
}

/** Verifies what takes time in proportion to the company and no longer changes. */
async function verify(migration: MigrationRun, head: LedgerHead): Promise<void> {
  const { companyId, to, onProgress, progress } = migration
  onProgress(`verifying ${head.revision + 1} events and their tables`)
  progress?.begin('events', head.revision + 1)
  await verifyLedgerTo(migration, LEDGER_START, head)
  progress?.begin('events in tables', head.revision + 1)
  const tables = await to.verifyTables(companyId)
  if (tables.kind !== 'verified')
    throw new MigrationRefused('busy', `tables of shard ${to.name} cannot be verified now: ${tables.kind}`)
  const [difference] = tables.differences
  if (difference)
    throw new MigrationRefused('differs', `the read model of shard ${to.name} differs in table ${difference.table}`)
  await compareTables(migration, 'settled', () => waitForReplication(migration, CATCH_UP_MS))
}

/** After the switch, with the company open on the target: removes what the source has left. Repeatable. */
async function completeMigration(migration: MigrationRun): Promise<void> {
  const { companyId, from, answersMs, keep = false, onProgress, onStep = async () => {} } = migration
  await markLeft(from.pool, companyId)
  await onStep('left')
  // Request counts and logins were written while writes were closed.
  if (isWhole(await readReplication(migration)))
    await waitForReplication(migration, MAX_WRITE_PAUSE_MS * 2).catch(() => {})
  await onStep('drained')
  await endReplication(migration)
  await onStep('unlinked')
  onProgress(`waiting ${answersMs / 1_000} s for answers that began on shard ${from.name}`)
  await delay(answersMs)
  await removeCheckpoints(from, companyId)
  if (!keep) {
    await deleteSourceRows(from, companyId, onProgress)
    await emptyLedger(from.pool, companyId)
  }
  await onStep('wiped')
  await deleteMigrationRecords(migration)
}

const deleteMigrationRecords = async ({ companyId, from, to }: MigrationRun): Promise<void> => {
  for (const { pool } of [from, to]) await pool.query('delete from ops.moves where company_id = $1', [companyId])
}

async function rollBack(migration: MigrationRun): Promise<void> {
  const { companyId, from, to, onProgress } = migration
  await openWrites(from.pool, companyId)
  await endReplication({ companyId, from, to })
  await deleteSourceRows(to, companyId, onProgress)
  await removeCheckpoints(to, companyId)
  await to.pool.query(`delete from ops.ledgers where company_id = $1 and move = 'arriving'`, [companyId])
  await deleteMigrationRecords(migration)
}
