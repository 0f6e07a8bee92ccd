import { type Envelope, streamOf } from '#ledger/command.ts'
import type { EventStore, Search } from '#ledger/port.ts'
import { type EventReader, search, searchOpened } from '#ledger/reading.ts'
import type { ClockCorrection } from '#projections/companies.ts'
import { tellingFrom } from './as-of.ts'

/** Filters of a ledger's events; null matches all. */
export interface TimelineFilters {
  readonly types: readonly string[] | null
  readonly subject: string | null
  readonly origin: string | null
  /** As `user/3`; `system` is the service. */
  readonly actor: string | null
  /** UTC: the first inclusive, the last exclusive. */
  readonly since: string | null
  readonly until: string | null
}

interface Timeline {
  /** Newest first. */
  readonly events: readonly Envelope[]
  /** Cursor: the next page has the events before this revision; null on the last page. */
  readonly before: number | null
}

/** Revisions scanned at a time, and at most for one page, so that rare matches do not cause long scans. */
const WINDOW = 2_000
const LOOKED_THROUGH = 40_000

/**
 * A page of a ledger for people, backwards from a revision (exclusive). With filters a page may be short although more
 * events follow.
 */
export async function timeline(
  store: EventStore,
  companyId: number,
  corrections: readonly ClockCorrection[],
  before: number,
  { since, until, ...filters }: TimelineFilters,
  limit: number,
): Promise<Timeline> {
  const stream = streamOf(companyId)
  const first = since === null ? 0 : await revisionAt(store, stream, corrections, since, before)
  let end = until === null ? before : await revisionAt(store, stream, corrections, until, before)
  const lowest = Math.max(first, end - LOOKED_THROUGH)
  const found: Envelope[] = []
  while (end > lowest && found.length <= limit) {
    // Without filters it reads only the page itself.
    const begin = Math.max(lowest, end - (isOpen(filters) ? limit + 1 : WINDOW))
    found.push(...(await eventsIn(store, stream, begin, end, filters)).reverse())
    end = begin
  }
  if (found.length > limit) {
    const events = found.slice(0, limit)
    return { events, before: events.at(-1)?.revision ?? null }
  }
  return { events: found, before: end > first ? end : null }
}

type Conditions = Omit<TimelineFilters, 'since' | 'until'>

const isOpen = (filters: Conditions): boolean => Object.values(filters).every((value) => value === null)

async function eventsIn(
  store: EventStore,
  stream: string,
  begin: number,
  end: number,
  { types, subject, origin, actor }: Conditions,
): Promise<Envelope[]> {
  const events: Envelope[] = []
  for (let from = begin; from < end; ) {
    const page = await search(store, stream, { fromRevision: from, toRevision: end - 1, types, subject, limit: WINDOW })
    for (const { json } of page.events) {
      const event = JSON.parse(json) as Envelope
      if ((origin === null || event.origin === origin) && (actor === null || (event.actor ?? 'system') === actor))
        events.push(event)
    }
    from = page.seenTo + 1
  }
  return events
}

/**
 * First revision below `end` recorded at a time or later, or `end`. Uses binary search, because times are ascending
 * between clock corrections.
 */
async function revisionAt(
  store: EventStore,
  stream: string,
  corrections: readonly ClockCorrection[],
  time: string,
  end: number,
): Promise<number> {
  const next = corrections.find(({ recorded_at }) => recorded_at > time)?.revision ?? end
  let [low, high] = [Math.min(tellingFrom(corrections, time), end), Math.min(next, end)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const event = await eventAt(store, stream, middle)
    if (event && event.recorded_at < time) low = middle + 1
    else high = middle
  }
  return low
}

const only = (revision: number): Search => ({
  fromRevision: revision,
  toRevision: revision,
  types: null,
  subject: null,
  limit: 1,
})

/** An event of a stream; null if there is none. */
async function eventAt(store: EventStore, stream: string, revision: number): Promise<Envelope | null> {
  const { events } = await search(store, stream, only(revision))
  return events[0] ? (JSON.parse(events[0].json) as Envelope) : null
}

/** The stored event, and its data with personal fields in clear text. */
export async function openedEventAt(
  reading: EventReader,
  companyId: number,
  revision: number,
): Promise<{ event: Envelope; opened: object } | null> {
  const { events } = await searchOpened(reading, streamOf(companyId), only(revision))
  if (!events[0]) return null
  const { opened, ...event } = JSON.parse(events[0].json) as Envelope & { readonly opened: object }
  return { event, opened }
}
