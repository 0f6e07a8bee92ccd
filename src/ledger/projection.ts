import { createHash } from 'node:crypto'
import { ownValue } from '#lib/own-value.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope, NewEvent } from './envelope.ts'
import type { PersonalField } from './personal-fields.ts'
import { type AnyRef, type AnyTable, ddlOf } from './table.ts'
import type { Changes, Rows, WorkingSet } from './working-set.ts'

/** How one type of event changes rows. Both members depend on nothing but their arguments: the same ledger always gives the same tables. */
export interface Handler {
  /** The rows that `apply` reads or replaces, from the event alone: catch-up, rebuild and as-of have no command. */
  refs(event: Envelope): readonly AnyRef[]
  apply(rows: Changes, event: Envelope): void
  /**
   * Takes from rows that no key names what the event makes unreadable in earlier events; run when rows are written. A replay
   * that reads those events afterwards makes just such rows, so that neither their revision nor their lineage changes.
   */
  erase?(tx: Transaction, companyId: number, event: Envelope): Promise<void>
}

/** Tables that no event writes: they are made of other tables afterwards, and may lag behind. */
export interface Rollup {
  /**
   * SQL of rows that are not what the other tables of a schema say, as far as they have come: columns of a RowDifference. $1 is
   * the company, $2 how many are told.
   */
  differences(schema: string): string
}

/** One read model: its tables and what each event does to them. */
export interface Projection {
  readonly name: string
  readonly tables: readonly AnyTable[]
  readonly on: Readonly<Record<string, Handler | undefined>>
  readonly grown?: Rollup
}

/** How a record is found and shown; `type` is the first half of a subject. The text is the API's object, ready to be sent. */
export interface RecordView {
  refs(id: number): readonly AnyRef[]
  /** Rows of other records that are shown with it and may change by themselves, as the category of an item. */
  refsMore?(rows: Rows, id: number): readonly AnyRef[]
  /** JSON text of the record at a moment (UTC), which only what the clock changes depends on; null when it is gone. */
  render(rows: Rows, id: number, now: string): string | null
}

/** All that the ledger has to know of the business: which events change which rows, and how a record is shown. */
export interface ReadModel {
  /** Grows whenever tables or their meaning change: a program whose number is lower than that of the tables is older than they are. */
  readonly number: number
  /** Of the number and the tables' declarations; a process with another version must not write. */
  readonly version: string
  readonly projections: readonly Projection[]
  readonly views: Readonly<Record<string, RecordView>>
  /**
   * An event in the newest version of its type, which is all that projections, reactors and views know; itself where it is
   * that. @throws Unavailable for what a newer program has written.
   */
  upcast(event: Envelope): Envelope
  /** Which fields of an event, in the version that it is in, are personal. */
  personalFields(event: Pick<NewEvent, 'type' | 'version'>): readonly PersonalField[]
  /** Tables whose rows are persons, each with the first half of their subjects. */
  readonly persons: ReadonlyMap<AnyTable, string>
  /** Rows that every projection may read, as the company's own, which knows the time zone. */
  readonly base: readonly AnyRef[]
  /** What time it is for the company when it is `at` for everybody else (UTC), by its rows of `base`. */
  timeOf(rows: Rows, at: string): string
  /** Tables that lose all rows of the company before an event is applied: none but for an event that empties it. */
  emptiedBy(event: Envelope): readonly AnyTable[]
}

/** Schema of all tables that projections write; it can be dropped and rebuilt from the ledgers. */
export const READ_SCHEMA = 'read'

/** The version of a read model: its number and its tables' DDL. */
export function versionOf(projections: readonly Projection[], number: number): string {
  const ddl = projections.flatMap((projection) => projection.tables.map((table) => ddlOf(table, READ_SCHEMA)))
  return `${number}-${createHash('sha256').update(ddl.join('\n')).digest('hex').slice(0, 12)}`
}

/** Handlers by type of event: of fifteen projections one or two care for it. */
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

/** All rows that an event's projections work on. */
export function refsOf(model: ReadModel, event: Envelope): AnyRef[] {
  const refs = [...model.base]
  for (const handler of handlersOf(model, event.type)) refs.push(...handler.refs(event))
  return refs
}

export function project(model: ReadModel, rows: Changes, event: Envelope): void {
  for (const handler of handlersOf(model, event.type)) handler.apply(rows, event)
}

/** What is left to do of an event when the rows of its transaction are written. */
export const erasuresOf = (model: ReadModel, companyId: number, event: Envelope) =>
  handlersOf(model, event.type).flatMap(({ erase }) => (erase ? (tx: Transaction) => erase(tx, companyId, event) : []))

export function parseSubject(subject: string): { type: string; id: number } {
  const slash = subject.indexOf('/')
  return { type: subject.slice(0, slash), id: Number(subject.slice(slash + 1)) }
}

export function viewOf(model: ReadModel, subject: string): { view: RecordView; id: number } {
  const { type, id } = parseSubject(subject)
  const view = ownValue(model.views, type)
  if (!view) throw new Error(`no view shows ${subject}`)
  return { view, id }
}

/** Rows in memory, and how more of them are brought in. */
export interface Loading {
  readonly model: ReadModel
  readonly set: WorkingSet
  /** Loads what is missing; a round trip, so it is called only when something is. */
  load(companyId: number, refs: readonly AnyRef[]): Promise<void>
}

export async function ensure({ set, load }: Loading, companyId: number, refs: readonly AnyRef[]): Promise<void> {
  const missing = set.missing(companyId, refs)
  if (missing.length > 0) await load(companyId, missing)
}

/** The record's JSON text as it stands in the working set, at a moment (UTC); '' when it is gone. */
export async function render(
  subject: string,
  { companyId, now }: { companyId: number; now: string },
  loading: Loading,
): Promise<string> {
  const { view, id } = viewOf(loading.model, subject)
  const rows = loading.set.of(companyId)
  await ensure(loading, companyId, view.refs(id))
  if (view.refsMore) await ensure(loading, companyId, view.refsMore(rows, id))
  return view.render(rows, id, now) ?? ''
}
