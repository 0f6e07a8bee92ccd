import type { Readable } from 'node:stream'
import { Agent, Client, type Dispatcher, errors } from 'undici'
import type { SigningSecrets } from '#domain/webhook-secret.ts'
import { deliveryHeaders, type SignedDelivery } from './signature.ts'
import { createConnector, createPublicConnector, PrivateAddress, type Resolve } from './target.ts'

/** What came of one attempt, as the delivery's record keeps it; delivered when there is no error. */
export interface Attempt {
  /** When it began: UTC, milliseconds, `Z`. */
  readonly at: string
  readonly status: number | null
  /** Until the status was known, or the attempt was given up. */
  readonly duration_ms: number
  readonly error: FailureCode | null
  /** The beginning of the answer's body. */
  readonly response: string | null
}

/** A delivery with where it goes and what signs it. */
export interface Sendable extends SignedDelivery, SigningSecrets {
  readonly url: string
}

export interface Sender {
  /** Makes one attempt; every outcome is a result. Takes at most the time-out and a second. */
  send(delivery: Sendable): Promise<Attempt>
  /** Ends connections that are idle, then, at the latest, the others. */
  close(): Promise<void>
}

export interface SenderOptions {
  /** Of a whole attempt: name, connection, request and status. */
  readonly timeout_ms: number
  /** Whether http, this machine and private networks may be called. */
  readonly allowPrivate: boolean
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Addresses of a name; asks the name servers by default. For public targets only. */
  readonly resolve?: Resolve
}

/** Longest wait for the body once the status is known. */
const BODY_WAIT_MS = 1_000

/** Connections are kept open for reuse as long as there are no more than this. */
const KEPT_CONNECTIONS = 512
const KEEP_ALIVE_MS = 4_000

/** An HTTP client for deliveries: no proxies, no cookies, no redirects, no compression, one request at a time on a connection. */
export function createSender({ timeout_ms, allowPrivate, clock, resolve }: SenderOptions): Sender {
  const connect = allowPrivate ? createConnector(timeout_ms) : createPublicConnector(timeout_ms, resolve)
  let open = 0
  const settings = {
    connect,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    // The attempt's own timer covers everything.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  const agent = new Agent(settings)
  agent.on('connect', () => open++).on('disconnect', () => open--)

  async function post(delivery: Sendable, now: number, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { protocol, origin, pathname, search } = new URL(delivery.url)
    if (protocol !== 'https:' && !allowPrivate) throw new errors.NotSupportedError(protocol)
    const request: Dispatcher.RequestOptions = {
      origin,
      path: pathname + search,
      method: 'POST',
      headers: deliveryHeaders(delivery, delivery, now),
      body: delivery.body,
      signal,
      reset: open > KEPT_CONNECTIONS,
    }
    try {
      return await agent.request(request)
    } catch (error) {
      if (!wasStale(error)) throw error
      const fresh = new Client(origin, settings)
      const response = fresh.request(request)
      // Ends when the answer has been read.
      void fresh.close()
      return response
    }
  }

  return {
    async send(delivery) {
      const now = clock()
      const began = performance.now()
      const outcome = (
        status: number | null,
        error: FailureCode | null,
        duration_ms: number,
        response: string | null,
      ) => ({
        at: new Date(now).toISOString(),
        status,
        duration_ms,
        error,
        response,
      })
      const elapsed_ms = () => Math.round(performance.now() - began)
      const giveUp = new AbortController()
      const timer = setTimeout(() => giveUp.abort(new TimedOut()), timeout_ms)
      try {
        const { statusCode, body } = await post(delivery, now, giveUp.signal)
        clearTimeout(timer)
        const duration_ms = elapsed_ms()
        return outcome(statusCode, failureOfStatus(statusCode), duration_ms, await readSnippet(body, BODY_WAIT_MS))
      } catch (error) {
        return outcome(null, failureOf(error), elapsed_ms(), null)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => agent.destroy(),
  }
}

/**
 * The server closed an idle connection just as it was used again. That says nothing about the server, and the delivery may
 * go out once more at once: receivers tell repeats by their id.
 */
function wasStale(error: unknown): boolean {
  return error instanceof errors.SocketError && (error.socket?.bytesRead ?? 0) > 0
}

/** The whole time of an attempt was over before an answer came. */
class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** Why an attempt failed: short texts that stay the same, for the delivery's record. */
type FailureCode =
  | 'timeout'
  | 'connection_refused'
  | 'connection_lost'
  | 'connection_failed'
  | 'name_not_resolved'
  | 'private_address'
  | 'tls'
  | 'invalid_url'
  | 'invalid_response'
  | 'redirect'
  | 'gone'
  | 'http_status'
  /** Nothing was sent: the endpoint may not be told of it (HOOK-55). */
  | 'insufficient_scope'

/** What a status means; null for success. Redirects are not followed: whoever moves tells us the new URL. */
function failureOfStatus(status: number): FailureCode | null {
  if (status >= 200 && status < 300) return null
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirect' : 'http_status'
}

const CODES: readonly [RegExp, FailureCode][] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'connection_lost'],
  // Of the name servers: what getaddrinfo and c-ares say.
  [
    /^(ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|EBADRESP|EFORMERR|ETIMEOUT|ENOTIMP|EAI_[A-Z]+)$/,
    'name_not_resolved',
  ],
  [/^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|EPROTO)/, 'tls'],
  [/^(ERR_INVALID_URL|UND_ERR_NOT_SUPPORTED)$/, 'invalid_url'],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, 'invalid_response'],
]

/** Sorts what an attempt without a usable answer ended with. */
function failureOf(error: unknown): FailureCode {
  if (error instanceof TimedOut) return 'timeout'
  if (error instanceof PrivateAddress) return 'private_address'
  if (error instanceof errors.HTTPParserError) return 'invalid_response'
  const code = (error as { code?: unknown } | null)?.code
  const known = typeof code === 'string' ? CODES.find(([pattern]) => pattern.test(code)) : undefined
  return known?.[1] ?? 'connection_failed'
}

/** Bytes of an answer's body that are kept. */
const SNIPPET_BYTES = 1_024

/** Bytes that are read so that the connection may be used again; with more of them it is dropped. */
const DRAINED_BYTES = 16_384

/**
 * The beginning of a body as text without control characters; null when there is nothing readable. Reads no longer than
 * `wait_ms` and a bounded number of bytes, however long the body is or takes, and never throws: the status has decided
 * already. Whoever sends more loses the connection.
 */
async function readSnippet(body: Readable, wait_ms: number): Promise<string | null> {
  const kept: Buffer[] = []
  let size = 0
  const timer = setTimeout(() => body.destroy(), wait_ms)
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      if (size < SNIPPET_BYTES) kept.push(chunk.subarray(0, SNIPPET_BYTES - size))
      size += chunk.length
      if (size > DRAINED_BYTES) break
    }
  } catch {
    // What has come is enough.
  } finally {
    clearTimeout(timer)
  }
  // A character that was cut in two is left out; anything that is no UTF-8 shows as U+FFFD.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true })
  return text.replace(/[^\P{Cc}\n\t]/gu, '').trim() || null
}
