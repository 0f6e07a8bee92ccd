import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type SecureContextOptions, Server as TlsServer } from 'node:tls'
import type { Express, Response } from 'express'
import gracefulShutdown from 'http-graceful-shutdown'
import type { Rate } from '#access/api-authenticator.ts'
import type { AddressLimit } from '#access/login-limits.ts'
import { JSON_TYPE } from './answers.ts'
import { type AnswerProblem, rateHeaders, SECURITY_HEADERS } from './edge.ts'
import { Problem, type ProblemCode, problemBody, toHttpStatus } from './problems.ts'

/** Paths of certificate (with its chain) and key, as PEM. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Interval between checks for changed files: certificates are renewed while the service runs. */
const LOOK_MS = 60_000

const readTls = ({ certFile, keyFile }: TlsFiles): SecureContextOptions => ({
  cert: readFileSync(certFile),
  key: readFileSync(keyFile),
  minVersion: 'TLSv1.2',
})

/**
 * Reloads changed files; unusable ones leave the current certificate in force. Returns a function that ends the checks.
 */
export function renewTls(
  server: { setSecureContext(options: SecureContextOptions): void },
  files: TlsFiles,
  onError: (error: unknown) => void,
  look_ms = LOOK_MS,
): () => void {
  const readModificationTimes = () => [files.certFile, files.keyFile].map((file) => statSync(file).mtimeMs).join()
  let seen = readModificationTimes()
  const reloadIfChanged = () => {
    try {
      const now = readModificationTimes()
      if (now === seen) return
      server.setSecureContext(readTls(files))
      seen = now
    } catch (error) {
      onError(error)
    }
  }
  const timer = setInterval(reloadIfChanged, look_ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** Minimum rate of a request body (HTTP-30). */
interface Pace {
  /** Time limit for the whole body, from the end of the headers. */
  readonly body_ms: number
  /** After this time, the minimum rate applies to each further second. */
  readonly grace_ms: number
  readonly bytesPerSecond: number
  /** Interval between checks after the grace period. */
  readonly look_ms: number
}

/**
 * Calls `onLate` once if the body of a request arrives too slowly. Returns a function that ends the watch. Bytes that
 * arrived but were not read yet count too. Time counts from the first read, so that a delay of the service does not
 * count against the client.
 */
export function watchPace(request: IncomingMessage, pace: Pace, onLate: () => void): () => void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && Number(length ?? 0) === 0) return () => {}
  const { socket } = request
  let [began, before] = [performance.now(), socket.bytesRead]
  const look = () => {
    if (request.complete) return
    // The request waits in a queue (bodies.ts), so its sender cannot continue.
    if (request.readableFlowing === null) [began, before] = [performance.now(), socket.bytesRead]
    const passed = performance.now() - began
    const due = ((passed - pace.grace_ms) / 1000) * pace.bytesPerSecond
    if (passed >= pace.body_ms || socket.bytesRead - before < due) onLate()
    else timer = setTimeout(look, pace.look_ms)
  }
  let timer = setTimeout(look, pace.grace_ms + pace.look_ms)
  return () => clearTimeout(timer)
}

/** Minimum rate at which a client reads an answer (OPS-26). */
interface ReaderPace {
  /** Bytes per second, averaged over `reader_ms`. */
  readonly readerBytesPerSecond: number
  /** Averaging period, in which data was always pending. */
  readonly reader_ms: number
  /** Interval between checks. */
  readonly look_ms: number
}

/** Bytes taken when a connection began to wait for its reader. */
interface Waiting {
  readonly began: number
  readonly taken: number
}

/**
 * Calls `onLate` for each connection whose client reads too slowly. A connection without pending data is not late: its
 * answer is still being made. Returns a function that ends the watch.
 */
export function watchReaders(
  sockets: ReadonlySet<Socket>,
  pace: ReaderPace,
  onLate: (socket: Socket) => void,
): () => void {
  const waiting = new WeakMap<Socket, Waiting>()

  function look(socket: Socket, now: number): void {
    const pending = socket.writableLength
    if (pending === 0) return void waiting.delete(socket)
    const taken = socket.bytesWritten - pending
    const since = waiting.get(socket)
    if (!since) return void waiting.set(socket, { began: now, taken })
    const passed = now - since.began
    if (passed < pace.reader_ms) return
    const due = (passed / 1000) * pace.readerBytesPerSecond
    if (taken - since.taken >= due) waiting.set(socket, { began: now, taken })
    // A chunk counts as taken once it is taken completely; progress within a pending chunk is unknown.
    else if (taken - since.taken + pending < due) onLate(socket)
  }

  const timer = setInterval(() => {
    const now = performance.now()
    for (const socket of sockets) look(socket, now)
  }, pace.look_ms).unref()
  return () => clearInterval(timer)
}

