import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from './envelope.ts'

/** One company's share of a unit of work. */
export interface Append {
  readonly stream: string
  /** Revision of the last event that the stream must hold now; -1 for an empty stream. */
  readonly expectedRevision: number
  /** Events in order, command by command: a store that must split a large append cuts between commands, never inside one. */
  readonly commands: readonly (readonly Envelope[])[]
}

/**
 * An append cut into parts that a store takes: at most `maxBytes` of JSON each, unless a single command has more. The events of
 * one command always stay together, so that whatever part of a large append lands, no command is half done.
 */
export function chunksOf(commands: Append['commands'], maxBytes: number): Envelope[][] {
  const chunks: Envelope[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const events of commands) {
    const size = Buffer.byteLength(JSON.stringify(events))
    if (bytes + size > maxBytes) {
      chunks.push([])
      bytes = 0
    }
    chunks.at(-1)?.push(...events)
    bytes += size
  }
  return chunks
}

/**
 * Where ledgers are kept. A store either takes part in the Postgres transaction of the unit of work, or lives outside it;
 * the writer handles both, so commands and projections never know which one is in use.
 */
export interface EventStore {
  /** True when `append` happens inside the transaction that it is given, and is undone with it. */
  readonly transactional: boolean
  /**
   * Appends to several streams, each at its expected revision.
   * @throws WrongExpectedRevision when a stream does not end at its expected revision.
   * Any other error of a store outside the transaction means that the outcome is unknown.
   */
  append(appends: readonly Append[], tx: Transaction): Promise<void>
  /** Events of one stream from a revision (inclusive) on, in order, as they were stored, of whatever version. */
  read(stream: string, fromRevision: number): AsyncIterable<Envelope>
  /** Single events of one stream, by their revisions (ascending, none twice), in order, as they were stored. */
  pick(stream: string, revisions: readonly number[]): AsyncIterable<Envelope>
  /** Names of all company streams, for a start on a read model that does not know them yet. */
  streams(): AsyncIterable<string>
  /** Looks events up by their type or subject. A store that cannot is read through instead (src/ledger/reading.ts). */
  search?(stream: string, search: Search): Promise<SearchPage>
  /**
   * Hashes of the events of one stream from a revision (inclusive) on, in order, some at a time. A store from which an event
   * comes as cheaply needs no such view.
   */
  hashes?(stream: string, fromRevision: number): AsyncIterable<readonly Pick<Envelope, 'revision' | 'hash'>[]>
  /**
   * A stream after a revision (from its beginning: null) as it is kept, in its order, also what does not belong where it
   * is: for verification. A store that keeps nothing beside the envelopes needs no such view.
   */
  stored?(stream: string, afterRevision: number | null): AsyncIterable<StoredEvent>
}

export interface Search {
  /** First and last revision to look at, both inclusive. */
  readonly fromRevision: number
  readonly toRevision: number
  /** Null: of any type. */
  readonly types: readonly string[] | null
  /** Null: about any record. */
  readonly subject: string | null
  readonly limit: number
}

/** Events that were found, in order, each with its JSON text. */
export interface SearchPage {
  readonly events: readonly { readonly revision: number; readonly json: string }[]
  /** How far the stream was looked through; the search goes on after it. A page may be short, or empty, before the end. */
  readonly seenTo: number
}

export interface StoredEvent {
  /** JSON text of the envelope. */
  readonly json: string
  /** What the store keeps a second time, beside the envelope, by the envelope's names. */
  readonly beside: Readonly<Record<string, unknown>>
}

/** First and last revision, both inclusive. */
export type RevisionRange = readonly [first: number, last: number]

/**
 * Ascending revisions as ranges of at most `longest`; those that lie no more than `gap` apart are joined, because a store
 * outside Postgres takes as long for one event as for dozens in a row.
 */
export function rangesOf(revisions: readonly number[], gap: number, longest: number): RevisionRange[] {
  const ranges: [number, number][] = []
  for (const revision of revisions) {
    const range = ranges.at(-1)
    if (range && revision - range[1] <= gap && revision - range[0] < longest) range[1] = revision
    else ranges.push([revision, revision])
  }
  return ranges
}

/** That an event was appended to a stream, as a store outside Postgres tells it. */
export interface Note {
  readonly stream: string
  readonly revision: number
  /** Where it stands among all events of the store; a text that only the store understands. */
  readonly position: string
}

/** A store outside Postgres: what is appended there has to be noticed, by whomever it was appended. */
export interface OutsideStore extends EventStore {
  readonly transactional: false
  /** Notes of all that was appended after a position (exclusive; null = from the beginning), in order, up to the end as it is now. */
  notes(after: string | null): AsyncIterable<Note>
  /** The same without an end, as it happens, until the signal aborts. */
  subscribe(after: string | null, signal: AbortSignal): AsyncIterable<Note>
  /** @throws Unavailable when the store cannot be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

export const isOutside = (store: EventStore): store is OutsideStore => !store.transactional

/** The stream moved on, or never was where the caller believed it to be. Nothing was appended to it. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision'
  constructor(
    readonly stream: string,
    readonly expectedRevision: number,
  ) {
    super(`stream ${stream} does not end at revision ${expectedRevision}`)
  }
}
