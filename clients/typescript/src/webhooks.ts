import type { webhooks } from './schema.ts'

/** Payload of each event, by its name. */
type Payloads = {
  [Name in keyof webhooks]: webhooks[Name] extends {
    post: { requestBody: { content: { 'application/json': infer Payload } } }
  }
    ? Payload
    : never
}

/** Delivery from the service: `id` and `payload` are signed, `sequence` and `revision` are not. */
export interface Delivery {
  /** Equal in every attempt: respond 2xx to an id that was already processed, and do nothing. */
  readonly id: string
  /** 1, 2, 3 … for each endpoint: a gap means a loss. Null in a test. Not signed: use it to detect a loss only. */
  readonly sequence: number | null
  /** Position in the ledger. Null in a test. Not signed. */
  readonly revision: number | null
  readonly payload: Payloads[keyof Payloads]
}

export interface VerifyOptions {
  /** The whole `whsec_…`; blanks and line ends around it do not count. */
  readonly secret: string
  /** Maximum difference between the time of a delivery and the local clock, in seconds. */
  readonly toleranceSeconds?: number
  /** Unix time in milliseconds. */
  readonly now?: number
}

type HeaderValue = string | number | readonly string[] | null | undefined

/** Headers of any library: a `Headers` of any class, a Map, pairs, Node's `rawHeaders`, or a plain object; names in any case. */
export type HeadersLike =
  | readonly string[]
  | Iterable<readonly [string, HeaderValue]>
  | { get(name: string): string | null | undefined }
  | Readonly<Record<string, HeaderValue>>

const TOLERANCE_SECONDS = 300

/** Bounds the work for forged headers. */
const MOST_HEADERS = 1_000

const isRaw = (headers: HeadersLike): headers is readonly string[] =>
  Array.isArray(headers) && typeof headers[0] === 'string'

const isIterable = (headers: object): headers is Iterable<readonly [string, HeaderValue]> => Symbol.iterator in headers

/** Values by lower-case name; the first of several spellings counts. */
function headersByName(headers: HeadersLike): ReadonlyMap<string, string> {
  const byName = new Map<string, string>()
  const add = (name: string, value: HeaderValue) => {
    const text = typeof value === 'object' ? value?.join(' ') : value?.toString()
    if (text !== undefined && !byName.has(name.toLowerCase())) byName.set(name.toLowerCase(), text.trim())
  }
  if (isRaw(headers))
    for (let at = 0; at < Math.min(headers.length, 2 * MOST_HEADERS); at += 2) add(headers[at] ?? '', headers[at + 1])
  else if (isIterable(headers)) {
    let count = 0
    for (const [name, value] of headers) if (count++ < MOST_HEADERS) add(name, value)
  } else if (typeof headers.get === 'function') for (const name of READ_HEADERS) add(name, headers.get(name))
  else for (const [name, value] of Object.entries(headers).slice(0, MOST_HEADERS)) add(name, value as HeaderValue)
  return byName
}

const READ_HEADERS = [
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-service-sequence',
  'x-service-revision',
]

/**
 * Parses the delivery of a request from the raw bytes of its body; null if it is not from the service, or too old.
 * Verifies
 * `webhook-signature`, which covers id, time and body. During a rotation either secret verifies.
 */
export async function verifyWebhook(
  headers: HeadersLike,
  body: Uint8Array,
  { secret, toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions,
): Promise<Delivery | null> {
  const received = headersByName(headers)
  const [id, timestamp] = [received.get('webhook-id') ?? '', received.get('webhook-timestamp') ?? '']
  if (id === '' || !/^\d+$/.test(timestamp)) return null
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return null
  const key = await crypto.subtle.importKey('raw', keyOf(secret), HMAC, false, ['verify'])
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const given = [...(received.get('webhook-signature') ?? '').matchAll(SIGNATURES)].slice(0, MOST_SIGNATURES)
  for (const [, signature = ''] of given) {
    // Compared by the platform, in constant time.
    if (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed)) return deliveryOf(id, received, body)
  }
  return null
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

/** Separated by a space, or by a comma where a library has joined two headers. */
const SIGNATURES = /(?<![^\s,])v1,([A-Za-z0-9+/]{43}=)(?![^\s,])/g

/** The service sends one signature, and two during a rotation. Bounds the work for forged headers. */
const MOST_SIGNATURES = 4

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** Decodes a secret. @throws if the text is no secret */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim())?.[1]
  if (encoded === undefined) throw new Error('secret must be the whole whsec_… of the webhook')
  return bytesOf(encoded)
}