interface MalformedRequestOptions {
  /** Ids of requests that reach no route. */
  readonly newId: () => string
  readonly answer: AnswerProblem
  /** Counts requests that reach no route; their path may be one of API v1. */
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
function answerMalformed(server: Server, options: MalformedRequestOptions): void {
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
    `HTTP/1.1 ${toHttpStatus(code)} ${code}`,
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

/** Connection limits of a server, against slow, idle or too many clients. */
export interface ServerLimits extends Pace, ReaderPace {
  /** Time limit for the headers of a request, from the start of the connection or the end of its last answer. */
  readonly headers_ms: number
  /** Time limit for a whole request; its body has less. */
  readonly request_ms: number
  /** An answer is aborted if its client reads nothing for this time. */
  readonly stalled_ms: number
  /** Longer than load balancers keep an idle connection (usually 60 s): they must not reuse a closed one. */
  readonly keepAlive_ms: number
  /** Interval between checks of the first two limits. */
  readonly check_ms: number
  readonly headerBytes: number
  /** Maximum of connections; further ones are closed at once. An idle connection takes about 10 KB. */
  readonly connections: number
}

export const SERVER_LIMITS: ServerLimits = {
  headers_ms: 15_000,
  request_ms: 60_000,
  body_ms: 30_000,
  grace_ms: 5_000,
  bytesPerSecond: 1_024,
  look_ms: 1_000,
  readerBytesPerSecond: 8_192,
  reader_ms: 60_000,
  stalled_ms: 60_000,
  keepAlive_ms: 65_000,
  check_ms: 5_000,
  headerBytes: 16_384,
  connections: 5_000,
}

interface ServerOptions extends Omit<MalformedRequestOptions, 'pace'> {
  readonly limits?: ServerLimits
  /** Serves HTTPS with HTTP/1.1 (ADR-0019). */
  readonly tls?: TlsFiles | null
  /** Called when a renewed certificate is unusable. */
  readonly onTlsError?: (error: unknown) => void
}

/**
 * Creates the server of an app. Express adds its methods to each request and answer by changing their prototypes, after
 * which V8 looks up every property the slow way (expressjs/express#5998). Here the objects are created with these
 * prototypes, so Express changes nothing.
 */
export function createAppServer(
  app: Express,
  { limits = SERVER_LIMITS, tls = null, onTlsError = () => {}, ...unreadable }: ServerOptions,
): Server {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse<AppRequest> {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request)
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response)
  const settings = {
    IncomingMessage: AppRequest,
    ServerResponse: AppResponse,
    headersTimeout: limits.headers_ms,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.keepAlive_ms,
    connectionsCheckingInterval: limits.check_ms,
    maxHeaderSize: limits.headerBytes,
    // Node would answer without an id and a body; edge.ts checks the header instead.
    requireHostHeader: false,
  }
  const server = tls ? overTls(tls) : createServer(settings, app)
  server.maxConnections = limits.connections
  server.timeout = limits.stalled_ms
  answerMalformed(server, { ...unreadable, pace: limits })
  return server

  function overTls(files: TlsFiles): Server {
    const server = createTlsServer({ ...settings, ...readTls(files), handshakeTimeout: limits.headers_ms }, app)
    server.once('close', renewTls(server, files, onTlsError))
    return server
  }
}

/** Longest wait for requests in progress on shutdown. */
const DRAIN_TIMEOUT_MS = 30_000

/** A server that accepts requests. */
export interface ListeningServer {
  /**
   * Continues to accept requests for `delay_ms`, so that load balancers notice the shutdown, then resolves when every
   * request is answered. Every answer closes its connection from the start, so that no client reuses it.
   */
  drain(delay_ms: number): Promise<void>
}

/** Rejects if the port is unavailable. */
export async function startListening(
  server: Server,
  { port, host }: { port: number; host: string },
): Promise<ListeningServer> {
  let delay_ms = 0
  // The library's signal handling is off: the process has more to stop than a server.
  const shutDown = gracefulShutdown(server, {
    signals: '',
    timeout: DRAIN_TIMEOUT_MS,
    preShutdown: () => delay(delay_ms),
  })
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new Error(`cannot listen on port ${port}`, { cause: error })
  }
  return {
    async drain(wanted_ms) {
      delay_ms = wanted_ms
      server.prependListener('request', endConnection)
      await shutDown()
    },
  }
}

function endConnection(_request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Connection', 'close')
}
