import { inBatches, prefetch } from '#lib/collections.ts'
import type { Envelope } from './command.ts'
import type { EventStore, Search, SearchPage } from './port.ts'
import type { ReadModel } from './projection.ts'
import { type CannotOpen, openData, type PersonKeys, sealedWith } from './sealed-fields.ts'

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
      for (const id of sealedWith(event, model.personalFields(event))) if (!secrets.has(id)) wanted.add(id)
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
