import { inBatches, prefetch } from '#lib/collections.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Envelope } from './command.ts'
import type { ReadModel } from './projection.ts'
import { type CannotOpen, listSealingKeys, openData, type PersonKeys } from './sealed-fields.ts'

/** One company's share of a unit of work. */
export interface Append {
  readonly stream: string
  /** Revision of the stream's last event at the time of the append; -1 for an empty stream. */
  readonly expectedRevision: number
  /** Events in order, command by command: a store that must split a large append cuts between commands, never inside one. */
  readonly commands: readonly (readonly Envelope[])[]
}

/**
 * Splits an append into chunks of at most `maxBytes`, unless a single command exceeds that. The events of one command
 * stay together: if only some chunks are stored, no command is half done.
 */
export function splitChunks<T>(
  commands: readonly (readonly T[])[],
  maxBytes: number,
  bytesOf: (event: T) => number,
): T[][] {
  const chunks: T[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const events of commands) {
    const size = events.reduce((sum, event) => sum + bytesOf(event), 0)
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
 * Storage of ledgers. A store either takes part in the Postgres transaction of the unit of work or is external. The
 * writer handles both, so commands and projections do not depend on the kind of store.
 */
export interface EventStore {
  /** True if `append` runs inside the given transaction and is rolled back with it. */
  readonly transactional: boolean
  /**
   * Appends to several streams, each at its expected revision.
   * @throws WrongExpectedRevision if a stream does not end at its expected revision.
   * Any other error of an external store means that the outcome is unknown.
   */
  append(appends: readonly Append[], tx: Transaction): Promise<void>
  /** Events of one stream from a revision (inclusive), in order, as stored: versions are not upcast. */
  read(stream: string, fromRevision: number): AsyncIterable<Envelope>
  /** Single events of one stream by revision (ascending, unique), in order, as stored. */
  pick(stream: string, revisions: readonly number[]): AsyncIterable<Envelope>
  /** Names of all company streams, to start with a read model that does not know them yet. */
  streams(): AsyncIterable<string>
  /** Finds events by type or subject. Without it a bounded part of the stream is scanned (src/ledger/port.ts). */
  search?(stream: string, search: Search): Promise<SearchPage>
  /**
   * Hashes of the events of one stream from a revision (inclusive), in order, in batches. Absent if reading the events
   * costs no more.
   */
  hashes?(stream: string, fromRevision: number): AsyncIterable<readonly Pick<Envelope, 'revision' | 'hash'>[]>
  /**
   * Stored records of a stream after a revision (null: from its beginning), in storage order, including misplaced ones.
   * For verification. Absent if the store keeps no data beside the envelopes.
   */
  stored?(stream: string, afterRevision: number | null): AsyncIterable<StoredEvent>
}

export interface Search {
  /** First and last revision of the search, both inclusive. */
  readonly fromRevision: number
  readonly toRevision: number
  /** Null: any type. */
  readonly types: readonly string[] | null
  /** Null: any record. */
  readonly subject: string | null
  readonly limit: number
}

/** Matching events in order, each with its JSON text. */
export interface SearchPage {
  readonly events: readonly { readonly revision: number; readonly json: string }[]
  /**
   * Last revision that was searched; the next page starts after it. A page may be short or empty before the end of the
   * stream.
   */
  readonly seenTo: number
}

export interface StoredEvent {
  /** JSON text of the envelope. */
  readonly json: string
  /** Copies that the store keeps beside the envelope, under the envelope's names. */
  readonly beside: Readonly<Record<string, unknown>>
}

/** First and last revision, both inclusive. */
export type RevisionRange = readonly [first: number, last: number]

/**
 * Groups ascending revisions into ranges of at most `longest`. Revisions no more than `gap` apart share a range: an
 * external store needs as long for one event as for dozens in a row.
 */
export function joinRanges(revisions: readonly number[], gap: number, longest: number): RevisionRange[] {
  const ranges: [number, number][] = []
  for (const revision of revisions) {
    const range = ranges.at(-1)
    if (range && revision - range[1] <= gap && revision - range[0] < longest) range[1] = revision
    else ranges.push([revision, revision])
  }
  return ranges
}

/** Notification of an external store that an event was appended to a stream. */
export interface Note {
  readonly stream: string
  readonly revision: number
  /** Position among all events of the store; opaque text. */
  readonly position: string
}

/** An external store. Other processes append to it too, so the service subscribes to it. */
export interface OutsideStore extends EventStore {
  readonly transactional: false
  /** Notes of all appends after a position (exclusive; null: from the beginning), in order, up to the current end. */
  notes(after: string | null): AsyncIterable<Note>
  /** As `notes`, but continues with new appends until the signal aborts. */
  subscribe(after: string | null, signal: AbortSignal): AsyncIterable<Note>
  /** @throws Unavailable if the store cannot be reached. */
  ping(): Promise<void>
  close(): Promise<void>
}

export const isOutside = (store: EventStore): store is OutsideStore => !store.transactional

/** The stream is not at the expected revision. Nothing was appended to it. */
export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision'
  constructor(
    readonly stream: string,
    readonly expectedRevision: number,
  ) {
    super(`stream ${stream} does not end at revision ${expectedRevision}`)
  }
}

/** The event store with the model and keys to read its events. */
export interface EventReader {
  readonly store: EventStore
  readonly model: ReadModel
  readonly keys: PersonKeys
  /**
   * Called for fields that cannot be opened, which then read as null. Used to rebuild a company that is read-only
   * because of missing keys.
   */
  readonly onCannotOpen?: ((error: CannotOpen) => void) | undefined
}

/**
 * Events of a stream from a revision (inclusive), opened and upcast. Catch-up, rebuild and as-of reads use it. Proofs
 * and exports read the store itself: only the stored form matches the event's hash. @throws CannotOpen
 */
export const readNewest = (reading: EventReader, stream: string, fromRevision: number): AsyncGenerator<Envelope> =>
  newest(reading, reading.store.read(stream, fromRevision))

/** Single events of a stream by revision (ascending), opened and upcast. @throws CannotOpen */
export const pickNewest = (
  reading: EventReader,
  stream: string,
  revisions: readonly number[],
): AsyncGenerator<Envelope> => newest(reading, reading.store.pick(stream, revisions))

/** Events per lookup of keys. */
const BATCH_EVENTS = 500

async function* newest(reading: EventReader, stored: AsyncIterable<Envelope>): AsyncGenerator<Envelope> {
  const opener = createOpener(reading)
  // Fetches the next events while keys are looked up and fields are opened.
  for await (const events of prefetch(inBatches(stored, BATCH_EVENTS))) {
    const open = await opener(events)
    for (const event of events) yield reading.model.upcast(open(event))
  }
}

/** Whether the reader may see personal fields of a kind of person; absent: all kinds. */
type MayRead = (kind: string) => boolean

/** Searches events, opened and upcast. The JSON text is kept if the event is unchanged. */
export async function searchNewest(
  reading: EventReader,
  stream: string,
  wanted: Search,
  mayRead?: MayRead,
): Promise<SearchPage> {
  const { model, store } = reading
  return withEvents(await search(store, stream, wanted), async (events) => {
    const open = await createOpener(reading, mayRead)(events)
    return (stored, json) => {
      const event = model.upcast(open(stored))
      return event === stored ? json : JSON.stringify(event)
    }
  })
}

/**
 * Searches events as stored and adds the member `opened`: the data with personal fields in clear, or null for fields
 * that were erased or that `mayRead` refuses. @throws CannotOpen
 */
export async function searchOpened(
  reading: EventReader,
  stream: string,
  wanted: Search,
  mayRead?: MayRead,
): Promise<SearchPage> {
  return withEvents(await search(reading.store, stream, wanted), async (events) => {
    const open = await createOpener(reading, mayRead)(events)
    return (stored, json) => `${json.slice(0, json.lastIndexOf('}'))},"opened":${JSON.stringify(open(stored).data)}}`
  })
}

type FormatEvent = (stored: Envelope, json: string) => string

async function withEvents(
  page: SearchPage,
  show: (events: readonly Envelope[]) => Promise<FormatEvent>,
): Promise<SearchPage> {
  const stored = page.events.map(({ json }) => JSON.parse(json) as Envelope)
  const shown = await show(stored)
  const events = page.events.map(({ revision, json }, place) => ({
    revision,
    json: shown(stored[place] as Envelope, json),
  }))
  return { ...page, events }
}

/** Looks up each key of a batch once. It serves one read operation and must not be cached. */
function createOpener({ keys, model, onCannotOpen }: Omit<EventReader, 'store'>, mayRead?: MayRead) {
  const secrets = new Map<string, Buffer | null>()
  const open = (event: Envelope): Envelope => {
    const fields = model.personalFields(event)
    if (fields.length === 0) return event
    const data = openData(event, fields, secrets, { mayRead, onCannotOpen })
    return data === event.data ? event : { ...event, data }
  }
  return async (events: readonly Envelope[]): Promise<typeof open> => {
    const wanted = new Set<string>()
    for (const event of events) {
      for (const id of listSealingKeys(event, model.personalFields(event))) if (!secrets.has(id)) wanted.add(id)
    }
    if (wanted.size > 0) for (const [id, secret] of await keys.find([...wanted])) secrets.set(id, secret)
    return open
  }
}

/** Events per search in a store without `search`. */
export const EVENTS_OF_A_SCAN = 20_000

/** Searches events of a stream as stored. Without support by the store, a bounded part of the stream is scanned. */
export function search(store: EventStore, stream: string, wanted: Search): Promise<SearchPage> {
  return store.search?.(stream, wanted) ?? scan(store, stream, wanted)
}

async function scan(
  store: EventStore,
  stream: string,
  { fromRevision, toRevision, types, subject, limit }: Search,
): Promise<SearchPage> {
  const events: { revision: number; json: string }[] = []
  const lastRevision = Math.min(toRevision, fromRevision + EVENTS_OF_A_SCAN - 1)
  for await (const event of store.read(stream, fromRevision)) {
    if (event.revision > lastRevision) break
    if (types && !types.includes(event.type)) continue
    if (subject !== null && event.subject !== subject) continue
    // A match beyond the limit shows that there is another page.
    if (events.length === limit) return { events, seenTo: events.at(-1)?.revision ?? fromRevision - 1 }
    events.push({ revision: event.revision, json: JSON.stringify(event) })
  }
  return { events, seenTo: lastRevision }
}
