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
  type Status,
  shared,
  statuses,
  streams,
} from './protocol.ts'

export type AppendCall = ServerReadableStream<AppendRequest, AppendResponse>
export type BatchCall = ServerDuplexStream<BatchRequest, BatchResponse>

/**
 * Failure of one append. Stored, but the answer fails: `cut` breaks all connections, `silence` sends none, `end` ends
 * the call, `time-out` tells that the outcome is unknown. Not stored: `lost` breaks all connections, `not leader` names
 * another node, `not ready` names none.
 */
export type Fault = 'none' | 'cut' | 'silence' | 'end' | 'time-out' | 'lost' | 'not leader' | 'not ready'

const UNSTORED: readonly Fault[] = ['lost', 'not leader', 'not ready']

export interface Failing {
  /** Fault of the append that is about to take effect. */
  next(): Fault
  /** Breaks all connections. */
  cut(): void
  leaderPort(): number
}

/** One append: its options, then its events, then the answer. */
export function append(log: EventLog, call: AppendCall, answer: sendUnaryData<AppendResponse>, failing: Failing): void {
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
    const fault = failing.next()
    const outcome = UNSTORED.includes(fault) ? null : log.append(stream, expected, events)
    if (fault === 'cut' || fault === 'lost') failing.cut()
    else if (fault === 'end') answer(exception(status.CANCELLED, 'The call was ended'), null)
    else if (fault === 'time-out') answer(exception(status.ABORTED, 'Operation timed out: commit'), null)
    else if (fault === 'not leader') answer(notLeader(failing), null)
    else if (fault === 'not ready') answer(exception(status.UNAVAILABLE, 'Server Is Not Ready'), null)
    else if (fault === 'silence' || !outcome) return
    else if (outcome.kind === 'too large') answer(tooLarge(), null)
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
  return exception(status.INVALID_ARGUMENT, `Maximum Append Size of ${MAX_APPEND_BYTES} Exceeded.`, metadata)
}

function notLeader({ leaderPort }: Failing) {
  const metadata = new Metadata()
  metadata.set('exception', 'not-leader')
  metadata.set('leader-endpoint-host', '127.0.0.1')
  metadata.set('leader-endpoint-port', String(leaderPort()))
  return exception(status.NOT_FOUND, 'Leader info available', metadata)
}

const exception = (code: status, details: string, metadata = new Metadata()) => ({
  name: 'RpcException',
  message: details,
  code,
  details,
  metadata,
})

/** An append whose last message has not arrived. */
interface OpenBatch {
  readonly stream: string
  readonly expected: Expected
  readonly events: Proposed[]
}

/** Appends of many streams over one call, told apart by correlation ids; each has one message or more. */
export function batchAppend(log: EventLog, call: BatchCall, failing: Failing): void {
  const open = new Map<string, OpenBatch>()
  call.on('error', () => {})
  call.on('end', () => call.end())
  call.on('data', (request: BatchRequest) => {
    const id = request.getCorrelationId()?.getString() ?? ''
    const options = request.getOptions()
    const deadline = options?.getDeadline()
    const name = nameOf(options?.getStreamIdentifier())
    if (deadline && deadline.toDate().getTime() <= Date.now()) {
      call.write(replyTo(request, name).setError(timedOut()))
      return
    }
    if (options) open.set(id, { stream: name, expected: expectedOf(options), events: [] })
    const batch = open.get(id)
    batch?.events.push(...request.getProposedMessagesList().map(proposedOf))
    if (!batch || !request.getIsFinal()) return
    open.delete(id)
    const fault = failing.next()
    const outcome = UNSTORED.includes(fault) ? null : log.append(batch.stream, batch.expected, batch.events)
    const reply = replyTo(request, batch.stream)
    if (fault === 'cut' || fault === 'lost') failing.cut()
    else if (fault === 'end') call.end()
    else if (fault === 'time-out') call.write(reply.setError(timedOut()))
    else if (fault === 'not leader') call.emit('error', notLeader(failing))
    else if (fault === 'not ready') call.write(reply.setError(notReady()))
    else if (fault === 'silence' || !outcome) return
    else if (outcome.kind !== 'success') call.write(reply.setError(failure(batch.expected, outcome)))
    else call.write(reply.setSuccess(batchSuccess(outcome)))
  })
}

type BatchOptions = NonNullable<ReturnType<BatchRequest['getOptions']>>

function expectedOf(options: BatchOptions): Expected {
  if (options.hasStreamPosition()) return Number(options.getStreamPosition())
  return options.hasNoStream() ? -1 : 'any'
}

const replyTo = (request: BatchRequest, stream: string): BatchResponse =>
  new streams.BatchAppendResp()
    .setCorrelationId(request.getCorrelationId())
    .setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(stream)))

function batchSuccess({ revision, position }: Extract<Outcome, { kind: 'success' }>) {
  const at = new shared.AllStreamPosition().setCommitPosition(String(position)).setPreparePosition(String(position))
  return new streams.BatchAppendResp.Success().setCurrentRevision(String(revision)).setPosition(at)
}

function failure(expected: Expected, outcome: Exclude<Outcome, { kind: 'success' }>) {
  if (outcome.kind === 'too large') {
    const error = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES)
    return statusOf(Code.INVALID_ARGUMENT, 'MaximumAppendSizeExceeded', error)
  }
  const error = new shared.WrongExpectedVersion()
  if (outcome.current >= 0) error.setCurrentStreamRevision(String(outcome.current))
  if (expected !== 'any' && expected >= 0) error.setExpectedStreamPosition(String(expected))
  return statusOf(Code.ALREADY_EXISTS, 'WrongExpectedVersion', error)
}

const timedOut = () => statusOf(Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout())

/** The server leaves the code out. */
function notReady() {
  const details = new Any()
  details.pack(new Uint8Array(), 'google.protobuf.Empty')
  return new statuses.Status().setMessage('Server Is Not Ready').setDetails(details)
}

function statusOf(code: Parameters<Status['setCode']>[0], name: string, error: { serializeBinary(): Uint8Array }) {
  const details = new Any()
  details.pack(error.serializeBinary(), `event_store.client.${name}`)
  return new statuses.Status().setCode(code).setMessage(name).setDetails(details)
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
