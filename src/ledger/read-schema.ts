import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { companyOf, streamOf } from './envelope.ts'
import { ensureLedger } from './ledgers.ts'
import type { EventStore } from './port.ts'
import type { Projection, ReadModel } from './projection.ts'
import { replay } from './replay.ts'
import { ddlOf } from './table.ts'
import { inTransaction, type Transaction } from './transaction.ts'

/** Schema of all tables that projections write; it can be dropped and rebuilt from the ledgers. */
export const READ_SCHEMA = 'read'

/** The version of a read model: its tables' DDL and a number that grows when a projection's meaning changes. */
export function versionOf(projections: readonly Projection[], meaning: number): string {
  const ddl = projections.flatMap((projection) => projection.tables.map((table) => ddlOf(table, READ_SCHEMA)))
  return `${meaning}-${createHash('sha256').update(ddl.join('\n')).digest('hex').slice(0, 12)}`
}

/**
 * Makes the tables fit the projections before anything is served: creates them in an empty database, and replays all
 * ledgers when they belong to another version. Returns the number of events replayed, or null when nothing was to do.
 */
export async function ensureReadModel(pool: Pool, store: EventStore, model: ReadModel): Promise<number | null> {
  return withReadModelLock(pool, async (tx) => {
    const { rows } = await tx.query<{ version: string }>({
      name: 'read_version',
      text: 'select version from ops.read_model',
    })
    if (rows[0]?.version === model.version && (await schemaExists(tx))) return null
    return rebuild(tx, pool, store, model)
  })
}

/** Makes all tables anew from the ledgers, also when they fit. Returns the number of events replayed. */
export function rebuildReadModel(pool: Pool, store: EventStore, model: ReadModel): Promise<number> {
  return withReadModelLock(pool, (tx) => rebuild(tx, pool, store, model))
}

/** Processes that start or rebuild at once wait here for the first of them. */
function withReadModelLock<T>(pool: Pool, work: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (tx) => {
    // The first of them may take longer than a statement should; all that comes after the wait is as impatient as ever.
    await setTimeouts(tx, '0')
    await tx.query({ name: 'lock_read_model', text: 'select pg_advisory_xact_lock(7106801)' })
    await setTimeouts(tx, 'default')
    return work(tx)
  })
}

/** Until the end of the transaction. */
async function setTimeouts(tx: Transaction, value: '0' | 'default'): Promise<void> {
  for (const setting of ['lock_timeout', 'statement_timeout']) {
    await tx.query({ name: `${setting}_${value}`, text: `set local ${setting} to ${value}` })
  }
}

async function schemaExists(tx: Transaction): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'find_read_schema',
    text: `select 1 from pg_namespace where nspname = '${READ_SCHEMA}'`,
  })
  return rows.length > 0
}

/** Drops and replays everything under the locks of all ledgers, in one transaction. */
async function rebuild(tx: Transaction, pool: Pool, store: EventStore, model: ReadModel): Promise<number> {
  for await (const stream of store.streams()) {
    const companyId = companyOf(stream)
    if (companyId !== null) await ensureLedger(pool, companyId)
  }
  // Before the tables: a unit of work that holds a ledger still reads and writes them until it commits. The whole table,
  // because a ledger that another process adds meanwhile would be written by its older projections.
  await tx.query({ name: 'lock_ledgers_table', text: 'lock table ops.ledgers in exclusive mode' })
  const { rows } = await tx.query<{ company_id: number; revision: number }>({
    name: 'list_ledgers',
    text: 'select company_id, revision from ops.ledgers order by company_id',
  })
  await tx.query({ name: 'drop_read', text: `drop schema if exists ${READ_SCHEMA} cascade` })
  await tx.query({ name: 'create_read', text: `create schema ${READ_SCHEMA}` })
  for (const [number, table] of model.projections.flatMap((projection) => projection.tables).entries()) {
    for (const [part, text] of ddlOf(table, READ_SCHEMA).split(';\n').entries())
      await tx.query({ name: `ddl_${number}_${part}`, text })
  }
  let events = 0
  for (const { company_id: companyId, revision } of rows) {
    events += await replay(tx, model, companyId, store.read(streamOf(companyId), 0), revision)
  }
  await tx.query(
    {
      name: 'set_read_version',
      text: 'insert into ops.read_model (version) values ($1) on conflict (only_row) do update set version = excluded.version',
    },
    [model.version],
  )
  return events
}
