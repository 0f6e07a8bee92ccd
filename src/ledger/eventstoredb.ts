import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  END,
  EventStoreDBClient,
  FORWARDS,
  type JSONEventData,
  jsonEvent,
  NO_STREAM,
  START,
  StreamNotFoundError,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import { chunksOf } from './append-chunks.ts'
import { companyOf, type Envelope, STREAM_PREFIX } from './envelope.ts'
import { type Append, type Note, type OutsideStore, Unavailable, WrongExpectedRevision } from './port.ts'

/** Below the server's default of 1 MiB an append, with room for what it adds to each event. */
const MAX_APPEND_BYTES = 900_000
/** Events fetched at a time while reading; memory does not grow with the length of a stream. */
const PAGE = 500
/** The server gives up first; whatever it has not answered a second later is unknown. */
const APPEND_DEADLINE_MS = 4000
const APPEND_TIMEOUT_MS = 5000
const PING_DEADLINE_MS = 2000

/** Ledgers in EventStoreDB (or KurrentDB): one stream per company, the envelope's data as data and all the rest as metadata. */
export function createEventStoreDb(url: string): OutsideStore {
  const client = EventStoreDBClient.connectionString(url)
  return {
    transactional: false,
    append: (appends) => appendAll(client, appends),
    read: (stream, fromRevision) => reachable(readStream(client, stream, fromRevision)),
    async *streams() {
      const known = new Set<string>()
      for await (const { stream } of reachable(notes(client, null))) {
        if (known.has(stream)) continue
        known.add(stream)
        yield stream
      }
    },
    notes: (after) => reachable(notes(client, after)),
    subscribe: (after, signal) => reachable(subscribe(client, after, signal)),
    async ping() {
      const last = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, deadline: PING_DEADLINE_MS })
      for await (const _ of reachable(last)) return
    },
    close: () => client.dispose(),
  }
}

/** All streams side by side. A failure says nothing of the others, so each is waited for. */
async function appendAll(client: EventStoreDBClient, appends: readonly Append[]): Promise<void> {
  const outcomes = await Promise.allSettled(appends.map((append) => appendOne(client, append)))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

async function appendOne(client: EventStoreDBClient, { stream, expectedRevision, commands }: Append): Promise<void> {
  let revision = expectedRevision
  for (const chunk of chunksOf(commands, MAX_APPEND_BYTES)) {
    const options = {
      expectedRevision: revision < 0 ? NO_STREAM : BigInt(revision),
      deadline: APPEND_DEADLINE_MS,
      requiresLeader: true,
    } as const
    try {
      // A connection string may have switched the error off; then only the result tells.
      const appended = client.appendToStream(stream, chunk.map(toEvent), options)
      const { success } = await withTimeout(appended, APPEND_TIMEOUT_MS)
      if (!success) throw new WrongExpectedRevision(stream, expectedRevision)
    } catch (error) {
      throw error instanceof WrongExpectedVersionError ? new WrongExpectedRevision(stream, expectedRevision) : error
    }
    revision += chunk.length
  }
}

function toEvent({ data, ...metadata }: Envelope): JSONEventData {
  return jsonEvent({ id: metadata.id, type: metadata.type, data: data as JSONEventData['data'], metadata })
}

const toEnvelope = (event: { readonly data: unknown; readonly metadata: unknown }): Envelope =>
  ({ ...(event.metadata as object), data: event.data }) as Envelope

async function* readStream(client: EventStoreDBClient, stream: string, fromRevision: number): AsyncIterable<Envelope> {
  let from = fromRevision
  for (;;) {
    const options = { fromRevision: BigInt(from), direction: FORWARDS, maxCount: PAGE, requiresLeader: true } as const
    // A page is read to its end before anything is done with it: a read that is left in the middle stays open.
    const page: Envelope[] = []
    try {
      for await (const { event } of client.readStream(stream, options)) if (event) page.push(toEnvelope(event))
    } catch (error) {
      if (error instanceof StreamNotFoundError) return
      throw error
    }
    yield* page
    if (page.length < PAGE) return
    from += PAGE
  }
}

/** Reading from a position includes it, and readAll knows no filter. */
async function* notes(client: EventStoreDBClient, after: string | null): AsyncIterable<Note> {
  let last = after
  for (;;) {
    const options = {
      fromPosition: last === null ? START : positionOf(last),
      direction: FORWARDS,
      maxCount: PAGE,
      requiresLeader: true,
    } as const
    const page: AllStreamResolvedEvent[] = []
    for await (const resolved of client.readAll(options)) page.push(resolved)
    const fresh = page.filter(({ event }) => event && textOf(event.position) !== last)
    for (const resolved of fresh) yield* noteOf(resolved)
    const end = fresh.at(-1)?.event
    if (page.length < PAGE || !end) return
    last = textOf(end.position)
  }
}

/** Subscribing after a position excludes it. */
async function* subscribe(client: EventStoreDBClient, after: string | null, signal: AbortSignal): AsyncIterable<Note> {
  const subscription = client.subscribeToAll({
    fromPosition: after === null ? START : positionOf(after),
    filter: streamNameFilter({ prefixes: [STREAM_PREFIX] }),
  })
  const stop = () => void subscription.unsubscribe().then(() => subscription.destroy())
  signal.addEventListener('abort', stop, { once: true })
  try {
    // Iterated, never listened to: an asynchronous listener would let events overlap.
    for await (const resolved of subscription) yield* noteOf(resolved)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

function noteOf({ event }: AllStreamResolvedEvent): Note[] {
  if (!event || companyOf(event.streamId) === null) return []
  return [{ stream: event.streamId, revision: Number(event.revision), position: textOf(event.position) }]
}

const textOf = ({ commit, prepare }: { commit: bigint; prepare: bigint }): string => `${commit}/${prepare}`

function positionOf(text: string): { commit: bigint; prepare: bigint } {
  const [commit = '', prepare = ''] = text.split('/')
  return { commit: BigInt(commit), prepare: BigInt(prepare) }
}

/** The client has errors of many kinds for a server that cannot be reached; of a read, none of them means anything else. */
async function* reachable<T>(events: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* events
  } catch (error) {
    throw new Unavailable('the event store cannot be reached', { cause: error })
  }
}

/** An append to a server that has stopped answering would never settle. */
async function withTimeout<T>(promise: Promise<T>, timeout_ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Unavailable('the event store did not answer in time')), timeout_ms)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
  }
}
