import { randomUUID } from 'node:crypto'
import {
  CancelledError,
  convertToCommandError,
  type EventStoreDBClient,
  NotLeaderError,
  UnavailableError,
} from '@eventstore/db-client'
import { Unavailable } from '#lib/errors.ts'
import { WrongExpectedRevision } from '../port.ts'
import {
  type AppendCall,
  type AppendReply,
  type AppendRequest,
  appendFailureOf,
  appendRequest,
  insideOf,
  type SerializedEvent,
  StreamsClient,
} from './eventstoredb-client.ts'

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
    connect(client, open, (error) => end(open, error)).catch((error: Error) => end(open, error))
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

async function connect(client: EventStoreDBClient, open: OpenCall, onEnd: (error: Error) => void): Promise<void> {
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
