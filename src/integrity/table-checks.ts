import { setTimeout as delay } from 'node:timers/promises'
import type { Pool, PoolClient } from 'pg'
import { type Envelope, streamName } from '#ledger/command.ts'
import { isRecordingCompany } from '#ledger/ledgers.ts'
import { type EventReader, readNewest } from '#ledger/port.ts'
import { collectRefs, READ_SCHEMA, type ReadModel } from '#ledger/projection.ts'
import { differsSince, type RowDifference, type Since } from '#ledger/rebuild/compare-tables.ts'
import { loadTablesHead, type TablesVerification, type VerifyTablesOptions } from '#ledger/rebuild/rebuild.ts'
import type { AnyRef, AnyTable } from '#ledger/table.ts'
import { type Changes, createWorkingSet } from '#ledger/working-set.ts'
import { type Repetition, repeat, type WorkPace } from '#lib/background-loops.ts'
import { transactionOn } from '#postgres/transaction.ts'
import type { Reader } from '#queries/reader.ts'
import { t } from '#queries/table-names.ts'
import { buildVersionChains, type PastRow, type RowChange, rebuildBaseRows, reconstruct } from './past-tables.ts'

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
  const head = await loadTablesHead(client, companyId)
  if (head.version !== model.version || head.revision < verified || head.revision - verified > MOST_EVENTS) return null
  const events: Envelope[] = []
  for await (const event of readNewest(options, streamName(companyId), verified + 1)) {
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
  const refs = events.flatMap((event) => collectRefs(model, event))
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
  const base = await rebuildBaseRows(work.client, ledger)
  for (const [table, rows] of changed)
    for (let from = 0; from < rows.length; from += BATCH_ROWS) {
      const courses = await buildVersionChains(work.client, ledger, table, rows.slice(from, from + BATCH_ROWS))
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

/** A company, and a revision up to which its tables match its ledger. */
export interface VerifiedRevision {
  readonly company_id: number
  readonly revision: number
}

/** Dependencies for comparing a company's tables with its ledger (src/service/core.ts). */
export interface TablesCore {
  readonly pool: Pool
  verifyTables(
    companyId: number,
    options?: Pick<VerifyTablesOptions, 'pace' | 'onApplied'>,
  ): Promise<TablesVerification>
  /**
   * Compares what has changed since these revisions. Returns the companies without a difference; the others need a
   * comparison with their whole ledgers.
   */
  verifyChanges(checks: readonly VerifiedRevision[], pace: WorkPace): Promise<readonly VerifiedRevision[]>
}

/** The last comparison of a company. */
export interface TableCheck {
  readonly checked_at: string
  readonly revision: number
  readonly differences: readonly RowDifference[]
  /** The last comparison with the whole ledger. */
  readonly whole_at: string
  readonly whole_revision: number
}

/** Hours between comparisons of a company, so that each has one within a day. */
const EVERY_HOURS = 20
/** Shorter if rows differ: the operator may have rebuilt the tables, or needs a reminder. */
const AGAIN_HOURS = 1
/** Days between comparisons with whole ledgers: spread, so that companies of one day are not due on one day again. */
const WHOLE_DAYS = { least: 22, most: 28 }

/** Compares a company's tables with its whole ledger and records the result for metrics and panel. */
export async function checkTables(
  core: TablesCore,
  companyId: number,
  options?: Parameters<TablesCore['verifyTables']>[1],
): Promise<TablesVerification> {
  const found = await core.verifyTables(companyId, options)
  if (found.kind !== 'verified') return found
  const { revision, differences } = found
  const hours = differences.length === 0 ? EVERY_HOURS : AGAIN_HOURS
  const days = WHOLE_DAYS.least + Math.random() * (WHOLE_DAYS.most - WHOLE_DAYS.least)
  await core.pool.query({
    ...NOTE_WHOLE,
    values: [companyId, revision, JSON.stringify(differences), differences.length === 0, hours, days],
  })
  return found
}

/** Rows that differ are compared with the whole ledger again. */
const NOTE_WHOLE = {
  name: 'note_table_check',
  text: `insert into table_checks as t
           (company_id, revision, whole_revision, differences, is_equal, checked_at, whole_at, due_at, whole_due_at)
         select $1, $2, $2, $3, $4, at, at, at + make_interval(hours => $5), at + $6::float8 * interval '1 day'
         from clock_timestamp() as at
         on conflict (company_id) do update set revision = excluded.revision, whole_revision = excluded.whole_revision,
           differences = excluded.differences, is_equal = excluded.is_equal, checked_at = excluded.checked_at,
           whole_at = excluded.whole_at, due_at = excluded.due_at, whole_due_at = excluded.whole_due_at`,
}

/** Companies per search for due ones: they share connections with prepared statements. */
const BATCH_COMPANIES = 256

/** Compares what has changed in due companies. Returns those that need a comparison with their whole ledgers. */
async function checkChanges(core: TablesCore, due: readonly VerifiedRevision[], pace: WorkPace): Promise<number[]> {
  const equal = await core.verifyChanges(due, pace)
  await core.pool.query({
    ...NOTE_CHANGES,
    values: [equal.map(({ company_id }) => company_id), equal.map(({ revision }) => revision), EVERY_HOURS],
  })
  const settled = new Set(equal.map(({ company_id }) => company_id))
  return due.flatMap(({ company_id }) => (settled.has(company_id) ? [] : [company_id]))
}

const NOTE_CHANGES = {
  name: 'note_checked_changes',
  text: `update table_checks t set revision = found.revision, checked_at = clock_timestamp(),
           due_at = clock_timestamp() + make_interval(hours => $3)
         from unnest($1::bigint[], $2::bigint[]) as found(company_id, revision)
         where t.company_id = found.company_id and t.is_equal and t.revision <= found.revision`,
}

/** The last comparison of a company; null before the first. */
export async function findTableCheck(reader: Reader): Promise<TableCheck | null> {
  const { rows } = await reader.query<TableCheck>({
    name: 'find_table_check',
    text: `select checked_at, revision, differences, whole_at, whole_revision
           from ${t.table_checks} where company_id = $1 and checked_at is not null`,
  })
  return rows[0] ?? null
}

/** Metrics of the comparisons of all companies. */
export interface TableCheckFigures {
  /** Companies with differing rows in their last comparison. */
  readonly unequal: number
  /** Age of the most overdue comparison; 0 if none is due. */
  readonly overdue_seconds: number
}

export async function tableCheckFigures(pool: Pool): Promise<TableCheckFigures> {
  const { rows } = await pool.query<TableCheckFigures>({
    name: 'read_table_check_figures',
    text: `select (select count(*) from ops.table_checks where not is_equal) as unequal,
             greatest(0, coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0))::float8 as overdue_seconds
           from ops.table_checks where ${isRecordingCompany('company_id')}`,
  })
  return rows[0] as TableCheckFigures
}

interface ScheduleOptions {
  /** Whether the read model lags behind its ledgers; comparisons wait meanwhile. */
  readonly isBehind: () => boolean
  readonly onDifferent: (companyId: number, revision: number, differences: readonly RowDifference[]) => void
  readonly onError: (error: unknown) => void
  /** Pause after a slice that took `spent_ms`. */
  readonly rest_ms?: (spent_ms: number) => number
}

/** Interval between searches for due companies. */
const ROUND_MS = 60_000
/** Pause in multiples of the work time: comparisons use a fifth of the time, so that other work comes first. */
const RESTS = 4
/** Poll interval while the read model is behind. */
const BEHIND_MS = 1_000

/**
 * Compares what has changed in each company within a day, many companies at once, and each whole ledger within a month,
 * one at a time, at low load. Any number of processes share the companies. A failure for one company does not stop the
 * others.
 */
export function checkTablesOnSchedule(core: TablesCore, options: ScheduleOptions): Repetition {
  const { isBehind, onDifferent, onError, rest_ms = (spent) => spent * RESTS } = options
  const round = async (signal: AbortSignal): Promise<void> => {
    const pace = async (spent_ms: number): Promise<void> => {
      await delay(rest_ms(spent_ms), undefined, { signal })
      while (isBehind()) await delay(BEHIND_MS, undefined, { signal })
    }
    /** False if the tables are about to change. */
    const checkWhole = async (companyId: number): Promise<boolean> => {
      try {
        const found = await checkTables(core, companyId, { pace })
        if (found.kind !== 'verified') return false
        if (found.differences.length > 0) onDifferent(companyId, found.revision, found.differences)
      } catch (error) {
        if (signal.aborted) return false
        onError(error)
      }
      return true
    }
    await core.pool.query(NOTE_NEW)
    while (!signal.aborted && !isBehind()) {
      const changes = await claim(core.pool, IS_CHANGES, BATCH_COMPANIES)
      // Whole ledgers wait for changes, which take far less.
      const whole = changes.length > 0 ? await checkChanges(core, changes, pace) : await nextWhole(core.pool)
      if (changes.length === 0 && whole.length === 0) return
      for (const companyId of whole) if (!(await checkWhole(companyId))) return
    }
  }
  return repeat(round, ROUND_MS, onError)
}

const NOTE_NEW = {
  name: 'note_unchecked_companies',
  text: `insert into table_checks (company_id, due_at)
         select company_id, clock_timestamp() from ledgers l
         where not exists (select from table_checks c where c.company_id = l.company_id)
         on conflict do nothing`,
}

/** What has changed since the last comparison is compared, not the whole ledger. */
const IS_CHANGES = 'is_equal and whole_due_at > now()'

/** Due companies, which no other process takes for an hour: one that failed, or was killed, is due again then. */
async function claim(pool: Pool, condition: string, limit: number): Promise<VerifiedRevision[]> {
  const { rows } = await pool.query<VerifiedRevision>(
    `update table_checks t set due_at = clock_timestamp() + make_interval(hours => $1)
     where company_id = any (array(
       select company_id from table_checks where due_at <= now() and ${condition} and ${isRecordingCompany('company_id')}
       order by due_at limit $2 for update skip locked))
     returning company_id, revision`,
    [AGAIN_HOURS, limit],
  )
  return rows
}

async function nextWhole(pool: Pool): Promise<number[]> {
  const claimed = await claim(pool, `not (${IS_CHANGES})`, 1)
  return claimed.map(({ company_id }) => company_id)
}
