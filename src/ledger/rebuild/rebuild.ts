import type { Pool, PoolClient } from 'pg'
import { companyOf, type Envelope, streamOf } from '../envelope.ts'
import { ensureLedger, type Ids, idsAfter } from '../ledgers.ts'
import type { ReadModel } from '../projection.ts'
import { type Reading, readNewest } from '../reading.ts'
import { type AnyTable, indexDdl, tableDdl } from '../table.ts'
import { inTransaction } from '../transaction.ts'
import { replay } from './replay.ts'
import { dropLeftovers, NEXT_SCHEMA, switchSchemas, type TableParity } from './switch-schemas.ts'
import { fits, versionOfTables } from './version.ts'

export interface RebuildOptions extends Reading {
  /** Connections that see the live tables. */
  readonly pool: Pool
  /** Connections that see the tables being made in their place (search_path), without a statement time-out. */
  readonly buildPool: Pool
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

/** One rebuilder at a time; others wait. */
export const REBUILD_LOCK = 7_106_801
/** Companies replayed side by side. */
const PARALLEL = 2
/** Passes beside the writers before each attempt to make them wait: each pass is shorter than the one before. */
const PASSES = 5
/** So few events are caught up while the writers wait. */
const NEARLY_DONE = 500
/** Events between two reports of progress. */
const PROGRESS_EVENTS = 10_000

/**
 * Makes all tables anew from the ledgers, beside the live ones: reads and writes go on, but for a short wait at the switch.
 * It makes no answers and no deliveries. `isDone` is asked once it is this process's turn; then null is returned.
 * @throws OtherVersion when the tables are a newer version's (OPS-37).
 */
export function rebuild(options: RebuildOptions): Promise<RebuildReport>
export function rebuild(options: RebuildOptions, isDone: () => Promise<boolean>): Promise<RebuildReport | null>
export async function rebuild(
  options: RebuildOptions,
  isDone = async () => {
    await fits(options.pool, options.model)
    return false
  },
): Promise<RebuildReport | null> {
  const holder = await options.buildPool.connect()
  try {
    await holder.query('set lock_timeout = 0')
    await holder.query('select pg_advisory_lock($1)', [REBUILD_LOCK])
    if (await isDone()) return null
    return await rebuildAlone(options, holder)
  } finally {
    // The lock goes with its connection.
    holder.release(true)
  }
}

/**
 * Makes the tables fit the projections before anything is served: creates them in an empty database, and replays all
 * ledgers when they belong to another version. Of processes that start together, one does it. Null when nothing was to do.
 */
export async function ensureReadModel(options: RebuildOptions): Promise<RebuildReport | null> {
  if (await fits(options.pool, options.model)) return null
  return rebuild(options, () => fits(options.pool, options.model))
}

async function rebuildAlone(options: RebuildOptions, holder: PoolClient): Promise<RebuildReport> {
  const { pool, store, model } = options
  const tell = options.tell ?? ((line: string) => process.stderr.write(`${line}\n`))
  const before = await versionOfTables(pool)
  await dropLeftovers(holder, { tell })
  await createTables(holder, model)
  for await (const stream of store.streams()) {
    const companyId = companyOf(stream)
    if (companyId !== null) await ensureLedger(pool, companyId)
  }
  const work: Work = { ...options, built: new Map(), ids: new Map(), events: 0, isFirst: before === null }
  await replayAll(work)
  await createIndexes(work)
  const parity = await switchSchemas({
    holder,
    buildPool: options.buildPool,
    model,
    tell,
    before,
    async keepUp() {
      for (let pass = 0; pass < PASSES; pass++) if ((await replayAll(work)) <= NEARLY_DONE) break
    },
    // What came since the last pass, while the writers wait.
    async finish() {
      await replayAll(work)
      if (work.isFirst) await adoptHeads(work, holder)
    },
  })
  return { events: work.events, companies: work.built.size, parity }
}

/** A rebuild under way. */
interface Work extends RebuildOptions {
  /** Revision up to which a company's events have been applied. */
  readonly built: Map<number, number>
  /** What each company has given out by then, where `isFirst`. */
  readonly ids: Map<number, Ids>
  events: number
  /** Whether this Postgres has never had tables: what the store holds then is all there is to know, to its end. */
  readonly isFirst: boolean
}

/** Applies what each ledger holds beyond what was applied, some companies side by side. Returns the number of events. */
async function replayAll(work: Work): Promise<number> {
  // The longest ones first, so that none of them is left alone at the end.
  const { rows } = await work.pool.query<{ company_id: number; revision: number }>(
    'select company_id, revision from ops.ledgers order by revision desc, company_id',
  )
  const before = work.events
  await sideBySide(rows, (row) => replayCompany(work, row.company_id, row.revision))
  return work.events - before
}

async function sideBySide<T>(items: Iterable<T>, doOne: (item: T) => Promise<unknown>): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const failures: unknown[] = []
  const doNext = async () => {
    for (let next = waiting.next(); !next.done && failures.length === 0; next = waiting.next())
      await doOne(next.value).catch((error: unknown) => failures.push(error))
  }
  // Also after a failure: whatever went on would write into the tables of the next rebuild.
  await Promise.all(Array.from({ length: PARALLEL }, doNext))
  if (failures.length > 0) throw failures[0]
}

