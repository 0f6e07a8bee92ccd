import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Readable } from 'node:stream'
import {
  CancelledError,
  convertToCommandError,
  EventStoreDBClient,
  NotLeaderError,
  UnavailableError,
} from '@eventstore/db-client'
import type * as Shared from '@eventstore/db-client/generated/shared_pb.js'
import type * as StreamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'
import { Unavailable } from '#lib/errors.ts'
import { WrongExpectedRevision } from '../port.ts'

type CallArguments = Parameters<StreamsCalls['batchAppend']>

/** Members that the client's types do not declare, though its own methods use them. */
interface Inside {
  /** Whether the server supports a feature; used only to decide whether appends share a call. */
  supports(): Promise<boolean>
  /** Replaces a failed connection by a new one. The client ignores the returned promise. */
  handleError(client: unknown, error: Error): Promise<void>
  /** Calls of the current connection. */
  getGRPCClient(calls: typeof StreamsClient, debugName: string): Promise<StreamsCalls>
  /** Credentials, and the headers that every call of the client has. */
  callArguments(
    options: { readonly requiresLeader: boolean },
    callOptions: { readonly deadline: number },
  ): Required<CallArguments>
}

const insideOf = (client: EventStoreDBClient): Inside => client as unknown as Inside

/**
 * A client of version 6, patched so that an outage cannot end the process or outlast itself (ADR-0017). Its own appends
 * are separate calls. When they share one, they cause unhandled rejections if the connection breaks, and first query
 * the server's features, without a time limit and with failures cached forever. Our own share one.
 */
export function createEventStoreClient(url: string): EventStoreDBClient {
  const client = connect(url)
  const inside = insideOf(client)
  const { handleError } = inside
  inside.supports = async () => false
  // Without a leader in the cluster it rejects, and the rejection would be unhandled. The next call reconnects or
  // fails.
  inside.handleError = (failed, error) => handleError(failed, error).catch(() => {})
  return client
}

/** KurrentDB is the newer name of EventStoreDB; this client knows only the older scheme. */
function connect(url: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(url.replace(/^kurrent(db)?(?=[+:])/, 'esdb'))
  } catch (error) {
    // The error quotes the connection string, including its password.
    const reason = (error as Error).message.replace(/^Unexpected ".*"(?= at position)/s, 'something unexpected')
    throw new Error(`the address of the event store cannot be understood: ${reason}`)
  }
}

/** Result of a read or subscription of the client. */
export interface StreamRead<T> extends Readable {
  [Symbol.asyncIterator](): NodeJS.AsyncIterator<T>
  cancel?(): Promise<void>
  unsubscribe?(): Promise<void>
}

/** All reads and subscriptions of one server that have not ended. */
export interface OpenStreams {
  /** Collects all events of a read. @throws Unavailable if none arrives for `silence_ms`. */
  toEnd<T>(reading: StreamRead<T>, silence_ms: number): Promise<T[]>
  /** Yields the events of a subscription until the signal aborts. */
  follow<T>(subscription: StreamRead<T>, signal: AbortSignal): AsyncIterable<T>
  /** Fails all open reads and subscriptions. */
  close(): void
}

/**
 * Reads that always end. The client's own have no time limit, stay open if they are abandoned midway, and end as if
 * complete if they are cancelled. So each one is read to its end, or ended here with an error.
 */
export function createOpenStreams(): OpenStreams {
  const open = new Set<StreamRead<unknown>>()

  function track<T>(reading: StreamRead<T>): void {
    open.add(reading)
    // An error may arrive after the reader has left; without a listener it would end the process.
    reading.on('error', () => {})
  }
  /** The error comes first: a reader must not mistake the end of a cancelled read for the end of the stream. */
  function end(reading: StreamRead<unknown>, error?: Error): void {
    open.delete(reading)
    reading.destroy(error)
    const cancelled = reading.cancel?.() ?? reading.unsubscribe?.()
    // The connection may never have been established.
    cancelled?.catch(() => {})
  }

  return {
    async toEnd(reading, silence_ms) {
      track(reading)
      const silent = setTimeout(
        () => end(reading, new Unavailable('the event store has stopped answering')),
        silence_ms,
      )
      const all = []
      try {
        for await (const item of reading) {
          all.push(item)
          silent.refresh()
        }
        return all
      } finally {
        clearTimeout(silent)
        open.delete(reading)
      }
    },
    async *follow(subscription, signal) {
      track(subscription)
      const stop = () => end(subscription)
      signal.addEventListener('abort', stop, { once: true })
      try {
        // Iterated instead of using listeners: an asynchronous listener would let events overlap.
        if (!signal.aborted) yield* subscription
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        signal.removeEventListener('abort', stop)
        stop()
      }
    },
    close() {
      for (const reading of open) end(reading, new Unavailable('the event store was closed'))
    },
  }
}

