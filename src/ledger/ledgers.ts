import type { Pool } from 'pg'
import { type IdKind, isIdKind } from '#domain/record-kinds.ts'
import { Unavailable } from '#lib/errors.ts'
import type { Statement, Transaction } from '#postgres/transaction.ts'
import { type Envelope, GENESIS_HASH } from './envelope.ts'
import { type MigrationState, writeRefusal } from './migration-state.ts'
import { KeysMissing, type MissingKeys } from './missing-keys.ts'

/** The highest id of each kind that a company has given out; a kind of which it has none is missing. */
export type Ids = Readonly<Partial<Record<IdKind, number>>>

/** A row of `ops.ledgers`: what is locked, and how far the read model has come. */
interface LedgerRow {
  company_id: number
  revision: number
  reacted_revision: number
  hash: string
  last_recorded_at: string | null
  ids: Ids
  move: MigrationState | null
  missing_keys: MissingKeys | null
}

/** A company's ledger while a unit of work decides on it. */
export interface OpenLedger {
  readonly companyId: number
  /** What the store must hold when the unit of work appends. */
  readonly expectedRevision: number
  revision: number
  hash: string
  lastRecordedAt: string
  ids: Ids
  /** Time of the last event where it lies ahead of the clock, which events would be stamped with for as long; else null. */
  aheadUntil: string | null
  /** Why nothing is recorded now, as while the company moves or keys of its persons are missing; else null. */
  readonly closed: Unavailable | null
  /** Postgres's clock when the ledger was locked. */
  readonly now: string
  /** Reactors have seen everything up to it. */
  readonly reactedRevision: number
  /** Whether anything was made that others wait for. */
  hasReacted: boolean
  readonly commands: Envelope[][]
  /** What is done by statements once all rows are written, in this order and before COMMIT. */
  readonly finishing: ((tx: Transaction) => Promise<unknown>)[]
}

/** The last event lies ahead of the clock: nothing is recorded before an operator has seen to it (LEDGER-20). */
export class LedgerAhead extends Unavailable {
  constructor(companyId: number, until: string) {
    super(`the ledger of company ${companyId} is ahead of the clock, until ${until}`)
  }
}

/** So much a clock may be set back, as by synchronisation, before anybody has to know. */
const AHEAD_MS = 60_000

const EPOCH = '1970-01-01T00:00:00.000Z'

const lockLedgers = {
  name: 'lock_ledgers',
  text: `select company_id, revision, reacted_revision, hash, last_recorded_at, ids, move, missing_keys from ledgers
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

/** Locks the ledgers in order of company id, as a statement of its own, so that what is loaded afterwards is what the lock protects. */
export const lockLedger = (tx: Transaction, companyIds: readonly number[]): Promise<Map<number, LedgerRow>> =>
  lockWith(lockLedgers, tx, companyIds)

/** The same, without those that another transaction holds. */
export const lockLedgerIfFree = (tx: Transaction, companyIds: readonly number[]): Promise<Map<number, LedgerRow>> =>
  lockWith(lockFreeLedgers, tx, companyIds)

async function lockWith(statement: Statement, tx: Transaction, companyIds: readonly number[]) {
  const { rows } = await tx.query<LedgerRow>(statement, [companyIds])
  return new Map(rows.map((row) => [row.company_id, row]))
}

/** Postgres's clock, the same in every process, and the version of the read model that the tables have. */
export async function readLedgerClock(tx: Transaction): Promise<{ now: string; version: string | null }> {
  const { rows } = await tx.query<{ now: string; version: string | null }>(readClock)
  const [row] = rows
  if (!row) throw new Error('the clock did not answer')
  return row
}

/** A ledger's last time where it lies too far ahead of the clock; else null. */
export const aheadUntil = (last: string, now: string): string | null =>
  Date.parse(last) - Date.parse(now) > AHEAD_MS ? last : null

const closedFor = ({ company_id, move, missing_keys }: LedgerRow): Unavailable | null =>
  writeRefusal(company_id, move) ?? (missing_keys === null ? null : new KeysMissing(company_id))

/** A locked ledger made ready for decisions; time never goes back within a stream, whatever the clock does. */
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
    closed: closedFor(row),
    now,
    reactedRevision: row.reacted_revision,
    hasReacted: false,
    commands: [],
    finishing: [],
  }
}

const SUBJECT = /^([a-z_]+)\/([1-9]\d*)$/

/** With it ids go on from those that its data name: others may have been given out by events that a restore has lost (OPS-84). */
const RESTORED = 'InstallationRestored'

/** What a company has given out after an event: each id is that of the subject of the event that made its record. */
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

/** Says how far the read model has come with each of the companies. */
export function advanceLedger(tx: Transaction, ledgers: readonly OpenLedger[]): Promise<unknown> {
  return tx.query(advanceLedgers, [
    ledgers.map((ledger) => ledger.companyId),
    ledgers.map((ledger) => ledger.revision),
    ledgers.map((ledger) => ledger.hash),
    ledgers.map((ledger) => ledger.lastRecordedAt),
    ledgers.map((ledger) => JSON.stringify(ledger.ids)),
  ])
}

/** Makes sure that a company has a ledger to lock. Repeatable; an empty ledger is harmless. */
export async function ensureLedger(pool: Pool, companyId: number): Promise<void> {
  await pool.query('insert into ledgers (company_id, hash) values ($1, $2) on conflict do nothing', [
    companyId,
    GENESIS_HASH,
  ])
}

/** Ledgers whose last event lies ahead of the clock; looks at every ledger, and so not more often than is worth it. */
export function createAheadCount(pool: Pool, now_ms: () => number): () => Promise<number> {
  let asked_ms = Number.NEGATIVE_INFINITY
  let found: Promise<number> = Promise.resolve(0)
  return () => {
    if (now_ms() - asked_ms > AHEAD_FRESH_MS) {
      asked_ms = now_ms()
      found = countAhead(pool)
      // Heard of by whoever asked; the next one asks again.
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
           where move is null and last_recorded_at > clock_timestamp() + make_interval(secs => ${AHEAD_MS / 1000})`,
  })
  return rows[0]?.count ?? 0
}