/** Up to where the live tables have come: what lies beyond has not been reacted to, and is its writer's or catch-up's to apply. */
async function replayCompany(work: Work, companyId: number, revision: number): Promise<void> {
  const { buildPool, model, built } = work
  const upTo = work.isFirst ? Number.MAX_SAFE_INTEGER : revision
  const from = (built.get(companyId) ?? -1) + 1
  if (upTo < from) return
  const read = readNewest(work, streamOf(companyId), from)
  const events = work.isFirst ? withIds(read, companyId, work) : read
  const applied = await inTransaction(buildPool, (tx) =>
    replay(tx, model, companyId, events, upTo, {
      onApplied: progressOf(work),
      ...(from > 0 && { erasesAfter: from - 1 }),
    }),
  )
  built.set(companyId, from + applied - 1)
  work.events += applied
}

async function* withIds(events: AsyncIterable<Envelope>, companyId: number, { ids }: Work): AsyncGenerator<Envelope> {
  for await (const event of events) {
    ids.set(companyId, idsAfter(ids.get(companyId) ?? {}, event))
    yield event
  }
}

/** Adds up what is applied of one company and not yet counted, and reports each round number that is reached. */
function progressOf(work: Work): (events: number) => void {
  let applied = 0
  return (events) => {
    const before = Math.floor((work.events + applied) / PROGRESS_EVENTS)
    applied += events
    const reached = work.events + applied
    if (before < Math.floor(reached / PROGRESS_EVENTS)) work.onProgress?.(reached)
  }
}

/** The ledgers of a Postgres that knows of none begin where the store ends; what was long ago is not told again. */
async function adoptHeads({ built, ids, store }: Work, holder: PoolClient): Promise<void> {
  for (const [companyId, revision] of built) {
    for await (const { hash, recorded_at } of store.read(streamOf(companyId), revision)) {
      await holder.query(
        `update ops.ledgers set revision = $2, reacted_revision = $2, hash = $3, last_recorded_at = $4, ids = $5
         where company_id = $1 and revision < $2`,
        [companyId, revision, hash, recorded_at, JSON.stringify(ids.get(companyId) ?? {})],
      )
      break
    }
  }
}

/** In one text, and so in one transaction: a hundred commits take as long as thousands of events. */
async function createTables(client: PoolClient, model: ReadModel): Promise<void> {
  const tables = tablesOf(model).map((table) => tableDdl(table, NEXT_SCHEMA))
  await client.query([`create schema ${NEXT_SCHEMA};`, ...tables].join('\n'))
}

/**
 * Only queries need them: to build them from full tables costs less than to keep them while these are filled. Those of one
 * table one after the other, because Postgres makes up their names, and would give the same one to two at once.
 */
function createIndexes({ buildPool, model }: Work): Promise<void> {
  const statements = tablesOf(model).map((table) => indexDdl(table, NEXT_SCHEMA).join('\n'))
  return sideBySide(statements, (text) => buildPool.query(text))
}

const tablesOf = ({ projections }: ReadModel): AnyTable[] => projections.flatMap(({ tables }) => [...tables])