function deliveryOf(id: string, headers: ReadonlyMap<string, string>, body: Uint8Array): Delivery {
  const numberOf = (name: string) => {
    const text = headers.get(name)
    return text === undefined ? null : Number(text)
  }
  return {
    id,
    sequence: numberOf('x-service-sequence'),
    revision: numberOf('x-service-revision'),
    payload: JSON.parse(new TextDecoder().decode(body)),
  }
}

/** Stores a delivery before it is acknowledged. If it throws, the service delivers again. */
export type Receive = (delivery: Delivery) => Promise<void> | void

export interface HandlerOptions extends VerifyOptions {
  /** Gets what `receive` throws, and why a request could not be verified; the answer is 500. `console.error` if absent. */
  readonly onError?: (error: unknown) => unknown
}

const PARSED = 'the body was parsed: the signature is over its bytes'

/** Largest body of a delivery, in bytes. Larger ones are none of the service's. */
const MAX_BYTES = 5_000_000

/** The status of the answer; never throws. */
async function answerTo(
  headers: HeadersLike,
  readBody: () => Promise<Uint8Array | null>,
  { onError = console.error, ...options }: HandlerOptions,
  receive: Receive,
): Promise<number> {
  try {
    const body = await readBody()
    const delivery = body && (await verifyWebhook(headers, body, options))
    if (!delivery) return 401
    await receive(delivery)
    return 204
  } catch (error) {
    try {
      await onError(error)
    } catch (failure) {
      console.error(failure)
    }
    return 500
  }
}

/** Handler for Fetch requests, as in Deno, Bun, workers, Hono, Next. */
export const fetchHandler =
  (options: HandlerOptions, receive: Receive) =>
  async (request: Request): Promise<Response> => {
    const read = async () => {
      const body = new Uint8Array(await request.arrayBuffer())
      return body.length > MAX_BYTES ? null : body
    }
    return new Response(null, { status: await answerTo(request.headers, read, options, receive) })
  }

/** Common part of Node's and Express's requests. */
interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Bytes, if a parser has read them (`express.raw()`). */
  readonly body?: unknown
}

interface NodeResponse {
  writeHead(status: number): { end(): unknown }
}

/** A handler of Express, or of `node:http`: before any parser of JSON, or behind `express.raw({ type: 'application/json', limit: '5mb' })`; its own limit refuses larger sales. */
export const expressHandler =
  (options: HandlerOptions, receive: Receive) =>
  async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    response.writeHead(await answerTo(request.headers, () => bytesOfRequest(request), options, receive)).end()
  }

/** Parts of Fastify's request and reply; the body is raw with a parser for `application/json` that keeps the buffer. */
interface FastifyRequest {
  readonly headers: NodeRequest['headers']
  readonly body: unknown
}

/** Handler for Fastify with a content type parser with `parseAs: 'buffer'`. */
export const fastifyHandler =
  (options: HandlerOptions, receive: Receive) =>
  async ({ headers, body }: FastifyRequest, reply: { code(status: number): { send(): unknown } }): Promise<unknown> => {
    const read = async () => {
      if (body instanceof Uint8Array) return body
      if (body != null) throw new Error(PARSED)
      return null
    }
    return reply.code(await answerTo(headers, read, options, receive)).send()
  }

/** Null if the body is too large. @throws if a parser has read the bytes and kept none */
async function bytesOfRequest(request: NodeRequest): Promise<Uint8Array | null> {
  if (request.body instanceof Uint8Array) return request.body
  if (request.body !== undefined) throw new Error(PARSED)
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BYTES) return null
    chunks.push(chunk)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return whole
}