/** Generated definitions of the client: CommonJS with names that only the types declare. */
const require = createRequire(import.meta.url)
const streams = require('@eventstore/db-client/generated/streams_pb.js') as typeof Streams
const shared = require('@eventstore/db-client/generated/shared_pb.js') as typeof Shared
export const { StreamsClient } = require('@eventstore/db-client/generated/streams_grpc_pb.js') as typeof StreamsGrpc

/** Two types without members; their bytes are the same. */
const EMPTY = new shared.Empty() as unknown as ReturnType<Streams.BatchAppendReq.Options['getNoStream']>

type StreamsCalls = StreamsGrpc.StreamsClient
type AppendCall = ReturnType<StreamsCalls['batchAppend']>
type AppendRequest = Streams.BatchAppendReq
type AppendReply = Streams.BatchAppendResp

/** An event as the store keeps it. */
export interface SerializedEvent {
  readonly id: string
  readonly type: string
  readonly data: Buffer
  readonly metadata: Buffer
}

/**
 * A whole append in one message. It has no deadline: that would be a time of day, and clocks differ. The server has a
 * limit of its own (2 s by default).
 */
function appendRequest(
  correlationId: string,
  stream: string,
  expectedRevision: number,
  events: readonly SerializedEvent[],
): AppendRequest {
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(stream)),
  )
  if (expectedRevision < 0) options.setNoStream(EMPTY)
  else options.setStreamPosition(String(expectedRevision))
  return new streams.BatchAppendReq()
    .setCorrelationId(new shared.UUID().setString(correlationId))
    .setOptions(options)
    .setProposedMessagesList(events.map(proposed))
    .setIsFinal(true)
}

function proposed({ id, type, data, metadata }: SerializedEvent) {
  const message = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(data)
    .setCustomMetadata(metadata)
  message.getMetadataMap().set('type', type).set('content-type', 'application/json')
  return message
}

/** Answer of the server to an append that it did not store, or not yet. */
export interface AppendFailure {
  readonly kind: 'wrong revision' | 'not handled' | 'other'
  readonly message: string
}

/** Null if the append is stored. */
function appendFailureOf(reply: AppendReply): AppendFailure | null {
  if (!reply.hasError()) return null
  const error = reply.getError()
  const type = error?.getDetails()?.getTypeName() ?? ''
  const message = error?.getMessage() ?? ''
  if (type === 'event_store.client.WrongExpectedVersion') return { kind: 'wrong revision', message }
  // The node is not ready, too busy, or knows no leader.
  if (type === 'google.protobuf.Empty') return { kind: 'not handled', message }
  return { kind: 'other', message: message || type }
}

/** More wait their turn. */
const MAX_IN_FLIGHT = 256
/** How long the shared call is not tried again after the server has refused it, or has never answered it in time. */
const REFUSED_MS = 60_000

/** The server does not accept the shared call: old servers and some proxies do not know it. */
export class SharedCallRefused extends Error {
  override readonly name = 'SharedCallRefused'
}

/** One call for the appends of the process (ADR-0017). */
export interface AppendStream {
  /**
   * @throws WrongExpectedRevision if the stream does not end at the expected revision
   * @throws SharedCallRefused until the server may be asked again
   * After any other error the outcome is unknown.
   */
  append(stream: string, expectedRevision: number, events: readonly SerializedEvent[]): Promise<void>
  close(): void
}

