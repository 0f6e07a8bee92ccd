import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  DeadlineExceededError,
  END,
  type EventStoreDBClient,
  FORWARDS,
  type JSONEventData,
  jsonEvent,
  NO_STREAM,
  START,
  StreamNotFoundError,
  streamNameFilter,
  WrongExpectedVersionError,
} from '@eventstore/db-client'
import { Unavailable } from '#lib/errors.ts'
import { companyIdOfStream, type Envelope, STREAM_PREFIX } from '../command.ts'
import {
  type Append,
  joinRanges,
  type Note,
  type OutsideStore,
  type RevisionRange,
  splitChunks,
  WrongExpectedRevision,
} from '../port.ts'
import {
  type AppendStream,
  createAppendStream,
  createEventStoreClient,
  createOpenStreams,
  type OpenStreams,
  type SerializedEvent,
  SharedCallRefused,
} from './eventstoredb-client.ts'

/** Circuit breaker: fails fast while the server does not respond. */
interface CircuitBreaker {
  /** Returns the result of `work`. @throws Unavailable, without calling the server, while the circuit is open. */
  call<T>(work: () => Promise<T>): Promise<T>
  /** Closes the circuit: the server responds. */
  close(): void
}

/**
 * A call that times out opens the circuit, and later calls are refused for `open_ms`. Without it, requests that wait
 * for the same lock and lanes would run into a time-out one after the other.
 */
export function createCircuitBreaker(open_ms: number): CircuitBreaker {
  let openUntil_ms = 0
  return {
    async call(work) {
      if (performance.now() < openUntil_ms) throw new Unavailable('the event store has just not answered')
      try {
        return await work()
      } catch (error) {
        const isLost = error instanceof Unavailable || error instanceof DeadlineExceededError
        if (isLost) openUntil_ms = performance.now() + open_ms
        throw error
      }
    },
    close() {
      openUntil_ms = 0
    },
  }
}

/** @throws Unavailable if the promise does not settle in time. */
export async function withTimeout<T>(promise: Promise<T>, timeout_ms: number): Promise<T> {
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

/** Below the server's default of 1 MiB per append, with room for its overhead per event. */
const MAX_APPEND_BYTES = 900_000
/** Upper bound of what the server counts for the type of an event. */
const RECORD_BYTES = 100
/** Events per page of a read; memory does not grow with the length of a stream. */
const PAGE = 500
/** Largest gap between two requested events that is read along instead of skipped by another call. */
const PICK_GAP = 32
const PICKS_AT_ONCE = 8
/**
 * Deadline of a separate call; an append without a result one second later (for example during discovery of a cluster)
 * has an unknown outcome.
 */
const APPEND_DEADLINE_MS = 4000
const APPEND_TIMEOUT_MS = 5000
/** Longest wait for the next event of a read. */
const READ_SILENCE_MS = 5000
const PING_SILENCE_MS = 2000
/** How long the circuit stays open after a time-out. */
const OPEN_MS = 2000

/** Connection to one server or cluster, with its open reads. */
interface Connection {
  readonly client: EventStoreDBClient
  readonly appends: AppendStream
  readonly open: OpenStreams
  readonly breaker: CircuitBreaker
}

/**
 * Ledgers in EventStoreDB (or KurrentDB): one stream per company, the envelope's data as data and all other members as
 * metadata.
 */
export function createEventStoreDb(url: string): OutsideStore {
  const client = createEventStoreClient(url)
  const open = createOpenStreams()
  const breaker = createCircuitBreaker(OPEN_MS)
  const appends = createAppendStream(client, APPEND_TIMEOUT_MS)
  const connection = { client, appends, open, breaker }
  return {
    transactional: false,
    append: (all) => appendAll(connection, all),
    read: (stream, fromRevision) => reachable(readStream(connection, stream, fromRevision)),
    pick: (stream, revisions) => reachable(pickEvents(connection, stream, revisions)),
    async *streams() {
      const known = new Set<string>()
      for await (const { stream } of reachable(notes(connection, null))) {
        if (known.has(stream)) continue
        known.add(stream)
        yield stream
      }
    },
    notes: (after) => reachable(notes(connection, after)),
    subscribe: (after, signal) => reachable(subscribe(connection, after, signal)),
    async ping() {
      const last = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })
      await open.toEnd(last, PING_SILENCE_MS).catch(unreachable)
      breaker.close()
    },
    async close() {
      appends.close()
      open.close()
    },
  }
}

/**
 * Appends to all streams concurrently. Each append is awaited, because the failure of one does not imply that of
 * others.
 */
async function appendAll(connection: Connection, appends: readonly Append[]): Promise<void> {
  const outcomes = await Promise.allSettled(appends.map((append) => appendOne(connection, append)))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (failed) throw failed.reason
}

async function appendOne({ client, appends, breaker }: Connection, append: Append): Promise<void> {
  const { stream, expectedRevision, commands } = append
  const serialized = commands.map((events) => events.map(serialize))
  let revision = expectedRevision
  for (const chunk of splitChunks(serialized, MAX_APPEND_BYTES, bytesOf)) {
    try {
      await breaker.call(() =>
        appends.append(stream, revision, chunk).catch((error: unknown) => {
          // Repeating an append with the same ids is safe.
          if (error instanceof SharedCallRefused) return appendAlone(client, stream, revision, chunk)
          throw error
        }),
      )
    } catch (error) {
      if (error instanceof WrongExpectedRevision) throw new WrongExpectedRevision(stream, expectedRevision)
      throw new Unavailable('the event store has not acknowledged an append', { cause: error })
    }
    revision += chunk.length
  }
}

