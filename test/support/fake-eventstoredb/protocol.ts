import { createRequire } from 'node:module'
import type * as Codes from '@eventstore/db-client/generated/code_pb.js'
import type * as ServerFeaturesGrpc from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import type * as ServerFeatures from '@eventstore/db-client/generated/serverfeatures_pb.js'
import type * as Shared from '@eventstore/db-client/generated/shared_pb.js'
import type * as StatusMessages from '@eventstore/db-client/generated/status_pb.js'
import type * as StreamsGrpc from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type * as Streams from '@eventstore/db-client/generated/streams_pb.js'

/** Generated definitions of the client: CommonJS with names that only the types declare. */
const require = createRequire(import.meta.url)

export const streams = require('@eventstore/db-client/generated/streams_pb.js') as typeof Streams
export const shared = require('@eventstore/db-client/generated/shared_pb.js') as typeof Shared
export const { Code } = require('@eventstore/db-client/generated/code_pb.js') as typeof Codes
export const statuses = require('@eventstore/db-client/generated/status_pb.js') as typeof StatusMessages
export const features = require('@eventstore/db-client/generated/serverfeatures_pb.js') as typeof ServerFeatures
export const { StreamsService } = require('@eventstore/db-client/generated/streams_grpc_pb.js') as typeof StreamsGrpc
export const { ServerFeaturesService } =
  require('@eventstore/db-client/generated/serverfeatures_grpc_pb.js') as typeof ServerFeaturesGrpc
export const { Any } =
  require('google-protobuf/google/protobuf/any_pb.js') as typeof import('google-protobuf/google/protobuf/any_pb.js')

export type ReadRequest = Streams.ReadReq
export type ReadResponse = Streams.ReadResp
export type AppendRequest = Streams.AppendReq
export type AppendResponse = Streams.AppendResp
export type BatchRequest = Streams.BatchAppendReq
export type BatchResponse = Streams.BatchAppendResp
export type Status = StatusMessages.Status
export type Identifier = Shared.StreamIdentifier

export const empty = (): Shared.Empty => new shared.Empty()
export const nameOf = (identifier: Identifier | undefined): string =>
  Buffer.from(identifier?.getStreamName_asU8() ?? []).toString('utf8')
