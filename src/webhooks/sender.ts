import { Agent, Client, type Dispatcher, errors } from 'undici'
import type { SigningSecrets } from '#domain/webhook-secret.ts'
import { createConnector, createPublicConnector, type Resolve } from './connector.ts'
import { type FailureCode, failureOf, failureOfStatus, TimedOut } from './failure.ts'
import { deliveryHeaders, type SignedDelivery } from './signature.ts'
import { readSnippet } from './snippet.ts'

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
