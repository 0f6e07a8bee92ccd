import type { Pool, PoolClient } from 'pg'
import { paced, type WorkPace } from '#background/pace.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { ReadModel } from '../projection.ts'
import type { EventReader } from '../reading.ts'
import { type AnyTable, indexDdl, tableDdl } from '../table.ts'
import type { TableParity } from './compare-tables.ts'
import { dropLeftovers, NEXT_SCHEMA } from './switch-schemas.ts'

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
    ...tablesOf(model).map((table) => tableDdl(table, NEXT_SCHEMA)),
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
      await paced(pace, () => buildPool.query(statement))
  }
  return sideBySide(tablesOf(model), prepare, parallel)
}

const tablesOf = ({ projections }: ReadModel): AnyTable[] => projections.flatMap(({ tables }) => [...tables])
