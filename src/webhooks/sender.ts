import type { Readable } from 'node:stream'
import { Agent, Client, type Dispatcher, errors } from 'undici'
import type { SigningSecrets } from '#domain/webhook-secret.ts'
import { isStaleConnection, ProtocolSwitched, passingInterimAnswers } from '#lib/outbound-connections.ts'
import { parseRetryAfter_ms } from '#lib/retry-after.ts'
import { deliveryHeaders, type SignedDelivery } from './signature.ts'
import { createConnector, createPublicConnector, PrivateAddress, type Resolve } from './target.ts'

/** Outcome of an attempt as stored with the delivery; delivered if `error` is null. */
export interface AttemptResult {
  /** Start: UTC, milliseconds, `Z`. */
  readonly at: string
  readonly status: number | null
  /** Until the status arrived or the attempt ended. */
  readonly duration_ms: number
  readonly error: FailureCode | null
  /** Start of the answer's body. */
  readonly response: string | null
}

/** An attempt with the pause that the receiver asks for in Retry-After (429, 503); absent if it does not. */
export interface SentAttempt extends AttemptResult {
  readonly retry_after_ms?: number
}

/** A delivery with its URL and secrets. */
export interface Sendable extends SignedDelivery, SigningSecrets {
  readonly url: string
}

export interface Sender {
  /** Makes one attempt; never rejects. Takes at most the time-out plus one second. */
  send(delivery: Sendable): Promise<SentAttempt>
  /** Closes idle connections, then, at the latest, the others. */
  close(): Promise<void>
}

export interface SenderOptions {
  /** Of the whole attempt: DNS, connection, request and status. */
  readonly timeout_ms: number
  /** Whether http, this machine and private networks are allowed. */
  readonly allowPrivate: boolean
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** Resolves a name; queries the name servers by default. For public targets only. */
  readonly resolve?: Resolve
}

/** Longest wait for the body after the status. */
const BODY_WAIT_MS = 1_000

/** Bound of idle connections kept for reuse. */
const KEPT_CONNECTIONS = 512
const KEEP_ALIVE_MS = 4_000

/** HTTP client for deliveries: no proxies, cookies, redirects or compression; one request at a time per connection. */
export function createSender({ timeout_ms, allowPrivate, clock, resolve }: SenderOptions): Sender {
  const connect = passingInterimAnswers(
    allowPrivate ? createConnector(timeout_ms) : createPublicConnector(timeout_ms, resolve),
  )
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
      // No failure of the server, and the delivery may be sent again at once: receivers deduplicate by id.
      if (!isStaleConnection(error)) throw error
      const fresh = new Client(origin, settings)
      const response = fresh.request(request)
      // Closes once the answer has been read.
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
        const { statusCode, headers, body } = await post(delivery, now, giveUp.signal)
        clearTimeout(timer)
        const duration_ms = elapsed_ms()
        const snippet = await readSnippet(body, BODY_WAIT_MS)
        const made = outcome(statusCode, failureOfStatus(statusCode), duration_ms, snippet)
        return { ...made, ...pauseOf(statusCode, headers, clock()) }
      } catch (error) {
        if (error instanceof ProtocolSwitched) return outcome(101, failureOfStatus(101), elapsed_ms(), null)
        return outcome(null, failureOf(error), elapsed_ms(), null)
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => agent.destroy(),
  }
}

/** Statuses with which a receiver may say when to come again. */
const BUSY: readonly number[] = [429, 503]

function pauseOf(
  status: number,
  headers: Dispatcher.ResponseData['headers'],
  now: number,
): Pick<SentAttempt, 'retry_after_ms'> {
  const retry_after_ms = BUSY.includes(status) ? parseRetryAfter_ms(headers['retry-after'], now) : null
  return retry_after_ms === null ? {} : { retry_after_ms }
}

/** The attempt timed out before an answer. */
class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** Failure codes: short and stable, stored with the delivery. */
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
  /** Not sent: the endpoint may not receive it (HOOK-55). */
  | 'insufficient_scope'

/** Failure of a status; null for success. Redirects are not followed: a moved receiver must register its new URL. */
function failureOfStatus(status: number): FailureCode | null {
  if (status >= 200 && status < 300) return null
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirect' : 'http_status'
}

const CODES: readonly [RegExp, FailureCode][] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'connection_lost'],
  // Error codes of getaddrinfo and c-ares.
  [
    /^(ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|EBADRESP|EFORMERR|ETIMEOUT|ENOTIMP|EAI_[A-Z]+)$/,
    'name_not_resolved',
  ],
  [/^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|EPROTO)/, 'tls'],
  [/^(ERR_INVALID_URL|UND_ERR_NOT_SUPPORTED)$/, 'invalid_url'],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, 'invalid_response'],
]

/** Classifies an attempt without a usable answer. */
function failureOf(error: unknown): FailureCode {
  if (error instanceof TimedOut) return 'timeout'
  if (error instanceof PrivateAddress) return 'private_address'
  if (error instanceof errors.HTTPParserError) return 'invalid_response'
  const code = (error as { code?: unknown } | null)?.code
  const known = typeof code === 'string' ? CODES.find(([pattern]) => pattern.test(code)) : undefined
  return known?.[1] ?? 'connection_failed'
}

/** Stored bytes of an answer's body. */
const SNIPPET_BYTES = 1_024

/** Bytes read to keep the connection reusable; with a longer body it is closed. */
const DRAINED_BYTES = 16_384

/**
 * Start of a body as text without control characters; null if it is not readable. Bounded in time by `wait_ms` and in
 * bytes; never throws, because the status has decided already. A longer body costs the connection.
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
    // Enough has been read.
  } finally {
    clearTimeout(timer)
  }
  // Drops a truncated last character; invalid UTF-8 becomes U+FFFD.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true })
  return text.replace(/[^\P{Cc}\n\t]/gu, '').trim() || null
}
