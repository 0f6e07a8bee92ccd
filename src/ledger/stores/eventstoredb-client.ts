import { createRequire } from 'node:module'
import type { Readable } from 'node:stream'
import { EventStoreDBClient } from '@eventstore/db-client'
import type * as Shared from '@eventstore/db-client/generated/shared_pb.js'
import type * as StreamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'
import { Unavailable } from '#lib/errors.ts'

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

export const insideOf = (client: EventStoreDBClient): Inside => client as unknown as Inside

/**
 * A client of version 6, patched so that an outage cannot end the process or outlast itself (ADR-0017). Its own appends
 * are separate calls. When they share one, they cause unhandled rejections if the connection breaks, and first query
 * the server's features, without a time limit and with failures cached forever. Our own share one (append-stream.ts).
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
export type AppendCall = ReturnType<StreamsCalls['batchAppend']>
export type AppendRequest = Streams.BatchAppendReq
export type AppendReply = Streams.BatchAppendResp

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
export function appendRequest(
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
export function appendFailureOf(reply: AppendReply): AppendFailure | null {
  if (!reply.hasError()) return null
  const error = reply.getError()
  const type = error?.getDetails()?.getTypeName() ?? ''
  const message = error?.getMessage() ?? ''
  if (type === 'event_store.client.WrongExpectedVersion') return { kind: 'wrong revision', message }
  // The node is not ready, too busy, or knows no leader.
  if (type === 'google.protobuf.Empty') return { kind: 'not handled', message }
  return { kind: 'other', message: message || type }
}
