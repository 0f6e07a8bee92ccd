import { createHmac } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import ipaddr from 'ipaddr.js'
import { Agent, buildConnector, Client, type Dispatcher, errors } from 'undici'
import { type SigningSecrets, secretsAt } from '#crypto/vault.ts'
import { parseRetryAfter_ms } from '#lib/background-loops.ts'
import { isStaleConnection, ProtocolSwitched, passingInterimAnswers } from '#lib/outbound-connections.ts'

/** Headers of a delivery, besides its body. */
interface SignedDelivery {
  /** Equal in all attempts. */
  readonly id: string
  readonly event: string
  /** Null for a test. */
  readonly revision: number | null
  /** Number of the delivery within its endpoint; null for a test. */
  readonly sequence: number | null
  /** W3C trace context of the request that caused the event; null or absent if it had none. */
  readonly traceparent?: string | null
  /** JSON text, signed and sent byte for byte. */
  readonly body: string
}

/**
 * All headers of an attempt at `now` (ms since 1970): ours and those of Standard Webhooks, so that
 * its libraries verify our deliveries.
 */
export function deliveryHeaders(
  delivery: SignedDelivery,
  secrets: SigningSecrets,
  now: number,
): Readonly<Record<string, string>> {
  const { id, event, revision, sequence, traceparent, body } = delivery
  const { secret, next } = secretsAt(secrets, now)
  const timestamp = String(Math.floor(now / 1000))
  const keys = next === null ? [secret] : [secret, next]
  return {
    'Content-Type': 'application/json; charset=utf-8',
    'User-Agent': 'Tillbook-Webhooks/1',
    'X-Service-Event': event,
    'X-Service-Delivery': id,
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': specSignature(secret, timestamp, body),
    ...(next === null ? {} : { 'X-Service-Signature-Next': specSignature(next, timestamp, body) }),
    ...(revision === null ? {} : { 'X-Service-Revision': String(revision) }),
    ...(sequence === null ? {} : { 'X-Service-Sequence': String(sequence) }),
    ...(traceparent ? { traceparent } : {}),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => standardSignature(key, id, timestamp, body)).join(' '),
  }
}

/** HMAC keyed with the whole text of the secret. */
function specSignature(secret: string, timestamp: string, body: string): string {
  return `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`
}

/** HMAC keyed with the bytes that the secret encodes. */
function standardSignature(secret: string, id: string, timestamp: string, body: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** Longest URL of an endpoint, in UTF-16 units. */
const MAX_URL_LENGTH = 2000

/** All public IPv6 addresses (RFC 4291); the rest contains IPv4-compatible and other special forms. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * IPv4 networks that look public but are routed inside a cloud only. Metadata services of other clouds have
 * private addresses: link-local (169.254.169.254), shared (Alibaba's 100.100.100.200), reserved
 * (192.0.0.192, of Oracle's first cloud) and unique local (fd00:ec2::254 of AWS, fd20:ce::254 of Google, fd00:a9fe:a9fe::1 of Linode).
 */
const CLOUD_NETWORKS = [
  // Azure: DHCP, DNS, health probes, and the agent of machines, which gives out their certificates.
  '168.63.129.16/32',
  // IBM Cloud: DNS, time and mirrors of packages; private endpoints of its services.
  '161.26.0.0/16',
  '166.8.0.0/14',
].map((network) => ipaddr.IPv4.parseCIDR(network))

/** Names of this machine (RFC 6761). */
const LOCAL_NAME = /(^|\.)localhost\.?$/

/**
 * Problem of a callback URL as a field message in Brazilian Portuguese; null if it is acceptable. Without
 * `allowPrivate` it must be https and must not name a private network literally; resolved addresses are checked at each
 * connection.
 */
export function urlProblem(url: string, allowPrivate: boolean): string | null {
  if (url.length > MAX_URL_LENGTH) return `deve ter no máximo ${MAX_URL_LENGTH} caracteres`
  const target = parse(url)
  if (!target) return allowPrivate ? 'deve ser uma URL http ou https' : 'deve ser uma URL https'
  if (target.username !== '' || target.password !== '') return 'não pode conter usuário nem senha'
  if (url.includes('#')) return 'não pode conter fragmento (#)'
  if (allowPrivate) return null
  if (target.protocol !== 'https:') return 'deve usar https'
  return isPrivateHost(target.hostname) ? 'não pode apontar para uma rede privada ou local' : null
}

/** Whether `address` (IPv4 or IPv6, without a zone) is public: not private, local, shared, reserved, tunnelled or internal to a cloud. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // IPv4-mapped IPv6 (::ffff:10.0.0.1) is judged as IPv4.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  if (parsed instanceof ipaddr.IPv4) return !CLOUD_NETWORKS.some((network) => parsed.match(network))
  return parsed.match(GLOBAL_UNICAST)
}

/** The literal address of a URL's host, without IPv6 brackets; null for a name. */
function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? bare : null
}

