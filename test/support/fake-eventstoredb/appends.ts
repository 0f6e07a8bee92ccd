import { setImmediate } from 'node:timers/promises'
import { Metadata, type ServerDuplexStream, type ServerReadableStream, type sendUnaryData, status } from '@grpc/grpc-js'
import { type EventLog, type Expected, MAX_APPEND_BYTES, type Outcome, type Proposed } from './log.ts'
import {
  Any,
  type AppendRequest,
  type AppendResponse,
  type BatchRequest,
  type BatchResponse,
  Code,
  empty,
  nameOf,
  shared,
  statuses,
  streams,
} from './protocol.ts'

export type AppendCall = ServerReadableStream<AppendRequest, AppendResponse>
export type BatchCall = ServerDuplexStream<BatchRequest, BatchResponse>
/** Runs between an append and its answer; false suppresses the answer. */
export type BeforeAnswer = (stream: string) => boolean

/** One append: its options, then its events, then the answer. */
export function append(
  log: EventLog,
  call: AppendCall,
  answer: sendUnaryData<AppendResponse>,
  mayAnswer: BeforeAnswer,
): void {
  let stream = ''
  let expected: Expected = 'any'
  const events: Proposed[] = []
  call.on('data', (request: AppendRequest) => {
    const options = request.getOptions()
    const proposed = request.getProposedMessage()
    if (options) {
      stream = nameOf(options.getStreamIdentifier())
      expected = options.hasRevision() ? Number(options.getRevision()) : options.hasNoStream() ? -1 : 'any'
    }
    if (proposed) events.push(proposedOf(proposed))
  })
  // Nothing of an aborted request is written; since Node 24 the abort is known only after its end.
  call.on('error', () => {})
  call.on('end', async () => {
    await setImmediate()
    if (call.cancelled) return
    const outcome = log.append(stream, expected, events)
    if (!mayAnswer(stream)) return
    if (outcome.kind === 'too large') answer(tooLarge(), null)
    else answer(null, outcome.kind === 'success' ? success(outcome) : wrongVersion(expected, outcome.current))
  })
}

function success({ revision, position }: Extract<Outcome, { kind: 'success' }>): AppendResponse {
  const at = new streams.AppendResp.Position().setCommitPosition(String(position)).setPreparePosition(String(position))
  return new streams.AppendResp().setSuccess(
    new streams.AppendResp.Success().setCurrentRevision(String(revision)).setPosition(at),
  )
}

function wrongVersion(expected: Expected, current: number): AppendResponse {
  const wrong = new streams.AppendResp.WrongExpectedVersion()
  if (current < 0) wrong.setCurrentNoStream(empty())
  else wrong.setCurrentRevision(String(current))
  if (expected === 'any') wrong.setExpectedAny(empty())
  else if (expected < 0) wrong.setExpectedNoStream(empty())
  else wrong.setExpectedRevision(String(expected))
  return new streams.AppendResp().setWrongExpectedVersion(wrong)
}

function tooLarge() {
  const metadata = new Metadata()
  metadata.set('exception', 'maximum-append-size-exceeded')
  metadata.set('maximum-append-size', String(MAX_APPEND_BYTES))
  const details = `Maximum Append Size of ${MAX_APPEND_BYTES} Exceeded.`
  return { name: 'RpcException', message: details, code: status.INVALID_ARGUMENT, details, metadata }
}

/** Appends of many streams over one call, told apart by correlation ids. */
export function batchAppend(log: EventLog, call: BatchCall, mayAnswer: BeforeAnswer): void {
  const open = new Map<string, { stream: string; expected: Expected; events: Proposed[] }>()
  call.on('error', () => {})
  call.on('end', () => call.end())
  call.on('data', (request: BatchRequest) => {
    const id = request.getCorrelationId()?.getString() ?? ''
    const options = request.getOptions()
    if (options) {
      const expected = options.hasStreamPosition()
        ? Number(options.getStreamPosition())
        : options.hasNoStream()
          ? -1
          : 'any'
      open.set(id, { stream: nameOf(options.getStreamIdentifier()), expected, events: [] })
    }
    const batch = open.get(id)
    batch?.events.push(...request.getProposedMessagesList().map(proposedOf))
    if (!batch || !request.getIsFinal()) return
    open.delete(id)
    const outcome = log.append(batch.stream, batch.expected, batch.events)
    if (!mayAnswer(batch.stream)) return
    const response = new streams.BatchAppendResp()
      .setCorrelationId(request.getCorrelationId())
      .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(batch.stream)))
    if (outcome.kind !== 'success') response.setError(failure(batch.expected, outcome))
    else response.setSuccess(new streams.BatchAppendResp.Success().setCurrentRevision(String(outcome.revision)))
    call.write(response)
  })
}

function failure(expected: Expected, outcome: Exclude<Outcome, { kind: 'success' }>) {
  const details = new Any()
  if (outcome.kind === 'too large') {
    const error = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES)
    details.pack(error.serializeBinary(), 'event_store.client.MaximumAppendSizeExceeded')
  } else {
    const error = new shared.WrongExpectedVersion()
    if (outcome.current >= 0) error.setCurrentStreamRevision(String(outcome.current))
    if (expected !== 'any' && expected >= 0) error.setExpectedStreamPosition(String(expected))
    details.pack(error.serializeBinary(), 'event_store.client.WrongExpectedVersion')
  }
  return new statuses.Status().setCode(Code.FAILED_PRECONDITION).setMessage(outcome.kind).setDetails(details)
}

type Message =
  | NonNullable<ReturnType<AppendRequest['getProposedMessage']>>
  | ReturnType<BatchRequest['getProposedMessagesList']>[number]

function proposedOf(message: Message): Proposed {
  return {
    id: message.getId()?.getString() ?? '',
    type: message.getMetadataMap().get('type') ?? '',
    contentType: message.getMetadataMap().get('content-type') ?? '',
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }
}
