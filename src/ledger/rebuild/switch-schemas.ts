import type { Pool, PoolClient } from 'pg'
import type { ReadModel } from '../projection.ts'
import { compareSchemas, type TableParity } from './parity.ts'
import { FORMER_SCHEMA, NEXT_SCHEMA, READ_SCHEMA } from './schemas.ts'

interface Switch {
  /** The connection that holds the rebuild's lock. */
  readonly holder: PoolClient
  readonly buildPool: Pool
  readonly model: ReadModel
  /** Brings the new tables to where the live ones are; nobody writes meanwhile. */
  finish(): Promise<void>
  /** Whether the live tables should hold the same as the new ones. */
  readonly isComparable: boolean
}

/** Longest wait for units of work and queries under way; writers that come after wait for it too. */
const LOCK_TIMEOUT_MS = 3000
const ATTEMPTS = 20
/** lock_not_available, deadlock_detected */
const IN_THE_WAY = ['55P03', '40P01']

/** Puts the new tables in the place of the live ones, in one short transaction, and compares them afterwards. */
export async function switchSchemas(options: Switch): Promise<TableParity[] | null> {
  for (let attempt = 1; ; attempt++) {
    const snapshot = await options.buildPool.connect()
    try {
      const replaced = await switchOnce(options, snapshot)
      return options.isComparable && replaced > 0
        ? await compareSchemas(snapshot, options.model, { live: FORMER_SCHEMA, rebuilt: READ_SCHEMA })
        : null
    } catch (error) {
      await options.holder.query('rollback')
      if (attempt === ATTEMPTS || !IN_THE_WAY.includes((error as { code?: string }).code ?? '')) throw error
    } finally {
      // Its transaction goes with it.
      snapshot.release(true)
    }
  }
}

/** Returns how many tables were there before. */
async function switchOnce({ holder, finish, model }: Switch, snapshot: PoolClient): Promise<number> {
  await holder.query('begin')
  await holder.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  // Before the tables: a unit of work that holds a ledger still reads and writes them until it commits. The whole table,
  // because a ledger that another process adds meanwhile would be written by its older projections.
  await holder.query('lock table ops.ledgers in exclusive mode')
  await finish()
  await snapshot.query('begin isolation level repeatable read read only')
  // The first statement takes the snapshot: from here on both are seen as they are now.
  await snapshot.query('select')
  const replaced = await moveTables(holder, READ_SCHEMA, FORMER_SCHEMA)
  await moveTables(holder, NEXT_SCHEMA, READ_SCHEMA)
  await holder.query(
    'insert into ops.read_model (version) values ($1) on conflict (only_row) do update set version = excluded.version',
    [model.version],
  )
  await holder.query('commit')
  return replaced
}

/**
 * Table by table rather than by renaming the schema: a change of the table itself makes every connection forget its prepared
 * plans, which would otherwise go on with the old tables under their new name.
 */
async function moveTables(client: PoolClient, from: string, to: string): Promise<number> {
  await client.query(`create schema if not exists ${to}`)
  const { rows } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1',
    [from],
  )
  for (const { name } of rows) await client.query(`alter table ${from}.${name} set schema ${to}`)
  return rows.length
}

/** Removes what a rebuild leaves behind, or one that was killed has left. */
export async function dropLeftovers(client: PoolClient): Promise<void> {
  await client.query(`drop schema if exists ${NEXT_SCHEMA}, ${FORMER_SCHEMA} cascade`)
}
