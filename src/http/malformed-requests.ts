import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import type { Response } from 'express'
import type { Rate } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/minute-limit.ts'
import { JSON_TYPE } from './answer.ts'
import type { AnswerProblem } from './middleware/problem-handler.ts'
import { SECURITY_HEADERS } from './middleware/security-headers.ts'
import { rateHeaders } from './middleware/unauthenticated-clients.ts'
import { httpStatusOf, Problem, type ProblemCode, problemBody } from './problems.ts'
import { type Pace, type ReaderPace, watchPace, watchReaders } from './slow-clients.ts'

export interface MalformedRequestOptions {
  /** Ids of requests that reach no route. */
  readonly newId: () => string
  readonly answer: AnswerProblem
  /** Counts requests that reach no route; their path may be one of API v1 (RATE-2). */
  readonly addresses: AddressLimit
  readonly pace: Pace & ReaderPace
}

/** Requests of a connection. Pipelined requests arrive before earlier ones are answered. */
interface ConnectionState {
  last: { readonly request: IncomingMessage; readonly response: ServerResponse } | null
  /** In the order of their answers. */
  readonly unanswered: Set<ServerResponse>
  isRefused: boolean
}

/**
 * Answers requests that Node's server would answer without an id, in no error shape, or not at all: bytes that are not
 * HTTP, oversized headers, incomplete requests. Also closes connections whose client reads no answer.
 */
export function answerMalformed(server: Server, options: MalformedRequestOptions): void {
  const { pace } = options
  const states = new WeakMap<object, ConnectionState>()
  const stateOf = (socket: object): ConnectionState => {
    const state = states.get(socket) ?? { last: null, unanswered: new Set(), isRefused: false }
    states.set(socket, state)
    return state
  }

  const refuseConnection = (socket: Socket, code: ProblemCode | null) => {
    const state = stateOf(socket)
    if (state.isRefused) return
    state.isRefused = true
    if (code === null || !socket.writable) socket.destroy()
    else void refuse(state, socket, code, options)
  }

  const sockets = new Set<Socket>()
  // With TLS, requests refer to the TLS socket, not to the TCP connection.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      for (const response of stateOf(socket).unanswered) abandon(response)
    })
  })
  server.once(
    'close',
    watchReaders(sockets, pace, (socket) => socket.destroy()),
  )
  server.prependListener('request', (request, response) => {
    const state = stateOf(request.socket)
    state.last = { request, response }
    state.unanswered.add(response)
    const unwatch = watchPace(request, pace, () => refuseConnection(request.socket, 'request_timeout'))
    response.once('close', () => {
      unwatch()
      state.unanswered.delete(response)
    })
  })
  // A server may ignore an expectation (RFC 9110); Node would refuse unknown ones.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('connect', (_request, socket: Socket) => void answerLast(socket, 'method_not_allowed', options))

  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) =>
    refuseConnection(socket, problemOf(error.code)),
  )

  // The event also fires while the service is still working on an answer; the client is not at fault then.
  server.on('timeout', (socket: Socket) => {
    const [next] = stateOf(socket).unanswered
    if (!next || next.headersSent) socket.destroy()
  })
}

/**
 * When a connection closes, Node emits `close` only for the answer in progress; queued answers would never release
 * their resources. This emits it for them.
 */
function abandon(response: ServerResponse): void {
  if (response.closed) return
  Object.assign(response, { destroyed: true, _closed: true })
  response.emit('close')
}

/** Null if the client has disconnected. */
function problemOf(code: string | undefined): ProblemCode | null {
  if (code === 'ECONNRESET' || code === 'EPIPE') return null
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request_timeout'
  return code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'malformed_request'
}

/** Waits for the answers to earlier requests: the client would take the error for one of them. */
async function refuse(
  { last, unanswered }: ConnectionState,
  socket: Socket,
  code: ProblemCode,
  options: MalformedRequestOptions,
): Promise<void> {
  if (last && !last.request.complete) {
    // The unreadable part is the body of a request that already has its route, and perhaps its answer.
    const response = last.response as Response
    if (response.headersSent) {
      socket.destroy()
      return
    }
    response.locals.isRefused = true
    options.answer(response, new Problem(code, undefined, { Connection: 'close' }))
    return
  }
  await Promise.all([...unanswered].map((response) => new Promise((done) => response.once('close', done))))
  await answerLast(socket, code, options)
}

async function answerLast(
  socket: Socket,
  code: ProblemCode,
  { newId, addresses }: MalformedRequestOptions,
): Promise<void> {
  const rate = await addresses.consume(socket.remoteAddress ?? '')
  if (socket.writable) sendLastAnswer(socket, code, newId(), rate)
  else socket.destroy()
}

function sendLastAnswer(socket: Socket, code: ProblemCode, requestId: string, rate: Rate): void {
  const body = Buffer.from(problemBody(new Problem(code), requestId))
  const head = [
    `HTTP/1.1 ${httpStatusOf(code)} ${code}`,
    `X-Request-Id: ${requestId}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    ...rateHeaders(rate).map(([name, value]) => `${name}: ${value}`),
    'Cache-Control: no-store',
    ...SECURITY_HEADERS.map(([name, value]) => `${name}: ${value}`),
    'Connection: close',
  ]
  socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]))
  socket.destroySoon()
}
