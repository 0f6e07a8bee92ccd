import type { Envelope } from './envelope.ts'
import type { EventStore, Search, SearchPage } from './port.ts'
import type { ReadModel } from './projection.ts'

/**
 * Events of a stream from a revision (inclusive) on, in the newest version of their types. This is how whatever acts on events
 * reads them: catch-up, rebuild, the past. What vouches for a ledger, as its export, reads the store itself: only the
 * stored form has the event's hash.
 */
export async function* readNewest(
  store: EventStore,
  { upcast }: ReadModel,
  stream: string,
  fromRevision: number,
): AsyncGenerator<Envelope> {
  for await (const event of store.read(stream, fromRevision)) yield upcast(event)
}

/** Single events of a stream, by their revisions (ascending), in the newest version of their types. */
export async function* pickNewest(
  store: EventStore,
  { upcast }: ReadModel,
  stream: string,
  revisions: readonly number[],
): AsyncGenerator<Envelope> {
  for await (const event of store.pick(stream, revisions)) yield upcast(event)
}

/** The same of events that are looked for; the text of those that are in their newest version stays as it is stored. */
export async function searchNewest(
  store: EventStore,
  { upcast }: ReadModel,
  stream: string,
  wanted: Search,
): Promise<SearchPage> {
  const page = await search(store, stream, wanted)
  const newest = (json: string): string => {
    const stored = JSON.parse(json) as Envelope
    const event = upcast(stored)
    return event === stored ? json : JSON.stringify(event)
  }
  return { ...page, events: page.events.map(({ revision, json }) => ({ revision, json: newest(json) })) }
}

/** Events that one search reads at most, in a store that cannot search by itself. */
export const EVENTS_OF_A_SCAN = 20_000

/** Looks for events of a stream as they are stored; where the store cannot, a bounded part of the stream is read through. */
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
    // Whether there is another one decides whether there is another page.
    if (events.length === limit) return { events, seenTo: events.at(-1)?.revision ?? fromRevision - 1 }
    events.push({ revision: event.revision, json: JSON.stringify(event) })
  }
  return { events, seenTo: lastRevision }
}
