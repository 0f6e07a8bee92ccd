import type { Pool, PoolClient } from 'pg'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import { READ_SCHEMA, type ReadModel, refsOf } from '#ledger/projection.ts'
import { type EventReader, readNewest } from '#ledger/reading.ts'
import { differsSince, type Since } from '#ledger/rebuild/compare-tables.ts'
import { tablesHeadOf } from '#ledger/rebuild/verify-tables.ts'
import type { AnyRef, AnyTable } from '#ledger/table.ts'
import { type Changes, createWorkingSet } from '#ledger/working-set.ts'
import { transactionOn } from '#postgres/transaction.ts'
import { baseOf, type PastRow, type RowChange, reconstruct, versionChainsOf } from './row-versions.ts'

/**
 * Compares what has changed since a verified revision: the events since then are applied to the rows as they were
 * before, and each row that they touch is compared with the live one; so is each live row that says it is of these
 * events. It does not see rows that no new event touches, tables without past states, history columns, columns that
 * past states lack, and rollups: the comparison with the whole ledger does.
 */

/** Events held in memory. More are left to the comparison with the whole ledger. */
const MOST_EVENTS = 10_000
/** Rows reconstructed at once. */
const BATCH_ROWS = 500
const NEVER = new AbortController().signal

export interface ChangesOptions extends EventReader {
  readonly pool: Pool
}

/** Returns the revision of the comparison; null if rows differ, or only the whole ledger can tell. */
export async function compareChanges(
  options: ChangesOptions,
  companyId: number,
  verified: number,
): Promise<number | null> {
  const client = await options.pool.connect()
  try {
    return await compareOn(client, options, companyId, verified)
  } finally {
    await client.query('rollback').catch(() => {})
    client.release()
  }
}

async function compareOn(
  client: PoolClient,
  options: ChangesOptions,
  companyId: number,
  verified: number,
): Promise<number | null> {
  const { model } = options
  const locked = model.base.map(({ table }) => `lock table ${READ_SCHEMA}.${table.name} in access share mode`)
  // Keeps a rebuild from replacing the tables. The next statement takes the snapshot.
  await client.query(['begin isolation level repeatable read', 'set local jit = off', ...locked].join(';'))
  const head = await tablesHeadOf(client, companyId)
  if (head.version !== model.version || head.revision < verified || head.revision - verified > MOST_EVENTS) return null
  const events: Envelope[] = []
  for await (const event of readNewest(options, streamOf(companyId), verified + 1)) {
    if (event.revision > head.revision) break
    events.push(event)
  }
  if (events.length !== head.revision - verified || events.some((event) => model.emptiedBy(event).length > 0))
    return null
  if (events.length === 0) return head.revision
  const touched = await project({ ...options, client, companyId }, events, verified)
  const [from = ''] = events.map(({ recorded_at }) => recorded_at).sort()
  const since: Since = { companyId, revision: verified, from }
  for (const table of pastTablesOf(model))
    if (await differsSince(client, table, since, [...(touched.get(table) ?? new Map()).values()])) return null
  return head.revision
}

const pastTablesOf = ({ projections }: ReadModel): AnyTable[] =>
  projections.flatMap(({ tables }) => tables.filter(({ past }) => past))

/** Rows by table and primary key; null for an absent one. */
type RowsByKey = Map<AnyTable, Map<string, PastRow | null>>

interface Projecting extends ChangesOptions {
  readonly client: PoolClient
  readonly companyId: number
}

/** Rows that the events make of the rows before them. */
async function project(work: Projecting, events: readonly Envelope[], verified: number): Promise<RowsByKey> {
  const { model, client, companyId } = work
  const set = createWorkingSet()
  const refs = events.flatMap((event) => refsOf(model, event))
  set.queue(companyId, refs)
  await Promise.all(set.load(transactionOn(client)))
  const live = set.of(companyId)
  const before = await rowsBefore(work, live, refs, verified)
  const touched: RowsByKey = new Map()
  const put = (table: AnyTable, row: PastRow) => {
    if (!table.past) return
    for (const rows of [before, touched]) rowsOf(rows, table).set(keyOf(pkOf(table, row)), row)
  }
  const changes: Changes = {
    get<R>(ref: AnyRef) {
      if (!ref.table.past) return live.get<R>(ref)
      // Unique keys have no effect on past states.
      return ref.by === 'pk' ? ((rowsOf(before, ref.table).get(keyOf(ref.values)) ?? null) as R | null) : null
    },
    add: (table, row) => put(table, row as PastRow),
    put: (table, row) => put(table, row as PastRow),
    wants: ({ table }) => table.past !== undefined,
  }
  const handlers = model.projections.filter(({ tables }) => tables.some(({ past }) => past))
  for (const event of events) for (const { on } of handlers) on[event.type]?.apply(changes, event)
  return touched
}

/** The rows of these keys at the verified revision, by primary key. */
async function rowsBefore(
  work: Projecting,
  live: Changes,
  refs: readonly AnyRef[],
  verified: number,
): Promise<RowsByKey> {
  const before: RowsByKey = new Map()
  const changed = new Map<AnyTable, RowChange[]>()
  for (const { table, by, values } of refs) {
    const rows = rowsOf(before, table)
    const key = keyOf(values)
    if (!table.past || by !== 'pk' || rows.has(key)) continue
    const row = live.get<PastRow>({ table, by, values })
    const isOlder = row !== null && (row.revision as number) <= verified
    rows.set(key, isOlder ? row : null)
    if (row === null || isOlder || table.past.isFixed || (row.first_revision as number) > verified) continue
    const changes = changed.get(table) ?? []
    changed.set(table, changes)
    changes.push({ ...(row as unknown as RowChange), id: row[table.past.id] as number })
  }
  if (changed.size === 0) return before
  const ledger = { ...work, revision: verified, until: null, signal: NEVER }
  const base = await baseOf(work.client, ledger)
  for (const [table, rows] of changed)
    for (let from = 0; from < rows.length; from += BATCH_ROWS) {
      const courses = await versionChainsOf(work.client, ledger, table, rows.slice(from, from + BATCH_ROWS))
      for (const row of await reconstruct(ledger, table, courses, base))
        rowsOf(before, table).set(keyOf(pkOf(table, row)), row)
    }
  return before
}

function rowsOf(rows: RowsByKey, table: AnyTable): Map<string, PastRow | null> {
  const found = rows.get(table) ?? new Map<string, PastRow | null>()
  rows.set(table, found)
  return found
}

/** Values of the primary key without the company. */
const pkOf = ({ keys }: AnyTable, row: PastRow): unknown[] =>
  keys.pk.filter((column) => column !== 'company_id').map((column) => row[column as string])

const keyOf = (values: readonly unknown[]): string => JSON.stringify(values)