/** Serialized here, because the size and the message need it. */
interface StoredEnvelope extends SerializedEvent {
  readonly envelope: Envelope
}

function serialize(envelope: Envelope): StoredEnvelope {
  const { data, ...metadata } = envelope
  const { id, type } = metadata
  return {
    id,
    type,
    data: Buffer.from(JSON.stringify(data)),
    metadata: Buffer.from(JSON.stringify(metadata)),
    envelope,
  }
}

const bytesOf = ({ data, metadata }: SerializedEvent): number => data.length + metadata.length + RECORD_BYTES

/** A separate call. @throws WrongExpectedRevision */
async function appendAlone(
  client: EventStoreDBClient,
  stream: string,
  expectedRevision: number,
  events: readonly StoredEnvelope[],
): Promise<void> {
  const options = {
    expectedRevision: expectedRevision < 0 ? NO_STREAM : BigInt(expectedRevision),
    deadline: APPEND_DEADLINE_MS,
    requiresLeader: true,
  } as const
  const messages = events.map(({ envelope: { data, ...metadata } }) =>
    jsonEvent({ id: metadata.id, type: metadata.type, data: data as JSONEventData['data'], metadata }),
  )
  // A connection string may disable the error; then only the result shows the failure.
  const { success } = await withTimeout(client.appendToStream(stream, messages, options), APPEND_TIMEOUT_MS).catch(
    (error: unknown) => {
      if (error instanceof WrongExpectedVersionError) return { success: false }
      throw error
    },
  )
  if (!success) throw new WrongExpectedRevision(stream, expectedRevision)
}

const toEnvelope = (event: { readonly data: unknown; readonly metadata: unknown }): Envelope =>
  ({ ...(event.metadata as object), data: event.data }) as Envelope

async function* readStream(
  { client, open, breaker }: Connection,
  stream: string,
  fromRevision: number,
): AsyncIterable<Envelope> {
  let from = fromRevision
  for (;;) {
    const options = { fromRevision: BigInt(from), direction: FORWARDS, maxCount: PAGE, requiresLeader: true } as const
    let page: Envelope[]
    try {
      const resolved = await breaker.call(() => open.toEnd(client.readStream(stream, options), READ_SILENCE_MS))
      page = resolved.flatMap(({ event }) => (event ? [toEnvelope(event)] : []))
    } catch (error) {
      if (error instanceof StreamNotFoundError) return
      throw error
    }
    yield* page
    if (page.length < PAGE) return
    from += PAGE
  }
}

/** One read per range, with limited concurrency. */
async function* pickEvents(
  connection: Connection,
  stream: string,
  revisions: readonly number[],
): AsyncIterable<Envelope> {
  const wanted = new Set(revisions)
  const ranges = joinRanges(revisions, PICK_GAP, PAGE)
  for (let start = 0; start < ranges.length; start += PICKS_AT_ONCE) {
    const reads = ranges.slice(start, start + PICKS_AT_ONCE).map((range) => readRange(connection, stream, range))
    for (const events of await Promise.all(reads)) {
      for (const event of events) if (wanted.has(event.revision)) yield event
    }
  }
}

async function readRange({ client, open, breaker }: Connection, stream: string, [first, last]: RevisionRange) {
  const options = {
    fromRevision: BigInt(first),
    direction: FORWARDS,
    maxCount: last - first + 1,
    requiresLeader: true,
  } as const
  const resolved = await breaker.call(() => open.toEnd(client.readStream(stream, options), READ_SILENCE_MS))
  return resolved.flatMap(({ event }) => (event ? [toEnvelope(event)] : []))
}

/** Reading from a position includes that position, and readAll has no filter. */
async function* notes({ client, open }: Connection, after: string | null): AsyncIterable<Note> {
  let last = after
  for (;;) {
    const options = {
      fromPosition: last === null ? START : positionOf(last),
      direction: FORWARDS,
      maxCount: PAGE,
      requiresLeader: true,
    } as const
    const page = await open.toEnd(client.readAll(options), READ_SILENCE_MS)
    const fresh = page.filter(({ event }) => event && textOf(event.position) !== last)
    for (const resolved of fresh) yield* noteOf(resolved)
    const end = fresh.at(-1)?.event
    if (page.length < PAGE || !end) return
    last = textOf(end.position)
  }
}

/** Subscribing after a position excludes that position. */
async function* subscribe(
  { client, open }: Connection,
  after: string | null,
  signal: AbortSignal,
): AsyncIterable<Note> {
  const subscription = client.subscribeToAll({
    fromPosition: after === null ? START : positionOf(after),
    filter: streamNameFilter({ prefixes: [STREAM_PREFIX] }),
  })
  for await (const resolved of open.follow(subscription, signal)) yield* noteOf(resolved)
}

function noteOf({ event }: AllStreamResolvedEvent): Note[] {
  if (!event || companyIdOfStream(event.streamId) === null) return []
  return [{ stream: event.streamId, revision: Number(event.revision), position: textOf(event.position) }]
}

const textOf = ({ commit, prepare }: { commit: bigint; prepare: bigint }): string => `${commit}/${prepare}`

function positionOf(text: string): { commit: bigint; prepare: bigint } {
  const [commit = '', prepare = ''] = text.split('/')
  return { commit: BigInt(commit), prepare: BigInt(prepare) }
}

/** The client has many kinds of errors for an unreachable server; any error of a read means just that. */
async function* reachable<T>(events: AsyncIterable<T>): AsyncIterable<T> {
  try {
    yield* events
  } catch (error) {
    unreachable(error)
  }
}

function unreachable(error: unknown): never {
  throw new Unavailable('the event store cannot be reached', { cause: error })
}
