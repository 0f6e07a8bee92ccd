import type { Pool, PoolClient } from 'pg'
import { runPaced, type WorkPace } from '#lib/background-loops.ts'
import {
  inTransactionOn,
  isLockConflict,
  LOCK_TIMEOUT_MS,
  retryOnLockTimeout,
  type Transaction,
} from '#postgres/transaction.ts'
import type { EventReader } from '../port.ts'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'
import { type AnyTable, commentDdl, indexDdl, tableDdl } from '../table.ts'
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
 * without blocking others.
 */
export async function switchSchemas(options: Switch): Promise<TableParity[] | null> {
  const { holder, buildPool, model, before, tell } = options
  const parity = await retryOnLockTimeout({ client: holder, what: 'rebuild', tell }, async () => {
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
async function dropLeftovers(client: PoolClient, { schemas, isUrgent = true, tell }: Leftovers): Promise<void> {
  const names = schemas ?? (await schemasOfRebuilds(client))
  if (names.length === 0) return
  // One text and so one transaction.
  const drop = () =>
    client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}; drop schema if exists ${names.join(', ')} cascade`)
  if (isUrgent) await retryOnLockTimeout({ client, what: 'rebuild', tell }, drop)
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

export interface RebuildOptions extends EventReader {
  /** Connections that see the live tables. */
  readonly pool: Pool
  /** Connections that see the new tables (search_path), without a statement time-out. */
  readonly buildPool: Pool
  /** Companies replayed in parallel, with one connection of `buildPool` each, plus two others. 2 by default. */
  readonly parallel?: number | undefined
  /**
   * Handling of companies with fields that cannot be opened. By default the rebuild fails; `block` leaves these fields
   * empty and makes the company read-only. A company that is read-only for this reason already never fails the rebuild.
   */
  readonly missingKeys?: 'fail' | 'block' | undefined
  /** Ignored while writers wait. */
  readonly pace?: WorkPace | undefined
  /** Called with the number of events of each applied batch. */
  readonly onApplied?: (events: number) => void
  /** Called with the reason for a wait, for the operator; on standard error by default. */
  readonly tell?: (line: string) => void
}

export interface RebuildReport {
  readonly events: number
  readonly companies: number
  /** Comparison of live and rebuilt tables at the switch; null if there were no tables of this version. */
  readonly parity: readonly TableParity[] | null
}

/** Events per second on two busy cores, until the rate is measured. */
export const ESTIMATED_RATE = 16_000

/** Companies replayed in parallel by default. */
export const PARALLEL = 2

/** Processes items with limited concurrency. @throws the first failure, after all started work has ended */
export async function sideBySide<T>(
  items: Iterable<T>,
  doOne: (item: T) => Promise<unknown>,
  parallel: number,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const failures: unknown[] = []
  const doNext = async () => {
    for (let next = waiting.next(); !next.done && failures.length === 0; next = waiting.next())
      await doOne(next.value).catch((error: unknown) => failures.push(error))
  }
  // Also after a failure: work that went on would write into the tables of the next rebuild.
  await Promise.all(Array.from({ length: parallel }, doNext))
  if (failures.length > 0) throw failures[0]
}

/** How far a company is in the new tables; written with its rows, so a killed run is continued. Dropped at the switch. */
const BUILT = `${NEXT_SCHEMA}.built_companies`

export interface BuiltCompany {
  readonly company_id: number
  /** Applied revision; -1 for an empty ledger. */
  readonly revision: number
  /** Whether fields could not be opened. */
  readonly is_blank: boolean
}

/** In the transaction of the company's rows. */
export const noteBuilt = (tx: Transaction, { company_id, revision, is_blank }: BuiltCompany): Promise<unknown> =>
  tx.query(NOTE_BUILT, [company_id, revision, is_blank])

const NOTE_BUILT = {
  name: 'note_built_company',
  text: `insert into ${BUILT} values ($1, $2, $3)
         on conflict (company_id) do update set revision = excluded.revision, is_blank = excluded.is_blank`,
}

/** In the transaction of the switch. */
export const forgetBuilt = async (holder: PoolClient): Promise<void> => void (await holder.query(`drop table ${BUILT}`))

/** Creates the new tables, or continues those that a killed run of this version left. Returns what it has built. */
export async function openTables(
  holder: PoolClient,
  { model, tell }: Pick<RebuildOptions, 'model'> & Required<Pick<RebuildOptions, 'tell'>>,
): Promise<readonly BuiltCompany[]> {
  const { rows } = await holder.query<{ version: string | null; is_open: boolean }>(
    `select obj_description(oid, 'pg_namespace') as version, to_regclass($2) is not null as is_open
     from pg_namespace where nspname = $1`,
    [NEXT_SCHEMA, BUILT],
  )
  const built = rows[0]?.is_open && rows[0].version === model.version ? await builtBefore(holder) : null
  if (built) {
    await dropIndexes(holder)
    return built
  }
  await dropLeftovers(holder, { tell })
  // One text and so one transaction: a hundred commits take as long as thousands of events.
  const statements = [
    `create schema ${NEXT_SCHEMA};`,
    ...tablesOf(model).map((table) => tableDdl(table, NEXT_SCHEMA) + commentDdl(table, NEXT_SCHEMA)),
    `create table ${BUILT} (company_id bigint primary key, revision bigint not null, is_blank boolean not null);`,
    `comment on schema ${NEXT_SCHEMA} is '${model.version}';`,
  ]
  await holder.query(statements.join('\n'))
  return []
}

/** Null if a ledger was restored to an earlier revision, or has gone. */
async function builtBefore(holder: PoolClient): Promise<readonly BuiltCompany[] | null> {
  const { rows } = await holder.query<BuiltCompany & { is_ahead: boolean }>(
    `select b.*, b.revision > coalesce(l.revision, -1) as is_ahead from ${BUILT} b left join ops.ledgers l using (company_id)`,
  )
  return rows.some(({ is_ahead }) => is_ahead) ? null : rows
}

/** Drops indexes that a killed run has created. Their names are generated, so the next run could not recognize them. */
async function dropIndexes(holder: PoolClient): Promise<void> {
  const { rows } = await holder.query<{ name: string }>(
    `select i.indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = $1::regnamespace and not exists (select from pg_constraint where conindid = i.indexrelid)`,
    [NEXT_SCHEMA],
  )
  if (rows.length > 0) await holder.query(`drop index ${rows.map(({ name }) => name).join(', ')}`)
}

/**
 * Creates indexes and statistics, which only queries need. An index of a full table costs less than one maintained
 * while the table is filled; without statistics the first queries would be planned as for an empty table. Indexes of
 * one table are created one after the other: Postgres generates their names and would give two concurrent ones the same
 * name.
 */
export function prepareForQueries({
  buildPool,
  model,
  parallel = PARALLEL,
  pace,
}: Pick<RebuildOptions, 'buildPool' | 'model' | 'parallel' | 'pace'>): Promise<void> {
  const prepare = async (table: AnyTable) => {
    for (const statement of [...indexDdl(table, NEXT_SCHEMA), `analyze ${NEXT_SCHEMA}.${table.name}`])
      await runPaced(pace, () => buildPool.query(statement))
  }
  return sideBySide(tablesOf(model), prepare, parallel)
}

const tablesOf = ({ projections }: ReadModel): AnyTable[] => projections.flatMap(({ tables }) => [...tables])
