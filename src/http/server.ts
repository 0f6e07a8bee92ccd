import { once } from 'node:events'
import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { Express } from 'express'
import gracefulShutdown from 'http-graceful-shutdown'
import { answerMalformed, type MalformedRequestOptions } from './malformed-requests.ts'
import type { Pace, ReaderPace } from './pace.ts'
import { readTls, renewTls, type TlsFiles } from './tls.ts'

/** What bounds the connections of a server, so that slow, silent or many callers cannot keep it from the others. */
export interface ServerLimits extends Pace, ReaderPace {
  /** A request's headers must have arrived within this, from the connection's beginning or its last answer's end. */
  readonly headers_ms: number
  /** All of a request must have arrived within this; its body has less. */
  readonly request_ms: number
  /** An answer of which nothing is taken for so long is given up. */
  readonly stalled_ms: number
  /** Longer than load balancers keep a connection that is idle (60 s as a rule): who may use it again must not find it closed. */
  readonly keepAlive_ms: number
  /** How often the first two are looked at. */
  readonly check_ms: number
  readonly headerBytes: number
  /** Beyond them a connection is closed as it is opened. An idle one costs some 10 KB. */
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
  /** Serves HTTPS, of HTTP/1.1 (decision 0071). */
  readonly tls?: TlsFiles | null
  /** Hears of a renewed certificate that cannot be used. */
  readonly onTlsError?: (error: unknown) => void
}

/**
 * The server of an app. Express gives each request and answer its methods by changing their prototypes, after which V8
 * looks up every property the slow way (expressjs/express#5998). Here they are born with the prototypes that Express would
 * give them, so that it finds nothing to change.
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
    // Node would answer without an id and a body; middleware/transport.ts does it better.
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

/** Longest wait for requests under way when the service is told to stop. */
const DRAIN_TIMEOUT_MS = 30_000

/** A server that accepts requests. */
export interface ListeningServer {
  /**
   * Accepts for some time more, so that whoever distributes calls can learn of the end, then resolves when every request is
   * answered. From the first moment on every answer ends its connection: no caller uses one that is about to be closed.
   */
  drain(delay_ms: number): Promise<void>
}

/** Rejects when the port cannot be had. */
export async function startListening(
  server: Server,
  { port, host }: { port: number; host: string },
): Promise<ListeningServer> {
  let delay_ms = 0
  // Its own handling of signals is left out: the process has more to stop than a server.
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
