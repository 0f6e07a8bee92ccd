import type { Pool } from 'pg'
import { type IdKind, isIdKind } from '#domain/record-values.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Queryable } from '#postgres/database.ts'
import type { Statement, Transaction } from '#postgres/transaction.ts'
import { type Envelope, GENESIS_HASH } from './command.ts'
import { KeysMissing, type MissingKeys } from './sealed-fields.ts'

/** The highest assigned id of each kind in a company; a kind without ids is missing. */
export type Ids = Readonly<Partial<Record<IdKind, number>>>

/** A row of `ops.ledgers`: the lock of a company's ledger, and the revision of its read model. */
interface LedgerRow {
  company_id: number
  revision: number
  reacted_revision: number
  hash: string
  last_recorded_at: string | null
  ids: Ids
  missing_keys: MissingKeys | null
  closed_at: string | null
}

/** A company's locked ledger during a unit of work. */
export interface OpenLedger {
  readonly companyId: number
  /** Revision that the stream must have when the unit of work appends. */
  readonly expectedRevision: number
  revision: number
  hash: string
  lastRecordedAt: string
  ids: Ids
  /**
   * Time of the last event if that is ahead of the clock; new events get this time until the clock has passed it. Null
   * otherwise.
   */
  aheadUntil: string | null
  /** Reason why writes are refused, such as an export or missing person keys; null if they are accepted. */
  readonly closed: Unavailable | null
  /** Postgres's clock when the ledger was locked. */
  readonly now: string
  /** Reactors have processed all events up to this revision. */
  readonly reactedRevision: number
  /** Whether reactors created work that other components wait for. */
  hasReacted: boolean
  readonly commands: Envelope[][]
  /** Statements to run after all rows are written and before COMMIT, in this order. */
  readonly finishing: ((tx: Transaction) => Promise<unknown>)[]
}

/** The last event is ahead of the clock: the ledger is read-only until an operator corrects it. */
export class LedgerAhead extends Unavailable {
  constructor(companyId: number, until: string) {
    super(`the ledger of company ${companyId} is ahead of the clock, until ${until}`)
  }
}

/** Tolerated setback of the clock, in ms, as clock synchronisation causes it. */
const AHEAD_MS = 60_000

const EPOCH = '1970-01-01T00:00:00.000Z'

const lockLedgers = {
  name: 'lock_ledgers',
  text: `select company_id, revision, reacted_revision, hash, last_recorded_at, ids, missing_keys, closed_at from ledgers
         where company_id = any($1::bigint[]) order by company_id for update`,
}

const lockFreeLedgers = { name: 'lock_free_ledgers', text: `${lockLedgers.text} skip locked` }

const readClock = {
  name: 'read_clock',
  text: `select date_trunc('milliseconds', clock_timestamp()) as now, (select version from read_model) as version`,
}

const advanceLedgers = {
  name: 'advance_ledgers',
  text: `update ledgers l
         set revision = v.revision, reacted_revision = greatest(l.reacted_revision, v.revision), hash = v.hash, last_recorded_at = v.last_recorded_at, ids = v.ids
         from unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[], $5::json[]) as v(company_id, revision, hash, last_recorded_at, ids)
         where l.company_id = v.company_id`,
}

/**
 * Locks the ledgers in order of company id. A statement of its own: rows loaded afterwards are protected by the lock.
 */
export const lockLedger = (tx: Transaction, companyIds: readonly number[]): Promise<Map<number, LedgerRow>> =>
  lockWith(lockLedgers, tx, companyIds)

/** As lockLedger, but skips ledgers that another transaction has locked. */
export const lockLedgerIfFree = (tx: Transaction, companyIds: readonly number[]): Promise<Map<number, LedgerRow>> =>
  lockWith(lockFreeLedgers, tx, companyIds)

async function lockWith(statement: Statement, tx: Transaction, companyIds: readonly number[]) {
  const { rows } = await tx.query<LedgerRow>(statement, [companyIds])
  return new Map(rows.map((row) => [row.company_id, row]))
}

/** Postgres's clock, which all processes share, and the read model version of the tables. */
export async function readLedgerClock(tx: Transaction): Promise<{ now: string; version: string | null }> {
  const { rows } = await tx.query<{ now: string; version: string | null }>(readClock)
  const [row] = rows
  if (!row) throw new Error('the clock did not answer')
  return row
}

/** Time of the ledger's last event if it is too far ahead of the clock; null otherwise. */
export const aheadUntil = (last: string, now: string): string | null =>
  Date.parse(last) - Date.parse(now) > AHEAD_MS ? last : null

const exportedAt = (companyId: number, at: string): Unavailable =>
  new Unavailable(`company ${companyId} was exported to another installation at ${at}`)

const closureOf = ({ company_id, missing_keys, closed_at }: LedgerRow): Unavailable | null => {
  if (closed_at !== null) return exportedAt(company_id, closed_at)
  return missing_keys === null ? null : new KeysMissing(company_id)
}

/** Prepares a locked ledger for decisions. Time never goes back within a stream, even if the clock does. */
export function openLedger(row: LedgerRow, now: string): OpenLedger {
  const last = row.last_recorded_at ?? EPOCH
  return {
    companyId: row.company_id,
    expectedRevision: row.revision,
    revision: row.revision,
    hash: row.revision < 0 ? GENESIS_HASH : row.hash,
    lastRecordedAt: now > last ? now : last,
    ids: row.ids,
    aheadUntil: aheadUntil(last, now),
    closed: closureOf(row),
    now,
    reactedRevision: row.reacted_revision,
    hasReacted: false,
    commands: [],
    finishing: [],
  }
}

