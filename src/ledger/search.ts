import type { EventStore, Search, SearchPage } from './port.ts'

/** Events that one search reads at most, in a store that cannot search by itself. */
export const EVENTS_OF_A_SCAN = 20_000

/** Looks for events of a stream; where the store cannot, a bounded part of the stream is read through. */
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
