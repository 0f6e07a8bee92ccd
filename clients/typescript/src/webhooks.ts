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
  /** The whole `whsec_…`. */
  readonly secret: string
  /** Maximum difference between the time of a delivery and the local clock, in seconds. */
  readonly toleranceSeconds?: number
  /** Unix time in milliseconds. */
  readonly now?: number
}

type HeadersLike = Headers | Readonly<Record<string, string | string[] | undefined>>

const TOLERANCE_SECONDS = 300

const headerOf = (headers: HeadersLike, name: string): string | null =>
  headers instanceof Headers ? headers.get(name) : (headers[name]?.toString() ?? null)

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
  const [id, timestamp] = [headerOf(headers, 'webhook-id') ?? '', headerOf(headers, 'webhook-timestamp') ?? '']
  if (id === '' || !/^\d+$/.test(timestamp)) return null
  if (Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) return null
  const key = await crypto.subtle.importKey('raw', keyOf(secret), HMAC, false, ['verify'])
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + body.length)
  signed.set(head)
  signed.set(body, head.length)
  const given = (headerOf(headers, 'webhook-signature') ?? '').split(' ').slice(0, MOST_SIGNATURES)
  for (const each of given) {
    const signature = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(each)?.[1]
    // The platform compares in constant time.
    if (signature && (await crypto.subtle.verify('HMAC', key, bytesOf(signature), signed)))
      return deliveryOf(id, headers, body)
  }
  return null
}

const HMAC = { name: 'HMAC', hash: 'SHA-256' }

/** The service sends one signature, and two during a rotation. Limits the work for forged headers. */
const MOST_SIGNATURES = 4

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))

/** Decodes a secret. @throws if the text is no secret */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  if (encoded === undefined) throw new Error('secret must be the whole whsec_… of the webhook')
  return bytesOf(encoded)
}

function deliveryOf(id: string, headers: HeadersLike, body: Uint8Array): Delivery {
  const numberOf = (name: string) => {
    const text = headerOf(headers, name)
    return text === null ? null : Number(text)
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

/** Larger bodies are not from the service. */
const MAX_BYTES = 5_000_000

async function answerTo(
  headers: HeadersLike,
  body: Uint8Array | null,
  options: VerifyOptions,
  receive: Receive,
): Promise<number> {
  const delivery = body && (await verifyWebhook(headers, body, options))
  if (!delivery) return 401
  await receive(delivery)
  return 204
}

/** Handler for Fetch requests, as in Deno, Bun, workers, Hono, Next. */
export const fetchHandler =
  (options: VerifyOptions, receive: Receive) =>
  async (request: Request): Promise<Response> => {
    const body = new Uint8Array(await request.arrayBuffer())
    const status = await answerTo(request.headers, body.length > MAX_BYTES ? null : body, options, receive).catch(
      () => 500,
    )
    return new Response(null, { status })
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

/**
 * Handler for Express or `node:http`: place it before any JSON parser, or behind `express.raw({ type:
 * 'application/json' })`.
 */
export const expressHandler =
  (options: VerifyOptions, receive: Receive) =>
  async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    const status = await bytesOfRequest(request)
      .then((body) => answerTo(request.headers, body, options, receive))
      .catch(() => 500)
    response.writeHead(status).end()
  }

/** Parts of Fastify's request and reply; the body is raw with a parser for `application/json` that keeps the buffer. */
interface FastifyRequest {
  readonly headers: NodeRequest['headers']
  readonly body: unknown
}

/** Handler for Fastify with a content type parser with `parseAs: 'buffer'`. */
export const fastifyHandler =
  (options: VerifyOptions, receive: Receive) =>
  async ({ headers, body }: FastifyRequest, reply: { code(status: number): { send(): unknown } }): Promise<unknown> => {
    const status = await answerTo(headers, body instanceof Uint8Array ? body : null, options, receive).catch(() => 500)
    return reply.code(status).send()
  }

/** Null if the body is too large. @throws if a parser has read the bytes and kept none */
async function bytesOfRequest(request: NodeRequest): Promise<Uint8Array | null> {
  if (request.body instanceof Uint8Array) return request.body
  if (request.body !== undefined) throw new Error('the body was parsed: the signature is over its bytes')
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
