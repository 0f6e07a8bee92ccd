import type { Pool, PoolClient } from 'pg'
import { runPaced, type WorkPace } from '#lib/background-loops.ts'
import {
  type BulkTransaction,
  inTransaction,
  inTransactionOn,
  transactionOn,
  tryAdvisoryLock,
  withAdvisoryLock,
} from '#postgres/transaction.ts'
import { companyIdOfStream, type Envelope, streamName } from '../command.ts'
import { ensureLedger, type Ids, idsAfter } from '../ledgers.ts'
import { type EventReader, isOutside, readNewest } from '../port.ts'
import type { CannotOpen, MissingKeys } from '../sealed-fields.ts'
import { tableDdl } from '../table.ts'
import {
  ESTIMATED_RATE,
  forgetBuilt,
  noteBuilt,
  openTables,
  PARALLEL,
  prepareForQueries,
  type RebuildOptions,
  type RebuildReport,
  sideBySide,
  switchSchemas,
} from './build.ts'
import { compareRows, type RowDifference } from './compare-tables.ts'
import { replay } from './replay.ts'
import { isCompatible, versionOfTables } from './version.ts'

type FillOptions = RebuildOptions & Required<Pick<RebuildOptions, 'tell'>>

/**
 * Creates the tables of a Postgres that never had any, and its rows of `ops.ledgers`, from the store. No webhooks are
 * sent for past events. Each company is one transaction; after a crash the next run continues with the missing
 * companies. There are no concurrent writers, because without tables no command can be decided. `holder` has
 * the rebuild's lock.
 */
async function fill(options: FillOptions, holder: PoolClient): Promise<RebuildReport> {
  const { buildPool, model, store, tell, parallel = PARALLEL } = options
  const filled = new Set((await openTables(holder, options)).map(({ company_id }) => company_id))
  const companies: number[] = []
  for await (const stream of store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null && !filled.has(companyId)) companies.push(companyId)
  }
  const work = { events: 0 }
  await sideBySide(companies, (companyId) => fillCompany(options, work, companyId), parallel)
  await prepareForQueries(options)
  await switchSchemas({
    holder,
    buildPool,
    model,
    tell,
    before: null,
    keepUp: async () => {},
    finish: () => forgetBuilt(holder),
  })
  return { events: work.events, companies: filled.size + companies.length, parity: null }
}

/** State at the end of a ledger: its last event and assigned ids. */
interface End {
  last: Pick<Envelope, 'revision' | 'hash' | 'recorded_at'> | null
  ids: Ids
  /** The first failure to open a field; null if there was none. */
  cannotOpen: CannotOpen | null
}

async function fillCompany(options: FillOptions, work: { events: number }, companyId: number): Promise<void> {
  const { buildPool, model, onApplied, missingKeys, tell } = options
  const end: End = { last: null, ids: {}, cannotOpen: null }
  const onCannotOpen = (error: CannotOpen) => {
    end.cannotOpen ??= error
  }
  const reading = { ...options, ...(missingKeys === 'block' && { onCannotOpen }) }
  const events = watched(readNewest(reading, streamName(companyId), 0), end)
  const applied = await inTransaction(buildPool, async (tx) => {
    const replayed = await replay(tx, model, companyId, events, Number.MAX_SAFE_INTEGER, { onApplied })
    await adopt(tx, companyId, end)
    return replayed
  })
  if (end.cannotOpen) tell(`rebuild: company ${companyId} is read-only, with empty fields: ${end.cannotOpen.message}`)
  // Added after the wait: other companies are filled concurrently.
  work.events += applied
}

async function* watched(events: AsyncIterable<Envelope>, end: End): AsyncGenerator<Envelope> {
  for await (const event of events) {
    end.ids = idsAfter(end.ids, event)
    end.last = event
    yield event
  }
}

/** Creates the ledger row at the end of its stream. */
async function adopt(tx: BulkTransaction, companyId: number, { last, ids, cannotOpen }: End): Promise<void> {
  const missingKeys: MissingKeys | null = cannotOpen ? 'blank' : null
  if (last)
    await tx.query(ADOPT_LEDGER, [
      companyId,
      last.revision,
      last.hash,
      last.recorded_at,
      JSON.stringify(ids),
      missingKeys,
    ])
  await noteBuilt(tx, { company_id: companyId, revision: last?.revision ?? -1, is_blank: cannotOpen !== null })
}

