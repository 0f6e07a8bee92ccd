import type { Pool, PoolClient } from 'pg'
import { isLockConflict, LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/lock-retry.ts'
import { inTransactionOn } from '#postgres/transaction.ts'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'
import { compareContents, type TableParity } from './compare-tables.ts'
import { schemaOfFormer, type TablesVersion } from './version.ts'

/** Schema in which a rebuild creates the new tables. */
export const NEXT_SCHEMA = 'read_next'

/** Schema of the replaced tables until they were compared. */
const FORMER_SCHEMA = 'read_former'

interface Switch {
  /** The connection that holds the rebuild's lock. */
  readonly holder: PoolClient
  readonly buildPool: Pool
  readonly model: ReadModel
  /** Version of the live tables; null if there are none. */
  readonly before: TablesVersion | null
  /** Brings the new tables close to the live ones, beside the writers. */
  keepUp(): Promise<void>
  /** Brings the new tables to the live revision while readers and writers wait. */
  finish(): Promise<void>
  readonly tell: (line: string) => void
}

/**
 * Replaces the live tables by the new ones in one short transaction, and compares them afterwards if they should be
 * equal. Reads and writes wait meanwhile. For a long transaction that holds locks, such as a dump, the switch waits
 * without blocking others (OPS-36).
 */
export async function switchSchemas(options: Switch): Promise<TableParity[] | null> {
  const { holder, buildPool, model, before, tell } = options
  const parity = await retryOnLockTimeout({ client: holder, what: 'the switch to the new tables', tell }, async () => {
    await options.keepUp()
    const snapshot = await buildPool.connect()
    try {
      const replaced = await inTransactionOn(holder, () => switchOnce(options, snapshot))
      const isComparable = before?.version === model.version && replaced > 0
      return isComparable ? await compareContents(snapshot, model, { live: FORMER_SCHEMA, rebuilt: READ_SCHEMA }) : null
    } finally {
      // Ends its transaction.
      snapshot.release(true)
    }
  })
  await dropLeftovers(holder, { schemas: [NEXT_SCHEMA, FORMER_SCHEMA], isUrgent: false, tell })
  return parity
}

/** Runs in a transaction of the holder. Returns the number of replaced tables. */
async function switchOnce({ holder, finish, model, before }: Switch, snapshot: PoolClient): Promise<number> {
  const live = await tablesIn(holder, READ_SCHEMA)
  await holder.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  // Locked before the tables: a unit of work with a locked ledger still uses them until it commits. The whole table is
  // locked, because a ledger added meanwhile by another process would be written by older projections.
  await holder.query('lock table ops.ledgers in exclusive mode')
  // Locked before the catch-up, so that a failed attempt blocks other sessions only briefly.
  await lockAll(holder, live)
  await finish()
  await snapshot.query('begin isolation level repeatable read read only')
  // The first statement takes the snapshot, which fixes the state of both schemas.
  await snapshot.query('select')
  await moveTables(holder, READ_SCHEMA, placeOfFormer(before, model))
  await moveTables(holder, NEXT_SCHEMA, READ_SCHEMA)
  await holder.query(
    `insert into ops.read_model (version, number, since, served_at) values ($1, $2, clock_timestamp(), $3)
     on conflict (only_row) do update
     set version = excluded.version, number = excluded.number, since = excluded.since,
       served_at = case when read_model.version = excluded.version then read_model.served_at end`,
    [model.version, model.number, before === null ? new Date() : null],
  )
  return live.length
}

/** Processes of the same version switch to the new tables; those of an older version go on reading the former ones. */
const placeOfFormer = (before: TablesVersion | null, { number }: ReadModel): string =>
  before !== null && before.number < number ? schemaOfFormer(before.number) : FORMER_SCHEMA

/** Waits no longer for all tables than for one. */
async function lockAll(client: PoolClient, tables: readonly string[]): Promise<void> {
  if (tables.length === 0) return
  await client.query(`set local statement_timeout = ${LOCK_TIMEOUT_MS}`)
  await client.query(`lock table ${tables.map((name) => `${READ_SCHEMA}.${name}`).join(', ')} in access exclusive mode`)
  await client.query('set local statement_timeout = 0')
}

async function tablesIn(client: PoolClient, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1 order by tablename',
    [schema],
  )
  return rows.map(({ name }) => name)
}

/**
 * Moves each table instead of renaming the schema: a change of the table invalidates the prepared plans of all
 * connections, which would otherwise go on using the old tables under their new name.
 */
async function moveTables(client: PoolClient, from: string, to: string): Promise<void> {
  await client.query(`create schema if not exists ${to}`)
  for (const name of await tablesIn(client, from)) await client.query(`alter table ${from}.${name} set schema ${to}`)
}

interface Leftovers {
  /** By default also the tables kept for processes of older versions. */
  readonly schemas?: readonly string[]
  /** False: leaves tables that are still being read to the next rebuild. */
  readonly isUrgent?: boolean
  readonly tell: (line: string) => void
}

/** Drops the leftovers of a completed or killed rebuild. */
export async function dropLeftovers(client: PoolClient, { schemas, isUrgent = true, tell }: Leftovers): Promise<void> {
  const names = schemas ?? (await schemasOfRebuilds(client))
  if (names.length === 0) return
  // One text and so one transaction.
  const drop = () =>
    client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}; drop schema if exists ${names.join(', ')} cascade`)
  if (isUrgent) await retryOnLockTimeout({ client, what: 'the removal of earlier tables', tell }, drop)
  else
    await drop().catch((error: unknown) => {
      if (!isLockConflict(error)) throw error
    })
}

async function schemasOfRebuilds(client: PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname in ($1, $2) or nspname ~ '^${READ_SCHEMA}_[0-9]+$'`,
    [NEXT_SCHEMA, FORMER_SCHEMA],
  )
  return rows.map(({ name }) => name)
}
