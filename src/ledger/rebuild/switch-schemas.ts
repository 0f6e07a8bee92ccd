import type { Pool, PoolClient } from 'pg'
import { READ_SCHEMA, type ReadModel } from '../projection.ts'
import type { AnyTable, ColumnType } from '../table.ts'

/** Where a rebuild makes the tables that will take the place of the live ones. */
export const NEXT_SCHEMA = 'read_next'

/** Where those before are kept until they were compared. */
const FORMER_SCHEMA = 'read_former'

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
  for (const table of projections.flatMap(({ tables }) => tables)) {
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
