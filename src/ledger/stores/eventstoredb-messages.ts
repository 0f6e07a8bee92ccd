import { createRequire } from 'node:module'
import type * as Shared from '@eventstore/db-client/generated/shared_pb.js'
import type * as StreamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'

/** Generated definitions of the client: CommonJS with names that only the types declare. */
const require = createRequire(import.meta.url)
const streams = require('@eventstore/db-client/generated/streams_pb.js') as typeof Streams
const shared = require('@eventstore/db-client/generated/shared_pb.js') as typeof Shared
export const { StreamsClient } = require('@eventstore/db-client/generated/streams_grpc_pb.js') as typeof StreamsGrpc

/** Two types without members; their bytes are the same. */
const EMPTY = new shared.Empty() as unknown as ReturnType<Streams.BatchAppendReq.Options['getNoStream']>

export type StreamsCalls = StreamsGrpc.StreamsClient
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
