import type { Pool, PoolClient } from 'pg'
import type { ReadModel } from '../projection.ts'
import type { EventReader } from '../reading.ts'
import { type AnyTable, indexDdl, tableDdl } from '../table.ts'
import { paced, type ReplayPace } from './replay.ts'
import { NEXT_SCHEMA, type TableParity } from './switch-schemas.ts'

export interface RebuildOptions extends EventReader {
  /** Connections that see the live tables. */
  readonly pool: Pool
  /** Connections that see the tables being made in their place (search_path), without a statement time-out. */
  readonly buildPool: Pool
  /** Companies replayed side by side; a connection of `buildPool` each, beside two others. 2 by default. */
  readonly parallel?: number | undefined
  /**
   * What becomes of a company whose ledger has fields that cannot be opened: by default the rebuild fails; `block` makes its tables with
   * these fields empty, and the company read-only. One that is read-only for it already is never in the way.
   */
  readonly missingKeys?: 'fail' | 'block' | undefined
  /** Not kept while writers wait. */
  readonly pace?: ReplayPace | undefined
  /** Told now and then how many events have been applied so far. */
  readonly onProgress?: (events: number) => void
  /** Told what it waits for, in words for the operator; on standard error by default. */
  readonly tell?: (line: string) => void
}

export interface RebuildReport {
  readonly events: number
  readonly companies: number
  /** Live tables against rebuilt ones at the moment of the switch; null where there were none of this version to compare. */
  readonly parity: readonly TableParity[] | null
}

/** Companies replayed side by side where nobody says how many. */
export const PARALLEL = 2

/** Does something with each item, some at a time. @throws the first failure, once all that was begun has ended */
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
  // Also after a failure: whatever went on would write into the tables of the next rebuild.
  await Promise.all(Array.from({ length: parallel }, doNext))
  if (failures.length > 0) throw failures[0]
}

/** Events between two reports of progress. */
const PROGRESS_EVENTS = 10_000

/** Adds up what is applied of one company and not yet counted, and reports each round number that is reached. */
export function progressOf(
  work: { readonly events: number },
  onProgress: ((events: number) => void) | undefined,
): (events: number) => void {
  let applied = 0
  return (events) => {
    const before = Math.floor((work.events + applied) / PROGRESS_EVENTS)
    applied += events
    const reached = work.events + applied
    if (before < Math.floor(reached / PROGRESS_EVENTS)) onProgress?.(reached)
  }
}

/** In one text, and so in one transaction: a hundred commits take as long as thousands of events. `also` goes with them. */
export async function createTables(client: PoolClient, model: ReadModel, also: readonly string[] = []): Promise<void> {
  const tables = tablesOf(model).map((table) => tableDdl(table, NEXT_SCHEMA))
  await client.query([`create schema ${NEXT_SCHEMA};`, ...tables, ...also].join('\n'))
}

/**
 * Indexes and statistics: only queries need them. To build an index from a full table costs less than to keep it while that is
 * filled, and without statistics the first queries would be planned as for an empty table. Indexes of one table one after the
 * other, because Postgres makes up their names, and would give the same one to two at once.
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
