import type { IdKind } from '#domain/record-kinds.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { Statement } from '#postgres/transaction.ts'
import type { NewEvent, Origin } from './envelope.ts'
import type { AnyRef, AnyTable } from './table.ts'
import type { Rows } from './working-set.ts'

/** What happened to the subject, in words of no protocol; the edge turns it into a status. */
export type OutcomeKind = 'created' | 'updated' | 'deleted' | 'unchanged' | 'queued'

/** For so long a request with the same Idempotency-Key gets the same answer (IDEM-4). */
export const ANSWER_RETENTION_MS = 24 * 3600 * 1000

/** Rows of `ops` that belong to an event but must never be in it: secrets' hashes. Written in the same transaction. */
export interface PrivateRow {
  readonly table: AnyTable
  readonly row: object
}

export interface Accepted {
  readonly events: readonly NewEvent[]
  readonly outcome: OutcomeKind
  /** The record that the answer shows, as `sale/981`. */
  readonly subject: string
  readonly privateRows: readonly PrivateRow[]
  /** What a request of many commands is told of this one beside its record, as an upload of its warnings. Never stored. */
  readonly remarks?: object | undefined
}

export type Decision = Accepted | Refusal

/** What a decision may know beside the rows. Time and ids are handed in, so that `decide` stays pure. */
export interface DecisionContext {
  readonly companyId: number
  /** The company's time: UTC, milliseconds, `Z`. Later than anybody's where the clock of a test company was moved (KIT-34). */
  readonly now: string
  /** recorded_at of the events to come, by which whoever has access has it: keys, users, invitations, secrets. */
  readonly recordedAt: string
  /** Time of the ledger's last event where that lies ahead of the clock, by which `now` then is; else null (LEDGER-20). */
  readonly aheadUntil: string | null
  /** The channel that the command came through; some refusals are of the channel `api` only. */
  readonly origin: Origin
  readonly actor: string | null
  /** What the command's `lookup` has found. */
  readonly found: readonly unknown[]
  /** The company's next id of a kind; those of a refused command are given to the next one. */
  nextId(kind: IdKind): number
}

/** A statement for rows that no key of theirs names. Its first parameter is the company. */
export interface Lookup extends Statement {
  readonly values: readonly unknown[]
}

/** What may happen: the rows it needs, and a pure, synchronous decision on them. */
export interface Command<I> {
  /** May record something though the ledger's last event lies ahead of the clock: that this is so, and nothing else. */
  readonly correctsClock?: true
  /** May take long, or empties what others of its group would have loaded: a request, and a transaction, by itself, recorded later than all before. */
  readonly isAlone?: true
  /** Rows known from the input alone. */
  needs(input: I): readonly AnyRef[]
  /** Rows known only from what was found, as the items of a sale; asked once, when `needs` are loaded. */
  needsMore?(rows: Rows, input: I): readonly AnyRef[]
  /**
   * Looks rows up under the ledger's lock, at the decision's time (UTC). It does not see what the same request has changed, so
   * such a command is a request by itself; and it may take long, so it shares its transaction with no other company's.
   */
  lookup?(rows: Rows, input: I, now: string): Lookup
  decide(rows: Rows, input: I, context: DecisionContext): Decision
}

// biome-ignore lint/suspicious/noExplicitAny: a list of commands mixes input types; `invoke` checked each pair
export type Invocation = { readonly command: Command<any>; readonly input: any }

export const invoke = <I>(command: Command<I>, input: I): Invocation => ({ command, input })

export const command = <I>(declaration: Command<I>): Command<I> => declaration

/** Accepts: the events to append (none when nothing changes) and the record to show. The first event's subject is the default. */
export function accept(
  outcome: OutcomeKind,
  subject: string,
  events: readonly NewEvent[] = [],
  privateRows: readonly PrivateRow[] = [],
  remarks?: object,
): Accepted {
  // After a crash the stored answer is made from the events alone: from the record that the first of them is about.
  if (events[0] && events[0].subject !== subject)
    throw new Error(`an answer about ${subject} begins with an event about it`)
  return { outcome, subject, events, privateRows, ...(remarks && { remarks }) }
}

export const isRefusal = (value: object | null): value is Refusal => value !== null && 'refused' in value
