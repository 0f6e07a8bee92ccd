import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { GENESIS_HASH } from '#ledger/envelope.ts'
import type { MigrationState } from '#ledger/migration-state.ts'
import { Unavailable } from '#lib/errors.ts'
import { EVERY_COMPANY, LIVE_CHANNEL } from '#live/notifier.ts'

/**
 * Migration state of a company on a shard (SHARD-40): a column of the ledger's row, changed under the row's lock, so
 * that every unit of work precedes a change or sees it. Each function is repeatable and leaves a state from which a
 * migration can be resumed or undone.
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
} as const satisfies Record<string, { from: readonly (MigrationState | null)[]; to: MigrationState | null }>

/** The step does not follow from the present state; nothing was changed. */
export class MigrationOutOfOrder extends Error {
  override readonly name = 'OutOfOrder'
}

/** State of a company on this shard; undefined if the shard has no ledger of it. */
async function migrationStateOf(pool: Pool, companyId: number): Promise<MigrationState | null | undefined> {
  const { rows } = await pool.query<{ move: MigrationState | null }>(
    'select move from ops.ledgers where company_id = $1',
    [companyId],
  )
  return rows[0]?.move
}

/** @throws MigrationOutOfOrder */
async function changeMigrationState(pool: Pool, companyId: number, step: keyof typeof CHANGES): Promise<void> {
  const { from, to } = CHANGES[step]
  const { rowCount } = await pool.query(
    `update ops.ledgers set move = $2 where company_id = $1 and coalesce(move, '') = any($3::text[])`,
    [companyId, to, from.map((move) => move ?? '')],
  )
  if (rowCount === 1) return
  const move = await migrationStateOf(pool, companyId)
  throw new MigrationOutOfOrder(
    `company ${companyId} is ${move ?? (move === null ? 'open' : 'unknown')} on this shard: it cannot ${step}`,
  )
}

/** Closes writes. When it resolves, no unit of work of the company runs, and none starts (SHARD-41). */
export const closeWrites = (pool: Pool, companyId: number): Promise<void> =>
  changeMigrationState(pool, companyId, 'close')

/** Opens the company on this shard: a migration has ended or was undone. */
export const openWrites = (pool: Pool, companyId: number): Promise<void> =>
  changeMigrationState(pool, companyId, 'open')

/** The company is arriving: its rows are being built and are not visible yet. */
export async function markArriving(pool: Pool, companyId: number): Promise<void> {
  await pool.query(
    `insert into ops.ledgers as l (company_id, hash, move) values ($1, $2, 'arriving')
     on conflict (company_id) do update set move = 'arriving' where l.move is null and l.revision < 0`,
    [companyId, GENESIS_HASH],
  )
  await changeMigrationState(pool, companyId, 'arrive')
}

/** Wait budget for work that started earlier: longer than any lease. */
const WAIT_BUDGET_MS = 330_000
const POLL_MS = 50

/**
 * The company has left: this shard answers nothing about it (SHARD-42), and open pages reload. Resolves when all
 * statements that may not have seen the change have ended, so that their rows are still replicated.
 * @throws Unavailable on time-out; the company has left all the same
 */
export async function markLeft(pool: Pool, companyId: number, wait_budget_ms = WAIT_BUDGET_MS): Promise<void> {
  await changeMigrationState(pool, companyId, 'leave')
  await pool.query('select pg_notify($1, $2)', [LIVE_CHANNEL, EVERY_COMPANY])
  const since = await readDatabaseClock(pool)
  await waitUntil(wait_budget_ms, async () => !(await isOverlapped(pool, since)))
}

/**
 * Stops background work of the company in all processes; writes and reads continue. Resolves when running work has
 * ended (SHARD-45). Fast when repeated.
 * @throws Unavailable on time-out; the company stays paused
 */
export async function pauseBackgroundWork(
  pool: Pool,
  companyId: number,
  wait_budget_ms = WAIT_BUDGET_MS,
): Promise<void> {
  await changeMigrationState(pool, companyId, 'pause')
  const since = await readDatabaseClock(pool)
  await waitUntil(wait_budget_ms, async () => !(await isOverlapped(pool, since)))
  await waitUntil(wait_budget_ms, async () => !(await isLeased(pool, companyId)))
}

async function waitUntil(wait_budget_ms: number, isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + wait_budget_ms
  while (!(await isDone())) {
    if (performance.now() > deadline) throw new Unavailable('background work of the company has not ended in time')
    await delay(POLL_MS)
  }
}

async function readDatabaseClock(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ now: string }>('select clock_timestamp() as now')
  return rows[0]?.now as string
}

/**
 * Whether a statement or writing transaction has been running since before a moment, and may have missed what was
 * committed then. A read-only transaction sees it in its next statement.
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

/** Whether a process holds a lease on a delivery, notification or order of the company. */
async function isLeased(pool: Pool, companyId: number): Promise<boolean> {
  const { rows } = await pool.query<{ is_leased: boolean }>(LEASED, [companyId])
  return rows[0]?.is_leased ?? false
}

const LEASED = `
  select exists (
      select from ops.webhook_deliveries where status = 'pending' and company_id = $1 and leased_until > clock_timestamp())
    or exists (select from ops.notices where company_id = $1 and leased_until > clock_timestamp())
    or exists (select from ops.payment_sweeps where company_id = $1 and leased_until > clock_timestamp()) as is_leased`