const SUBJECT = /^([a-z_]+)\/([1-9]\d*)$/

/**
 * After this event ids continue from those in its data: a restore may have lost events that assigned higher ones.
 */
const RESTORED = 'InstallationRestored'

/** Assigned ids after an event. The event that creates a record has its id in the subject. */
export function idsAfter(ids: Ids, { type, subject, data }: Pick<Envelope, 'type' | 'subject' | 'data'>): Ids {
  if (type === RESTORED) return highestOf(ids, (data as { readonly ids: Ids }).ids)
  const [, kind, digits] = SUBJECT.exec(subject) ?? []
  if (!isIdKind(kind)) return ids
  const id = Number(digits)
  return id > (ids[kind] ?? 0) ? { ...ids, [kind]: id } : ids
}

function highestOf(ids: Ids, others: Ids): Ids {
  const raised = Object.entries(others).filter(([kind, id]) => isIdKind(kind) && id > (ids[kind] ?? 0))
  return { ...ids, ...Object.fromEntries(raised) }
}

/** Stores the read model's revision of each company. */
export function advanceLedger(tx: Transaction, ledgers: readonly OpenLedger[]): Promise<unknown> {
  return tx.query(advanceLedgers, [
    ledgers.map((ledger) => ledger.companyId),
    ledgers.map((ledger) => ledger.revision),
    ledgers.map((ledger) => ledger.hash),
    ledgers.map((ledger) => ledger.lastRecordedAt),
    ledgers.map((ledger) => JSON.stringify(ledger.ids)),
  ])
}

/** Creates the company's ledger row if it is missing. Idempotent; an empty ledger is harmless. */
export async function ensureLedger(pool: Pool, companyId: number): Promise<void> {
  await pool.query('insert into ledgers (company_id, hash) values ($1, $2) on conflict do nothing', [
    companyId,
    GENESIS_HASH,
  ])
}

/** Counts ledgers whose last event is ahead of the clock. Scans all ledgers, so the result is cached. */
export function createAheadCount(pool: Pool, now_ms: () => number): () => Promise<number> {
  let asked_ms = Number.NEGATIVE_INFINITY
  let found: Promise<number> = Promise.resolve(0)
  return () => {
    if (now_ms() - asked_ms > AHEAD_FRESH_MS) {
      asked_ms = now_ms()
      found = countAhead(pool)
      // The caller gets the error; the next call retries.
      found.catch(() => {
        asked_ms = Number.NEGATIVE_INFINITY
      })
    }
    return found
  }
}

const AHEAD_FRESH_MS = 5_000

async function countAhead(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>({
    name: 'count_ledgers_ahead',
    text: `select count(*)::int as count from ops.ledgers
           where last_recorded_at > clock_timestamp() + make_interval(secs => ${AHEAD_MS / 1000})`,
  })
  return rows[0]?.count ?? 0
}

/** Companies that were exported and take no writes (CELL-3). */
export async function closedCompanies(pool: Queryable): Promise<ReadonlySet<number>> {
  const { rows } = await pool.query<{ company_id: number }>(
    'select company_id from ops.ledgers where closed_at is not null',
  )
  return new Set(rows.map(({ company_id }) => company_id))
}

/** Company ids of one cell: more than it ever has, and few enough for ids of 15 digits in 100,000 cells. */
export const IDS_OF_A_CELL = 1_000_000_000

/** An id that no company has had. */
export async function nextCompanyId(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  return (rows[0] as { id: number }).id
}

/**
 * Assigns no company id again that has a ledger, and `room` more: a Postgres may be older than its event store, or than a folder
 * with checkpoints. Ids of other cells do not count.
 */
export const raiseCompanyIds = (pool: Queryable, seen: readonly number[], room = 0) =>
  pool.query(
    `select setval('ops.company_ids', highest + $2) from (
       select greatest(max(id), least_id) as highest from (select cell * ${IDS_OF_A_CELL}::bigint as least_id from ops.installation) own
       left join (select company_id as id from ops.ledgers union all select company_id from ops.company_moves
         union all select unnest($1::bigint[])) known on id > least_id and id <= least_id + ${IDS_OF_A_CELL}
       group by least_id) ids, ops.company_ids s
     where highest + $2 > case when s.is_called then s.last_value else 0 end`,
    [seen, room],
  )

/** For rows that belong to no company, which its people change here. @throws Unavailable */
export async function assertOpen(pool: Queryable, companyId: number): Promise<void> {
  const { rows } = await pool.query<{ closed_at: string | null }>(
    'select closed_at from ops.ledgers where company_id = $1',
    [companyId],
  )
  const at = rows[0]?.closed_at ?? null
  if (at !== null) throw exportedAt(companyId, at)
}

/**
 * Condition for background work: the company is not closed, because it moves to another installation. Postgres reads
 * the companies once per statement, from an index that is usually empty, and the condition changes no plan.
 */
export const isOpenCompany = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where closed_at is not null))`

/**
 * Condition for work that records events: the company is neither closed, nor read-only because of missing keys. The
 * work would fail repeatedly otherwise.
 */
export const isRecordingCompany = (companyId: string): string =>
  `${companyId} <> all (array(select company_id from ops.ledgers where missing_keys is not null or closed_at is not null))`