const ADOPT_LEDGER = {
  name: 'adopt_ledger',
  text: `insert into ops.ledgers as l (company_id, revision, reacted_revision, hash, last_recorded_at, ids, missing_keys)
         values ($1, $2, $2, $3, $4, $5, $6)
         on conflict (company_id) do update
         set revision = excluded.revision, reacted_revision = excluded.reacted_revision, hash = excluded.hash,
           last_recorded_at = excluded.last_recorded_at, ids = excluded.ids, missing_keys = excluded.missing_keys
         where l.revision < excluded.revision`,
}

/** One rebuilder at a time; others wait. */
export const REBUILD_LOCK = 'tillbook rebuild'
/** Passes beside the writers before each attempt to make them wait. Each pass is shorter than the one before. */
const PASSES = 5
/** Maximum number of events to catch up while the writers wait. */
const NEARLY_DONE = 500

/**
 * Rebuilds all tables from the ledgers, beside the live ones: reads and writes go on, except for a short wait at the
 * switch. It creates no stored answers and no deliveries. `isDone` is checked once this process has the lock; if it is
 * true, null is returned. @throws IncompatibleVersion if the tables belong to a newer version.
 */
export function rebuild(options: RebuildOptions): Promise<RebuildReport>
export function rebuild(options: RebuildOptions, isDone: () => Promise<boolean>): Promise<RebuildReport | null>
export async function rebuild(
  options: RebuildOptions,
  isDone = async () => {
    await isCompatible(options.pool, options.model)
    return false
  },
): Promise<RebuildReport | null> {
  return withAdvisoryLock(options.buildPool, { key: REBUILD_LOCK, wait_ms: Infinity }, async (holder) => {
    await holder.query('set lock_timeout = 0')
    if (await isDone()) return null
    return await rebuildAlone(options, holder)
  })
}

/**
 * Makes the tables match the projections before the service starts: creates them in an empty database, and replays all
 * ledgers if they belong to another version. Of processes that start together, one does it. Null if nothing was to do.
 */
export async function ensureReadModel(options: RebuildOptions): Promise<RebuildReport | null> {
  if (await isCompatible(options.pool, options.model)) return null
  return rebuild(options, () => isCompatible(options.pool, options.model))
}

async function rebuildAlone(options: RebuildOptions, holder: PoolClient): Promise<RebuildReport> {
  const { pool, store, model } = options
  const tell = options.tell ?? ((line: string) => process.stderr.write(`${line}\n`))
  const before = await versionOfTables(pool)
  // Without tables the store is the only source.
  if (before === null) return fill({ ...options, tell }, holder)
  const built = await openTables(holder, { model, tell })
  for await (const stream of store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null) await ensureLedger(pool, companyId)
  }
  const work: Work = {
    ...options,
    tell,
    built: new Map(built.map(({ company_id, revision }) => [company_id, revision])),
    blank: new Set(built.flatMap(({ company_id, is_blank }) => (is_blank ? [company_id] : []))),
    events: 0,
  }
  await tellEstimate(work)
  await replayAll(work, work.pace)
  await prepareForQueries(options)
  const parity = await switchSchemas({
    holder,
    buildPool: options.buildPool,
    model,
    tell,
    before,
    async keepUp() {
      for (let pass = 0; pass < PASSES; pass++) if ((await replayAll(work, work.pace)) <= NEARLY_DONE) break
    },
    // Events since the last pass, while the writers wait.
    async finish() {
      await replayAll(work, undefined)
      await noteMissingKeys(holder, work)
      await forgetBuilt(holder)
    },
  })
  return { events: work.events, companies: work.built.size, parity }
}

/** Tells how long the rebuild takes, if more than a minute; a caller that shows progress has told it. */
async function tellEstimate({ pool, built, onApplied, tell }: Work): Promise<void> {
  const { rows } = await pool.query<{ events: number }>(
    'select coalesce(sum(revision + 1), 0)::bigint as events from ops.ledgers',
  )
  const done = [...built.values()].reduce((sum, revision) => sum + revision + 1, 0)
  const events = (rows[0]?.events ?? 0) - done
  const minutes = Math.round(events / ESTIMATED_RATE / 60)
  if (!onApplied && minutes >= 1)
    tell(`rebuild: ${events} events, about ${minutes} minutes; the former tables serve meanwhile`)
}

