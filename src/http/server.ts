import { once } from 'node:events'
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Express } from 'express'
import gracefulShutdown from 'http-graceful-shutdown'
import { answerMalformed, type MalformedRequestOptions } from './malformed-requests.ts'
import type { Pace, ReaderPace } from './slow-clients.ts'
import { readTls, renewTls, type TlsFiles } from './tls.ts'

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
export function serverOf(
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
    // Node would answer without an id and a body; middleware/transport.ts checks the header instead.
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
