import type { Pool, PoolClient } from 'pg'
import { runPaced, type WorkPace } from '#lib/background-loops.ts'
import { inTransactionOn, transactionOn, tryAdvisoryLock } from '#postgres/transaction.ts'
import { streamName } from '../command.ts'
import { type EventReader, readNewest } from '../port.ts'
import { tableDdl } from '../table.ts'
import { compareRows, type RowDifference } from './compare-tables.ts'
import { REBUILD_LOCK } from './rebuild.ts'
import { replay } from './replay.ts'

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
/** Maximum number of events applied while a snapshot is held, because a snapshot blocks vacuum. */
const NEARLY_DONE = 500
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
  const work: Work = { client, options, companyId, done: -1, began: null }
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

interface Work {
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
async function replayTo(work: Work, head: number, pace: WorkPace | undefined): Promise<void> {
  while (work.done < head)
    await runPaced(pace, () =>
      inTransactionOn(work.client, () => apply(work, Math.min(head, work.done + PORTION_EVENTS)), BEGIN),
    )
}

async function apply(work: Work, upTo: number): Promise<void> {
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

async function compareNow(work: Work): Promise<TablesVerification> {
  const { client, companyId, options } = work
  await client.query('begin isolation level repeatable read')
  // The first statement takes the snapshot: revision, version and rows are consistent.
  const { revision, version } = await loadTablesHead(client, companyId)
  if (version !== options.model.version) return { kind: 'other_version' }
  if (work.done < revision) await apply(work, revision)
  const differences = await compareRows(client, options.model, companyId, 'pg_temp')
  return { kind: 'verified', revision, differences }
}
