import type { WebhookEvent } from '#events/webhooks.ts'
import { type AsOfCore, revisionBefore } from '#integrity/audit/as-of.ts'
import { type Load, withRowsAfter } from '#integrity/audit/rows-after.ts'
import { type Envelope, streamOf } from '#ledger/envelope.ts'
import type { SearchPage } from '#ledger/port.ts'
import { pickNewest, search, searchOpened } from '#ledger/reading.ts'
import { TenantLimitExceeded } from '#lib/errors.ts'
import { createFairShareLimiter, type LimiterFigures } from '#lib/fair-share-limiter.ts'
import type { LiveUpdates } from '#live/updates.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { withPaymentLinks } from '#projections/payment-links.ts'
import { type OutboundMessage, renderMessages } from '#webhooks/messages.ts'
import { mayBeOutbound } from '#webhooks/outbound.ts'

/** Streams of this process, and of a company (FEED-11). */
const STREAMS = 2_000
const STREAMS_OF_COMPANY = 50

/** Events that are read at a time: what waits to be sent to a slow reader is no more than these. */
const EVENTS_OF_A_READ = 100
/** The same with messages, each of which may have to be looked back for. */
const TOLD_OF_A_READ = 20

/** Somebody who reads a company's events as they are recorded. Neither may throw. */
interface Reader {
  /** The ledger has come to this revision; many may be told as one. */
  moved(revision: number): void
  /** Nothing more will be told. */
  ended(): void
}

/** What one read gives a stream: as the ledger has it, or with personal fields opened as far as the key may read them. */
interface Wanted {
  readonly companyId: number
  /** Events behind this revision, and up to `head`. */
  readonly after: number
  readonly head: number
  readonly opened: { readonly by: string; readonly mayRead: (kind: string) => boolean } | null
  /** With the messages that it may be told; events without any are left out. */
  readonly messages: { readonly by: string; readonly mayBeTold: (event: WebhookEvent) => boolean } | null
}

/** An event, and what a stream selects it by. */
interface FeedEvent extends Pick<Envelope, 'revision' | 'subject' | 'type'> {
  /** As it is sent to each of its readers; null where it is to be left out, because no message is made of it. */
  readonly frame: Buffer | null
}

interface FeedPage extends Pick<SearchPage, 'seenTo'> {
  readonly events: readonly FeedEvent[]
}

/** What the streams of all companies share. */
export interface EventFeed extends LimiterFigures {
  /** Returns what ends it. @throws TenantLimitExceeded when the company has its share of streams, Unavailable when there are too many. */
  follow(companyId: number, reader: Reader): () => void
  /** Streams of a company that are equally far share one read. */
  read(wanted: Wanted): Promise<FeedPage>
  /** The last revision before an instant (UTC), -1 where there is none. */
  revisionBefore(companyId: number, time: string): Promise<number>
}

interface FeedCore extends AsOfCore {
  readonly poolOf: PoolOf
}

interface Group {
  readonly readers: Set<Reader>
  head: number
  leave(): void
}

/** However many streams a company has open, it is followed once, and what it records is read once for all that keep up. */
export function createEventFeed({ live, ...core }: FeedCore & { readonly live: LiveUpdates }): EventFeed {
  const places = createFairShareLimiter(STREAMS, STREAMS_OF_COMPANY)
  const groups = new Map<number, Group>()
  const reads = new Map<string, Promise<FeedPage>>()

  function groupOf(companyId: number): Group {
    const known = groups.get(companyId)
    if (known) return known
    const readers = new Set<Reader>()
    const group: Group = { readers, head: -1, leave: () => {} }
    const leave = live.subscribe(companyId, -1, {
      moved(revision) {
        group.head = revision
        for (const reader of readers) reader.moved(revision)
      },
      ended() {
        groups.delete(companyId)
        for (const reader of readers) reader.ended()
      },
    })
    groups.set(companyId, group)
    return Object.assign(group, { leave })
  }

  return {
    get used() {
      return places.used
    },
    get refused() {
      return places.refused
    },
    follow(companyId, reader) {
      if (!places.acquire(companyId, 1)) throw new TenantLimitExceeded('too many streams of the company are open')
      let group: Group
      try {
        group = groupOf(companyId)
      } catch (error) {
        places.release(companyId, 1)
        throw error
      }
      group.readers.add(reader)
      if (group.head >= 0) reader.moved(group.head)
      return () => {
        if (!group.readers.delete(reader)) return
        places.release(companyId, 1)
        if (group.readers.size > 0) return
        group.leave()
        if (groups.get(companyId) === group) groups.delete(companyId)
      }
    },
    read(wanted) {
      const { companyId, after, opened, messages } = wanted
      const key = [companyId, after, opened?.by ?? '', messages?.by ?? ''].join(' ')
      const known = reads.get(key)
      if (known) return known
      const read = find(core, wanted).finally(() => reads.delete(key))
      reads.set(key, read)
      return read
    },
    revisionBefore: (companyId, time) => revisionBefore(core, companyId, time),
  }
}

async function find(core: FeedCore, { companyId, after, head, opened, messages }: Wanted): Promise<FeedPage> {
  const stream = streamOf(companyId)
  const limit = messages ? TOLD_OF_A_READ : EVENTS_OF_A_READ
  const range = { fromRevision: after + 1, toRevision: head, types: null, subject: null, limit }
  const found = opened
    ? await searchOpened(core, stream, range, opened.mayRead)
    : await search(core.store, stream, range)
  const events = found.events.map(({ revision, json }) => {
    const { subject, type } = JSON.parse(json) as Envelope
    return { revision, json, subject, type }
  })
  const told = messages && (await messagesAmong(core, companyId, events, head))
  const frameOf = ({ revision, json }: (typeof events)[number]): Buffer | null => {
    if (!messages || !told) return frame(revision, json)
    const mine = (told.get(revision) ?? []).filter(({ event }) => messages.mayBeTold(event))
    return mine.length === 0 ? null : frame(revision, `${json.slice(0, -1)},"messages":${JSON.stringify(mine)}}`)
  }
  return { ...found, events: events.map((event) => ({ ...event, frame: frameOf(event) })) }
}

const frame = (revision: number, json: string): Buffer => Buffer.from(`id: ${revision}\ndata: ${json}\n\n`)

/** What each of some events is told as, by its revision. */
async function messagesAmong(
  core: FeedCore,
  companyId: number,
  events: readonly Omit<FeedEvent, 'frame'>[],
  head: number,
): Promise<ReadonlyMap<number, readonly OutboundMessage[]>> {
  const outbound = events.filter(({ type }) => mayBeOutbound(type)).map(({ revision }) => revision)
  // An event may be told by the one that follows it.
  const revisions = [...new Set(outbound.flatMap((revision) => [revision, Math.min(revision + 1, head)]))]
  const newest = new Map<number, Envelope>()
  for await (const event of pickNewest(core, streamOf(companyId), revisions)) newest.set(event.revision, event)
  const model = withPaymentLinks(core.model, core.paymentLinks)
  const told = new Map<number, readonly OutboundMessage[]>()
  for (const revision of outbound) {
    const event = newest.get(revision) as Envelope
    const next = newest.get(revision + 1) ?? null
    const read = (load: Load) => renderMessages(model, event, next, load)
    told.set(revision, (await withRowsAfter(core, companyId, revision, read)) ?? [])
  }
  return told
}