/** An append without an answer. */
interface OpenAppend {
  readonly stream: string
  readonly expectedRevision: number
  readonly correlationId: string
  readonly request: AppendRequest
  readonly timer: NodeJS.Timeout
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** One call from its first append to its failure. */
interface OpenCall {
  /** Null while it is being connected. */
  call: AppendCall | null
  /** By correlation id; the server may answer in any order. */
  readonly sent: Map<string, OpenAppend>
  readonly unsent: OpenAppend[]
  hasAnswered: boolean
  hasEnded: boolean
  /** Ends the call on this side, and lets the client reconnect if the error asks for that. */
  release: (error: Error) => void
}

/**
 * Every append is answered in time, or fails. A call that fails for one append fails for all that wait, which then
 * have an unknown outcome; the next append opens another call.
 */
export function createAppendStream(client: EventStoreDBClient, timeout_ms: number): AppendStream {
  let current: OpenCall | null = null
  let refusedUntil_ms = 0

  function end(open: OpenCall, error: Error): void {
    if (open.hasEnded) return
    open.hasEnded = true
    if (current === open) current = null
    const isRefused = !open.hasAnswered && !isLostConnection(error)
    if (isRefused) refusedUntil_ms = performance.now() + REFUSED_MS
    open.release(error)
    const reason =
      isRefused && !(error instanceof Unavailable) ? new SharedCallRefused(error.message, { cause: error }) : error
    for (const append of [...open.sent.values(), ...open.unsent]) {
      clearTimeout(append.timer)
      append.reject(reason)
    }
  }

  function start(): OpenCall {
    const sent = new Map()
    const open: OpenCall = { call: null, sent, unsent: [], hasAnswered: false, hasEnded: false, release: () => {} }
    connectAppends(client, open, (error) => end(open, error)).catch((error: Error) => end(open, error))
    return open
  }

  return {
    append: (stream, expectedRevision, events) =>
      new Promise((resolve, reject) => {
        if (performance.now() < refusedUntil_ms) throw new SharedCallRefused('the shared call was refused')
        current ??= start()
        const open = current
        const correlationId = randomUUID()
        const request = appendRequest(correlationId, stream, expectedRevision, events)
        const late = () => end(open, new Unavailable('the event store did not answer in time'))
        const timer = setTimeout(late, timeout_ms)
        open.unsent.push({ stream, expectedRevision, correlationId, request, timer, resolve, reject })
        send(open)
      }),
    close() {
      if (current) end(current, new Unavailable('the event store was closed'))
    },
  }
}

async function connectAppends(
  client: EventStoreDBClient,
  open: OpenCall,
  onEnd: (error: Error) => void,
): Promise<void> {
  const inside = insideOf(client)
  const grpc = await inside.getGRPCClient(StreamsClient, 'appends')
  if (open.hasEnded) return
  const call = grpc.batchAppend(...inside.callArguments({ requiresLeader: true }, { deadline: Infinity }))
  open.release = (error) => {
    call.cancel()
    void inside.handleError(grpc, error)
  }
  open.call = call
  call
    // Also after the end: without a listener the error of the cancelled call would end the process.
    .on('error', onEnd)
    .on('end', () => onEnd(new UnavailableError(undefined, 'the event store ended the call')))
    .on('drain', () => send(open))
    .on('data', (reply: AppendReply) => {
      open.hasAnswered = true
      const failure = settle(open, reply)
      if (failure) onEnd(failure)
      else send(open)
    })
  send(open)
}

function send({ call, sent, unsent }: OpenCall): void {
  while (call && !call.writableNeedDrain && sent.size < MAX_IN_FLIGHT) {
    const append = unsent.shift()
    if (!append) return
    sent.set(append.correlationId, append)
    call.write(append.request)
  }
}

/** Returns an error if this node cannot append at all. */
function settle({ sent }: OpenCall, reply: AppendReply): Error | null {
  const correlationId = reply.getCorrelationId()?.getString() ?? ''
  const append = sent.get(correlationId)
  if (!append) return null
  const failure = appendFailureOf(reply)
  if (failure?.kind === 'not handled') return new UnavailableError(undefined, failure.message)
  sent.delete(correlationId)
  clearTimeout(append.timer)
  if (!failure) append.resolve()
  else if (failure.kind === 'wrong revision')
    append.reject(new WrongExpectedRevision(append.stream, append.expectedRevision))
  else append.reject(new Error(`the event store failed an append: ${failure.message}`))
  return null
}

/** The server cannot be reached or is not the leader: that says nothing about the call. */
function isLostConnection(error: Error): boolean {
  const kind = convertToCommandError(error)
  return kind instanceof UnavailableError || kind instanceof CancelledError || kind instanceof NotLeaderError
}
