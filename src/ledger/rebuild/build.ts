import type { Pool, PoolClient } from 'pg'
import { paced, type WorkPace } from '#background/pace.ts'
import type { ReadModel } from '../projection.ts'
import type { EventReader } from '../reading.ts'
import { type AnyTable, indexDdl, tableDdl } from '../table.ts'
import type { TableParity } from './compare-tables.ts'
import { NEXT_SCHEMA } from './switch-schemas.ts'

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

/** One text and so one transaction: a hundred commits take as long as thousands of events. `also` is part of it. */
export async function createTables(client: PoolClient, model: ReadModel, also: readonly string[] = []): Promise<void> {
  const tables = tablesOf(model).map((table) => tableDdl(table, NEXT_SCHEMA))
  await client.query([`create schema ${NEXT_SCHEMA};`, ...tables, ...also].join('\n'))
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