/** State of a running rebuild. */
interface Work extends RebuildOptions {
  /** Applied revision by company. */
  readonly built: Map<number, number>
  /** Companies with fields that could not be opened. */
  readonly blank: Set<number>
  readonly tell: (line: string) => void
  events: number
}

/** In the transaction of the switch. Later events of an external store are applied before a company writes again. */
async function noteMissingKeys(holder: PoolClient, { store, built, blank }: Work): Promise<void> {
  const whole = [...built.keys()].filter((companyId) => !blank.has(companyId))
  await holder.query(`update ops.ledgers set missing_keys = 'blank' where company_id = any($1::bigint[])`, [[...blank]])
  await holder.query(
    `update ops.ledgers set missing_keys = $2 where company_id = any($1::bigint[]) and missing_keys = 'blank'`,
    [whole, isOutside(store) ? 'pending' : null],
  )
}

/** Applies each ledger's new events, several companies in parallel. Returns the number of events. */
async function replayAll(work: Work, pace: WorkPace | undefined): Promise<number> {
  // The longest ledgers first, so that none of them runs alone at the end; of equal ones those that were written last.
  const { rows } = await work.pool.query<Ledger>(
    `select company_id, revision, missing_keys = 'blank' as is_blank from ops.ledgers order by revision desc, last_recorded_at desc, company_id`,
  )
  const before = work.events
  await sideBySide(rows, (row) => replayCompany(work, row, pace), work.parallel ?? PARALLEL)
  return work.events - before
}

interface Ledger {
  readonly company_id: number
  readonly revision: number
  /** Whether the live tables lack the same fields already. */
  readonly is_blank: boolean | null
}

/**
 * Replays up to the revision of the live tables: later events have had no reactions yet, and are left to their writer
 * or to catch-up.
 */
async function replayCompany(
  work: Work,
  { company_id: companyId, revision: upTo, is_blank }: Ledger,
  pace: WorkPace | undefined,
): Promise<void> {
  const { buildPool, model, built } = work
  const from = (built.get(companyId) ?? -1) + 1
  if (upTo < from) return
  const mayLack = is_blank === true || work.missingKeys === 'block'
  const onCannotOpen = mayLack ? (error: CannotOpen) => noteBlank(work, companyId, error) : undefined
  const events = readNewest({ ...work, onCannotOpen }, streamName(companyId), from)
  const applied = await inTransaction(buildPool, async (tx) => {
    const replayed = await replay(tx, model, companyId, events, upTo, {
      onApplied: work.onApplied,
      pace,
      ...(from > 0 && { erasesAfter: from - 1 }),
    })
    const is_blank = work.blank.has(companyId)
    await noteBuilt(tx, { company_id: companyId, revision: from + replayed - 1, is_blank })
    return replayed
  })
  built.set(companyId, from + applied - 1)
  work.events += applied
}

function noteBlank({ blank, tell }: Pick<Work, 'blank' | 'tell'>, companyId: number, error: CannotOpen): void {
  if (!blank.has(companyId))
    tell(`rebuild: company ${companyId} becomes read-only, with empty fields: ${error.message}`)
  blank.add(companyId)
}

export interface VerifyTablesOptions extends EventReader {
  /** Provides one connection without a statement time-out, which is closed afterwards. */
  readonly pool: Pool
  readonly pace?: WorkPace
  /** Called with the number of events of each applied batch. */
  readonly onApplied?: (events: number) => void
}

/** `busy`: another process rebuilds. `other_version`: the tables belong to another version of the program. */
export type TablesVerification =
  | {
      readonly kind: 'verified'
      /** Ledger revision of the comparison; -1 for an empty ledger. */
      readonly revision: number
      /** The first ones of each table. */
      readonly differences: readonly RowDifference[]
    }
  | { readonly kind: 'busy' | 'other_version' }

