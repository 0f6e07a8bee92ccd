import { createHash } from 'node:crypto'
import { ownValue } from '#lib/collections.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope, NewEvent } from './command.ts'
import type { OpenLedger } from './ledgers.ts'
import type { PersonalField } from './sealed-fields.ts'
import { type AnyRef, type AnyTable, toDdl } from './table.ts'
import type { Changes, Rows, WorkingSet } from './working-set.ts'

/** How one type of event changes rows. Both members are pure: the same ledger always produces the same tables. */
export interface Handler {
  /**
   * The rows that `apply` reads or replaces, derived from the event alone: catch-up, rebuild and as-of reads have no
   * command.
   */
  refs(event: Envelope): readonly AnyRef[]
  apply(rows: Changes, event: Envelope): void
  /**
   * Erases from rows without a known key what the event makes unreadable in earlier events; runs when rows are written.
   * A later replay of those events produces the same rows, so their revision and history do not change.
   */
  erase?(tx: Transaction, companyId: number, event: Envelope): Promise<void>
}

/** Tables derived from other tables instead of events. They may lag behind. */
export interface Rollup {
  /**
   * SQL that returns rows deviating from the source tables of a schema, as far as the rollup was refreshed: columns of
   * a RowDifference. $1 is the company, $2 the maximum number of rows.
   */
  differences(schema: string): string
}

/** One read model: its tables and the effect of each event on them. */
export interface Projection {
  readonly name: string
  readonly tables: readonly AnyTable[]
  readonly on: Readonly<Record<string, Handler | undefined>>
  readonly grown?: Rollup
}

/**
 * How a record is found and rendered; `type` is the first half of a subject. The text is the JSON object that the API
 * sends.
 */
export interface RecordView {
  refs(id: number): readonly AnyRef[]
  /** Rows of other records that are rendered with it and can change independently, such as the category of an item. */
  refsMore?(rows: Rows, id: number): readonly AnyRef[]
  /**
   * JSON text of the record at an instant (UTC), which matters only for values that depend on the clock; null if the
   * record was deleted.
   */
  render(rows: Rows, id: number, now: string): string | null
}

/** The business model as the ledger sees it: which events change which rows, and how a record is rendered. */
export interface ReadModel {
  /**
   * Incremented when tables or their meaning change. A program with a lower number than the tables is older than they
   * are.
   */
  readonly number: number
  /** Derived from the number and the table declarations; a process with another version must not write. */
  readonly version: string
  readonly projections: readonly Projection[]
  readonly views: Readonly<Record<string, RecordView>>
  /**
   * The event in the newest version of its type, the only one that projections, reactors and views know. Returns the
   * same object if it is current. @throws Unavailable for events of a newer program.
   */
  upcast(event: Envelope): Envelope
  /** Personal fields of an event in its stored version. */
  personalFields(event: Pick<NewEvent, 'type' | 'version'>): readonly PersonalField[]
  /** Tables with one row per person, each with the first half of the subjects. */
  readonly persons: ReadonlyMap<AnyTable, string>
  /** Rows that every projection may read, such as the company row with the time zone. */
  readonly base: readonly AnyRef[]
  /** The company's time at the instant `at` (UTC), derived from its rows of `base`. */
  timeOf(rows: Rows, at: string): string
  /**
   * Tables that lose all rows of the company before the event is applied; empty except for an event that empties the
   * company.
   */
  emptiedBy(event: Envelope): readonly AnyTable[]
}

/** Schema of all tables that projections write. It can be dropped and rebuilt from the ledgers. */
export const READ_SCHEMA = 'read'

/** The version of a read model: its number and its tables' DDL. */
export function hashModelVersion(projections: readonly Projection[], number: number): string {
  const ddl = projections.flatMap((projection) => projection.tables.map((table) => toDdl(table, READ_SCHEMA)))
  return `${number}-${createHash('sha256').update(ddl.join('\n')).digest('hex').slice(0, 12)}`
}

/** Handlers by event type: only one or two of fifteen projections handle a type. */
const handlers = new WeakMap<ReadModel['projections'], Map<string, readonly Handler[]>>()

function handlersOf({ projections }: ReadModel, type: string): readonly Handler[] {
  let byType = handlers.get(projections)
  if (!byType) {
    byType = new Map()
    handlers.set(projections, byType)
  }
  let found = byType.get(type)
  if (!found) {
    found = projections.flatMap(({ on }) => on[type] ?? [])
    byType.set(type, found)
  }
  return found
}

export function collectRefs(model: ReadModel, event: Envelope): AnyRef[] {
  const refs = [...model.base]
  for (const handler of handlersOf(model, event.type)) refs.push(...handler.refs(event))
  return refs
}

