import type { Pool, PoolClient } from 'pg'
import { isLockConflict, LOCK_TIMEOUT_MS, retryOnLockTimeout } from '#postgres/lock-retry.ts'
import { inTransactionOn } from '#postgres/transaction.ts'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'
import type { AnyTable, ColumnType } from '../table.ts'
import { schemaOfFormer, type TablesVersion } from './version.ts'

/** Where a rebuild makes the tables that will take the place of the live ones. */
export const NEXT_SCHEMA = 'read_next'

/** Where those before are kept until they were compared. */
const FORMER_SCHEMA = 'read_former'

interface Switch {
  /** The connection that holds the rebuild's lock. */
  readonly holder: PoolClient
  readonly buildPool: Pool
  readonly model: ReadModel
  /** What the live tables were of, if there were any. */
  readonly before: TablesVersion | null
  /** Brings the new tables close to where the live ones are, beside the writers. */
  keepUp(): Promise<void>
  /** Brings them to the same place; nobody reads or writes meanwhile. */
  finish(): Promise<void>
  readonly tell: (line: string) => void
}

/**
 * Puts the new tables in the place of the live ones, in one short transaction, and compares them afterwards where they should
 * hold the same. What is read or written meanwhile waits; a long transaction in the way, as a dump's, is waited for without
 * holding anybody up (OPS-36).
 */
export async function switchSchemas(options: Switch): Promise<TableParity[] | null> {
  const { holder, buildPool, model, before, tell } = options
  const parity = await retryOnLockTimeout({ client: holder, what: 'the switch to the new tables', tell }, async () => {
    await options.keepUp()
    const snapshot = await buildPool.connect()
    try {
      const replaced = await inTransactionOn(holder, () => switchOnce(options, snapshot))
      const isComparable = before?.version === model.version && replaced > 0
      return isComparable ? await compareSchemas(snapshot, model, { live: FORMER_SCHEMA, rebuilt: READ_SCHEMA }) : null
    } finally {
      // Its transaction goes with it.
      snapshot.release(true)
    }
  })
  await dropLeftovers(holder, { schemas: [NEXT_SCHEMA, FORMER_SCHEMA], isUrgent: false, tell })
  return parity
}

/** In a transaction of the holder. Returns how many tables were there before. */
async function switchOnce({ holder, finish, model, before }: Switch, snapshot: PoolClient): Promise<number> {
  const live = await tablesIn(holder, READ_SCHEMA)
  await holder.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
  // Before the tables: a unit of work that holds a ledger still reads and writes them until it commits. The whole table,
  // because a ledger that another process adds meanwhile would be written by its older projections.
  await holder.query('lock table ops.ledgers in exclusive mode')
  // Before anything is done that an attempt in vain would have others wait for.
  await lockAll(holder, live)
  await finish()
  await snapshot.query('begin isolation level repeatable read read only')
  // The first statement takes the snapshot: from here on both are seen as they are now.
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

/** Of one version, processes go over to the new tables; those of an older one go on reading what they know. */
const placeOfFormer = (before: TablesVersion | null, { number }: ReadModel): string =>
  before !== null && before.number < number ? schemaOfFormer(before.number) : FORMER_SCHEMA

/** Waits for all of them no longer than for one. */
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
 * Table by table rather than by renaming the schema: a change of the table itself makes every connection forget its prepared
 * plans, which would otherwise go on with the old tables under their new name.
 */
async function moveTables(client: PoolClient, from: string, to: string): Promise<void> {
  await client.query(`create schema if not exists ${to}`)
  for (const name of await tablesIn(client, from)) await client.query(`alter table ${from}.${name} set schema ${to}`)
}

interface Leftovers {
  /** By default also what was kept for processes of older versions. */
  readonly schemas?: readonly string[]
  /** False: what somebody still reads is left to the next rebuild. */
  readonly isUrgent?: boolean
  readonly tell: (line: string) => void
}

/** Removes what a rebuild leaves behind, or one that was killed has left. */
export async function dropLeftovers(client: PoolClient, { schemas, isUrgent = true, tell }: Leftovers): Promise<void> {
  const names = schemas ?? (await schemasOfRebuilds(client))
  if (names.length === 0) return
  // In one text, and so in one transaction.
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

/** What a table holds: the number of its rows, and a digest of all their values, whatever their order. */
interface TableContent {
  readonly rows: number
  readonly digest: string
}

/** One table, as it was served and as it was rebuilt. */
export interface TableParity {
  readonly table: string
  readonly live: TableContent
  readonly rebuilt: TableContent
  readonly equal: boolean
}

/** Compares all tables of a read model in two schemas, as one snapshot sees them. Memory does not grow with the tables. */
async function compareSchemas(
  snapshot: PoolClient,
  { projections }: ReadModel,
  { live, rebuilt }: { readonly live: string; readonly rebuilt: string },
): Promise<TableParity[]> {
  const parity: TableParity[] = []
  // What is grown behind the others lags, and is grown anew.
  for (const table of projections.flatMap(({ tables, grown }) => (grown ? [] : tables))) {
    const [a, b] = [await contentOf(snapshot, live, table), await contentOf(snapshot, rebuilt, table)]
    parity.push({ table: table.name, live: a, rebuilt: b, equal: a.rows === b.rows && a.digest === b.digest })
  }
  return parity
}

async function contentOf(snapshot: PoolClient, schema: string, table: AnyTable): Promise<TableContent> {
  const { rows } = await snapshot.query<TableContent>(
    `select count(*) as rows, coalesce(sum(${digestOf(table)}::numeric), 0)::text as digest from ${schema}.${table.name}`,
  )
  return rows[0] as TableContent
}

/** Digest of one row; that of a row's text would cost more than twice as much. JSON has no digest of its own, so its text has. */
function digestOf({ columns }: AnyTable): string {
  const all = Object.entries(columns) as [string, ColumnType][]
  const plain = all.filter(([, type]) => type !== 'json').map(([name]) => name)
  const json = all.filter(([, type]) => type === 'json').map(([name]) => name)
  return json.reduce(
    (seed, name) => `hashtextextended(coalesce(${name}::text, ''), ${seed})`,
    `hash_record_extended(row(${plain.join(', ')}), 0)`,
  )
}
