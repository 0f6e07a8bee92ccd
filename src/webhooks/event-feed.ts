import type { WebhookEvent } from '#events/catalogue.ts'
import type { LiveUpdates } from '#http/live-updates.ts'
import { type AsOfCore, type Load, revisionBefore, withRowsAfter } from '#integrity/as-of.ts'
import { type Envelope, streamName } from '#ledger/command.ts'
import { pickNewest, type SearchPage, search, searchOpened } from '#ledger/port.ts'
import { createFairShareLimiter, type LimiterFigures } from '#lib/fair-sharing.ts'
import type { PoolOf } from '#postgres/pool.ts'
import { withPaymentLinks } from '#projections/orders.ts'
import { mayBeOutbound, type OutboundMessage, renderMessages } from './outbox.ts'

/** Dependencies of messages of past events. */
export interface LedgerMessagesCore extends AsOfCore {
  readonly poolOf: PoolOf
}

/** An opened event in its newest version, with its messages. */
interface EventMessages {
  readonly event: Envelope
  readonly messages: readonly OutboundMessage[]
}

/**
 * Renders the messages of events from the ledger, by revision (ascending), with rows as they were right after each
 * event. The event after the last one counts up to revision `head`. Event stream and replays share it.
 * Each event may need rows reconstructed at its revision. @throws PastUnavailable
 */
export async function renderLedgerMessages(
  core: LedgerMessagesCore,
  companyId: number,
  revisions: readonly number[],
  head: number,
): Promise<ReadonlyMap<number, EventMessages>> {
  // The next event may affect the message of an event.
  const picked = [...new Set(revisions.flatMap((revision) => [revision, Math.min(revision + 1, head)]))]
  const newest = new Map<number, Envelope>()
  for await (const event of pickNewest(core, streamName(companyId), picked)) newest.set(event.revision, event)
  const model = withPaymentLinks(core.model, core.paymentLinks)
  const rendered = new Map<number, EventMessages>()
  for (const revision of revisions) {
    const event = newest.get(revision) as Envelope
    const next = newest.get(revision + 1) ?? null
    const read = (load: Load) => renderMessages(model, event, next, load)
    rendered.set(revision, { event, messages: (await withRowsAfter(core, companyId, revision, read)) ?? [] })
  }
  return rendered
}

/** Maximum of streams per process and per company (FEED-11). */
const STREAMS = 2_000
const STREAMS_OF_COMPANY = 50

/** Events per read; bounds the memory for a slow reader. */
const EVENTS_OF_A_READ = 100
/** Events per read with messages. Each may need rows reconstructed at its revision. */
const MESSAGES_OF_A_READ = 20

/** Follows a company's events. The methods must not throw. */
interface Reader {
  /** The ledger has reached this revision; calls may be merged. */
  moved(revision: number): void
  /** No further calls follow. */
  ended(): void
}

/** Parameters of a read: events as stored, or with personal fields opened as far as the key's scopes allow. */
interface FeedQuery {
  readonly companyId: number
  /** Exclusive; the read ends at `head`. */
  readonly after: number
  readonly head: number
  readonly opened: { readonly by: string; readonly mayRead: (kind: string) => boolean } | null
  /** Adds the messages allowed by the scopes; events without a message are left out. */
  readonly messages: { readonly by: string; readonly isAllowed: (event: WebhookEvent) => boolean } | null
}

/** An event with the fields that streams filter by. */
interface FeedEvent extends Pick<Envelope, 'revision' | 'subject' | 'type'> {
  /** The frame for all readers; null if the event is left out because it has no message. */
  readonly frame: Buffer | null
}

interface FeedPage extends Pick<SearchPage, 'seenTo'> {
  readonly events: readonly FeedEvent[]
}

/** Shared by the streams of all companies. */
export interface EventFeed extends LimiterFigures {
  /**
   * Returns a function that ends the stream. @throws TenantLimitExceeded if the company has its maximum of streams,
   * Unavailable if the process has.
   */
  follow(companyId: number, reader: Reader): () => void
  /** Streams of a company at the same position share one read. */
  read(query: FeedQuery): Promise<FeedPage>
  /** Last revision before an instant (UTC); -1 if there is none. */
  revisionBefore(companyId: number, time: string): Promise<number>
}

/** Reads new events of a company once for all streams that keep up. */
export function createEventFeed({ live, ...core }: LedgerMessagesCore & { readonly live: LiveUpdates }): EventFeed {
  const places = createFairShareLimiter(STREAMS, STREAMS_OF_COMPANY)
  const reads = new Map<string, Promise<FeedPage>>()

  return {
    get used() {
      return places.used
    },
    get refused() {
      return places.refused
    },
    follow: (companyId, reader) => live.subscribe(companyId, -1, reader, places),
    read(query) {
      const { companyId, after, opened, messages } = query
      const key = [companyId, after, opened?.by ?? '', messages?.by ?? ''].join(' ')
      const known = reads.get(key)
      if (known) return known
      const read = find(core, query).finally(() => reads.delete(key))
      reads.set(key, read)
      return read
    },
    revisionBefore: (companyId, time) => revisionBefore(core, companyId, time),
  }
}

async function find(
  core: LedgerMessagesCore,
  { companyId, after, head, opened, messages }: FeedQuery,
): Promise<FeedPage> {
  const stream = streamName(companyId)
  const limit = messages ? MESSAGES_OF_A_READ : EVENTS_OF_A_READ
  const range = { fromRevision: after + 1, toRevision: head, types: null, subject: null, limit }
  const found = opened
    ? await searchOpened(core, stream, range, opened.mayRead)
    : await search(core.store, stream, range)
  const events = found.events.map(({ revision, json }) => {
    const { subject, type } = JSON.parse(json) as Envelope
    return { revision, json, subject, type }
  })
  const outbound = messages ? events.filter(({ type }) => mayBeOutbound(type)).map(({ revision }) => revision) : []
  const rendered = await renderLedgerMessages(core, companyId, outbound, head)
  const frameOf = ({ revision, json }: (typeof events)[number]): Buffer | null => {
    if (!messages) return frame(revision, json)
    const allowed = (rendered.get(revision)?.messages ?? []).filter(({ event }) => messages.isAllowed(event))
    return allowed.length === 0 ? null : frame(revision, `${json.slice(0, -1)},"messages":${JSON.stringify(allowed)}}`)
  }
  return { ...found, events: events.map((event) => ({ ...event, frame: frameOf(event) })) }
}

const frame = (revision: number, json: string): Buffer => Buffer.from(`id: ${revision}\ndata: ${json}\n\n`)