/** Events per portion. Bounds memory and the wait for a pause. */
const PORTION_EVENTS = 5_000
/**
 * Compares all rows of a company with those that its ledger produces, as of one revision. The ledger is replayed into
 * temporary tables without locks. The last events are applied and the rows compared in one snapshot. Postgres merges
 * both tables, so memory does not grow with the company.
 */
export async function verifyTables(options: VerifyTablesOptions, companyId: number): Promise<TablesVerification> {
  const client = await options.pool.connect()
  try {
    return await verifyOn(client, options, companyId)
  } finally {
    // Explicitly, because a connection with many temporary rows takes time to close.
    await client.query('rollback; select pg_catalog.pg_advisory_unlock_all()').catch(() => {})
    client.release(true)
  }
}

/** Unqualified names refer to temporary tables. */
const SETTINGS = `set temp_buffers = '32MB'; set search_path = pg_temp; set jit = off;`

async function verifyOn(
  client: PoolClient,
  options: VerifyTablesOptions,
  companyId: number,
): Promise<TablesVerification> {
  const { model, pace } = options
  const tables = model.projections.flatMap((projection) => [...projection.tables])
  await client.query([SETTINGS, ...tables.map((table) => tableDdl(table, 'pg_temp'))].join('\n'))
  const work: Verification = { client, options, companyId, done: -1, began: null }
  for (let passes = 0; ; passes++) {
    const head = await loadTablesHead(client, companyId)
    work.began ??= head.revision
    if (head.version !== model.version) return { kind: 'other_version' }
    if (passes > 0 && head.revision - work.done <= NEARLY_DONE) break
    // Later passes run without pauses: otherwise they might never catch up with a company that writes all the time.
    await replayTo(work, head.revision, passes === 0 ? pace : undefined)
  }
  await client.query(`analyze ${tables.map(({ name }) => `pg_temp.${name}`).join(', ')}`)
  // Keeps a rebuild from replacing the tables during the comparison.
  if (!(await tryAdvisoryLock(client, REBUILD_LOCK, 'shared'))) return { kind: 'busy' }
  return compareNow(work)
}

interface Verification {
  readonly client: PoolClient
  readonly options: VerifyTablesOptions
  readonly companyId: number
  /** Applied revision. */
  done: number
  /** Ledger revision when the first events were read; null before. */
  began: number | null
}

/** Revision and version of the tables. */
export async function loadTablesHead(
  client: PoolClient,
  companyId: number,
): Promise<{ revision: number; version: string | null }> {
  const { rows } = await client.query<{ revision: number; version: string | null }>(
    `select l.revision, m.version from ops.read_model m left join ops.ledgers l on l.company_id = $1`,
    [companyId],
  )
  return { revision: rows[0]?.revision ?? -1, version: rows[0]?.version ?? null }
}

const BEGIN = `begin; set local enable_seqscan = off; set local enable_hashjoin = off;
  set local enable_mergejoin = off; set local plan_cache_mode = force_generic_plan`

/** One transaction per portion: a long one would block vacuum. Tables without statistics are read by key lookups. */
async function replayTo(work: Verification, head: number, pace: WorkPace | undefined): Promise<void> {
  while (work.done < head)
    await runPaced(pace, () =>
      inTransactionOn(work.client, () => apply(work, Math.min(head, work.done + PORTION_EVENTS)), BEGIN),
    )
}

async function apply(work: Verification, upTo: number): Promise<void> {
  const { client, companyId, done } = work
  const { model, onApplied } = work.options
  const events = readNewest(work.options, streamName(companyId), done + 1)
  const applied = await replay(transactionOn(client), model, companyId, events, upTo, {
    onApplied,
    ...(work.began !== null && { erasesAfter: work.began }),
  })
  if (applied !== upTo - done) throw new Error(`the ledger of company ${companyId} ends before its tables do`)
  work.done = upTo
}

async function compareNow(work: Verification): Promise<TablesVerification> {
  const { client, companyId, options } = work
  await client.query('begin isolation level repeatable read')
  // The first statement takes the snapshot: revision, version and rows are consistent.
  const { revision, version } = await loadTablesHead(client, companyId)
  if (version !== options.model.version) return { kind: 'other_version' }
  if (work.done < revision) await apply(work, revision)
  const differences = await compareRows(client, options.model, companyId, 'pg_temp')
  return { kind: 'verified', revision, differences }
}