export function project(model: ReadModel, rows: Changes, event: Envelope): void {
  for (const handler of handlersOf(model, event.type)) handler.apply(rows, event)
}

/** Erasures that an event requires after the rows of its transaction are written. */
export const collectErasures = (model: ReadModel, companyId: number, event: Envelope) =>
  handlersOf(model, event.type).flatMap(({ erase }) => (erase ? (tx: Transaction) => erase(tx, companyId, event) : []))

export function parseSubject(subject: string): { type: string; id: number } {
  const slash = subject.indexOf('/')
  return { type: subject.slice(0, slash), id: Number(subject.slice(slash + 1)) }
}

export function findRecordView(model: ReadModel, subject: string): { view: RecordView; id: number } {
  const { type, id } = parseSubject(subject)
  const view = ownValue(model.views, type)
  if (!view) throw new Error(`no view shows ${subject}`)
  return { view, id }
}

/** Loaded rows, and a way to load more. */
interface Loading {
  readonly model: ReadModel
  readonly set: WorkingSet
  /** Loads missing rows. It costs a round trip, so it is called only if a row is missing. */
  load(companyId: number, refs: readonly AnyRef[]): Promise<void>
}

export async function ensure({ set, load }: Loading, companyId: number, refs: readonly AnyRef[]): Promise<void> {
  const missing = set.missing(companyId, refs)
  if (missing.length > 0) await load(companyId, missing)
}

/** The record's JSON text in the current state of the working set, at an instant (UTC); '' if it was deleted. */
export async function render(
  subject: string,
  { companyId, now }: { companyId: number; now: string },
  loading: Loading,
): Promise<string> {
  const { view, id } = findRecordView(loading.model, subject)
  const rows = loading.set.of(companyId)
  await ensure(loading, companyId, view.refs(id))
  if (view.refsMore) await ensure(loading, companyId, view.refsMore(rows, id))
  return view.render(rows, id, now) ?? ''
}

/**
 * Creates the consequences of an event outside the read model: rows of `ops` such as webhook deliveries. They are
 * created once, in the transaction that applies the event, by a writer or by catch-up; a rebuild creates none.
 */
export interface Reactor {
  /**
   * The rows that `react` reads, derived from rows that are always loaded; null if the event has no consequences.
   * `next` is the following event of the ledger, at least if the same command created both.
   */
  refs(rows: Rows, event: Envelope, next: Envelope | null): readonly AnyRef[] | null
  /**
   * `record` is the JSON text of the event's subject after the event; '' if it was deleted. `made` collects the
   * consequences.
   */
  react(rows: Changes, event: Envelope, record: string, made: Reaction): void
  /** Reads, before any row is written, what `finish` needs of rows that are about to change. */
  look?(tx: Transaction, companyId: number, event: Envelope): Promise<readonly string[]>
  /**
   * Changes rows without a known key by statements, after all rows are written and before COMMIT. `seen` is the result
   * of `look`.
   */
  finish?(tx: Transaction, companyId: number, event: Envelope, seen: readonly string[]): Promise<void>
}

/** Values for the rows that a reaction creates. */
export interface Reaction {
  readonly companyId: number
  readonly newId: () => string
  /** W3C trace context of the request that caused the event; absent if it had none, and in catch-up. */
  readonly traceparent?: string | undefined
  /** Postgres's clock. Due times follow it, independent of the event's recorded time. */
  readonly now: string
}

export interface ReactionContext extends Loading {
  readonly tx: Transaction
  readonly reactors: readonly Reactor[]
  readonly newId: () => string
  readonly traceparent?: string | undefined
}

/** Runs the reactors for an event that was just projected, unless they have run before. */
export async function reactTo(
  event: Envelope,
  next: Envelope | null,
  ledger: OpenLedger,
  reacting: ReactionContext,
): Promise<void> {
  if (event.revision <= ledger.reactedRevision) return
  const rows = reacting.set.of(ledger.companyId)
  const { newId, traceparent } = reacting
  const made = { companyId: ledger.companyId, newId, now: ledger.now, traceparent }
  for (const reactor of reacting.reactors) {
    const refs = reactor.refs(rows, event, next)
    if (!refs) continue
    await ensure(reacting, ledger.companyId, refs)
    // As of the event: values that depend on the clock are those of its time.
    const at = { companyId: ledger.companyId, now: event.recorded_at }
    reactor.react(rows, event, await render(event.subject, at, reacting), made)
    ledger.hasReacted = true
    const { look, finish } = reactor
    const seen = look ? await look(reacting.tx, ledger.companyId, event) : []
    if (finish) ledger.finishing.push((tx) => finish(tx, ledger.companyId, event, seen))
  }
}