/** Null unless the text is an absolute http(s) URL as written; the parser would repair slashes and drop line ends. */
function parse(url: string): URL | null {
  if (!/^https?:\/\/[^/\\]/i.test(url) || /[\s\p{Cc}\p{Surrogate}]/u.test(url)) return null
  const target = URL.canParse(url) ? new URL(url) : null
  // Port 0 cannot be listened on.
  return target?.port === '0' ? null : target
}

function isPrivateHost(hostname: string): boolean {
  const literal = literalAddress(hostname)
  return literal === null ? LOCAL_NAME.test(hostname) : !isPublicAddress(literal)
}

/** The target is in a private or local network. */
class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress'
}

/** All addresses of a name, IPv4 and IPv6. */
type Resolve = (hostname: string) => Promise<string[]>

type Connector = ReturnType<typeof buildConnector>

const DNS_TIMEOUT_MS = 2_000
const DNS_TRIES = 2

/** Connects to any address, including this machine and private networks. */
function createConnector(timeout_ms: number): Connector {
  return buildConnector({ timeout: timeout_ms, autoSelectFamily: true })
}

/**
 * Connects to public addresses only. The checked address is the connected one: literals, the addresses of the
 * connection's own DNS look-up, and finally the socket's peer, so that DNS rebinding gains nothing.
 */
function createPublicConnector(timeout_ms: number, resolve: Resolve = createResolve()): Connector {
  const connect = buildConnector({ timeout: timeout_ms, autoSelectFamily: true, lookup: publicLookup(resolve) })
  return (options, callback) => {
    const literal = literalAddress(options.hostname)
    if (literal !== null && !isPublicAddress(literal)) {
      // Called after this function has returned: the caller does not expect a synchronous answer.
      queueMicrotask(() => callback(new PrivateAddress(), null))
      return
    }
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new PrivateAddress(), null)
    })
  }
}

/** @throws PrivateAddress if a name has addresses but no public one */
function publicLookup(resolve: Resolve): LookupFunction {
  const lookUp = async (hostname: string) => {
    const addresses = (await resolve(hostname)).filter(isPublicAddress)
    const [first] = addresses
    if (first === undefined) throw new PrivateAddress()
    return { first, addresses }
  }
  return (hostname, { all }, callback) => {
    lookUp(hostname).then(
      ({ first, addresses }) => {
        if (all)
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          )
        else callback(null, first, isIP(first))
      },
      (error) => callback(error, ''),
    )
  }
}

/**
 * Queries the name servers directly: getaddrinfo would block one of the few threads of the process, which also hash
 * passwords and read files.
 */
function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    // A name without an IPv6 address yields an error.
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
}

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

/** Retries are delayed by up to this share, so that deliveries that failed together are spread. */
const JITTER = 0.1

/**
 * Milliseconds until the next attempt after `tries` failures; null when the retries are exhausted. A receiver
 * may ask for a longer pause, at most the following one. `random` is in [0, 1).
 */
export function retryDelay_ms(
  retrySeconds: readonly number[],
  tries: number,
  random: number,
  retryAfter_ms = 0,
): number | null {
  const seconds = retrySeconds[tries - 1]
  if (seconds === undefined) return null
  const ms = Math.max(seconds, Math.min(retryAfter_ms / 1000, retrySeconds[tries] ?? seconds)) * 1000
  return Math.round(ms + ms * JITTER * random)
}
