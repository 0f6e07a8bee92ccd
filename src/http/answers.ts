import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Response } from 'express'
import {
  createKeyedSemaphore,
  createMemoryBudget,
  type EncodedText,
  type LimiterFigures,
  type MemoryLimits,
  type ShareKey,
  toBytes,
} from '#lib/fair-sharing.ts'
import { type Problem, problemBody } from './problems.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends JSON text unchanged. Lists and records come as text from Postgres or the working set. */
export function sendJson(response: Response, status: number, body: string): void {
  if (body === '') {
    response.statusCode = status
    response.end()
  } else {
    sendBytes(response, status, Buffer.from(body))
  }
}

/** Sends JSON that is already encoded. */
export function sendBytes(response: Response, status: number, bytes: Buffer, type = JSON_TYPE): void {
  response.statusCode = status
  response.setHeader('Content-Type', type)
  response.setHeader('Content-Length', bytes.length)
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}

/** Sends an error in the contract's shape and keeps it for the request log. */
export function sendProblem(response: Response, problem: Problem, status: number): void {
  response.locals.problem = problem
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
  sendJson(response, status, problemBody(problem, response.locals.requestId as string))
}

export const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Spellings of UTF-8 that clients send. */
const UTF_8 = /^utf[-_]?8$/i

const mediaTypeOf = (type: string): string => (type.split(';', 1)[0] ?? '').trim().toLowerCase()

/** Values of all charset parameters, without quotes; other parameters have no meaning here. */
function charsetsOf(type: string): string[] {
  return type.split(';').flatMap((parameter) => {
    const [name = '', ...value] = parameter.split('=')
    if (name.trim().toLowerCase() !== 'charset') return []
    return value
      .join('=')
      .trim()
      .replace(/^["']|["']$/g, '')
  })
}

const isUtf8Named = (type: string): boolean => charsetsOf(type).every((charset) => UTF_8.test(charset))

/** Whether a Content-Type is JSON in UTF-8, however the charset is spelt. */
export const isJsonType = (type: string): boolean => mediaTypeOf(type) === 'application/json' && isUtf8Named(type)

/** Drops the charset of a form in UTF-8: body-parser knows one spelling only. */
export function dropFormCharset({ headers }: IncomingMessage): void {
  const type = headers['content-type'] ?? ''
  if (mediaTypeOf(type) === FORM_TYPE && isUtf8Named(type)) headers['content-type'] = FORM_TYPE
}

/** The authenticated client of a request. */
interface Caller {
  readonly companyId: number
}

/** Key shared by all unauthenticated clients. */
const STRANGERS = 0

/** Limiter key of a request: its company. */
export function toShareKey({ locals }: Pick<Response, 'locals'>): ShareKey {
  const { caller, session } = locals as Partial<Record<'caller' | 'session', Caller>>
  return (caller ?? session)?.companyId ?? STRANGERS
}

/** Content codings of answers, best first. */
const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

/** Preferred coding by Accept-Encoding; null if the client accepts none of them (RFC 9110, 12.5.3). */
export function negotiateCoding(acceptEncoding: string | undefined): Coding | null {
  if (acceptEncoding === undefined) return null
  const weights = new Map<string, number>()
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim())
    const weight = parameters.find((text) => text.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  let best: Coding | null = null
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get('*') ?? 0
  for (const coding of CODINGS) if (weightOf(coding) > (best === null ? 0 : weightOf(best))) best = coding
  return best
}

/**
 * Compresses an answer. Returns null if the key already has its limit of compressions; the answer is then sent
 * uncompressed instead of late.
 */
export type Compress = (bytes: Buffer, coding: Coding, key: ShareKey) => Promise<Buffer | null>

/** Compression shares its threads with password hashing. */
const COMPRESSION_LIMITS = { running: 2, waiting: 64 }
const LONGEST_WAIT_MS = 500

/** Of 11. Higher levels take many times as long to make a page 10 % smaller. */
const BROTLI_QUALITY = 4

const withGzip = promisify<Buffer, Buffer>(gzip)

const withBrotli = (bytes: Buffer, quality: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: quality,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    }
    brotliCompress(bytes, { params }, (error, compressed) => (error ? reject(error) : resolve(compressed)))
  })

const COMPRESS: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => withBrotli(bytes, BROTLI_QUALITY),
  gzip: withGzip,
}

/** As small as possible: for bytes that are compressed once and sent often. */
export const compressFully = (bytes: Buffer, coding: Coding): Promise<Buffer> =>
  coding === 'br' ? withBrotli(bytes, constants.BROTLI_MAX_QUALITY) : withGzip(bytes)

export function createCompress(): Compress {
  const semaphore = createKeyedSemaphore(COMPRESSION_LIMITS)
  return async (bytes, coding, key) => {
    const release = await semaphore.acquire(key, AbortSignal.timeout(LONGEST_WAIT_MS))
    if (!release) return null
    try {
      return await COMPRESS[coding](bytes)
    } finally {
      release()
    }
  }
}

/** Content of an answer, uncompressed and in the codings requested so far. */
export interface Representation extends Readonly<Partial<Record<Coding, Buffer>>> {
  /** Weak: the same for all codings. */
  readonly etag: string
  readonly identity: Buffer
  /** JSON by default. */
  readonly type?: string
}

const DIGEST_BYTES = 16

export function createEtag(identity: Buffer | string): string {
  const digest = createHash('sha256').update(identity).digest().subarray(0, DIGEST_BYTES)
  return `W/"${digest.toString('base64url')}"`
}

export function toRepresentation(identity: Buffer, type?: string): Representation {
  return { etag: createEtag(identity), identity, ...(type !== undefined && { type }) }
}

/**
 * Serves content that is constant for the process: created at the first request, and compressed once per coding, even
 * for concurrent requests.
 */
export function createFixedAnswer(
  make: () => string,
  compress: Compress,
  type?: string,
): (response: Response) => Promise<void> {
  let representation: Representation | undefined
  const compressing = new Map<Coding, Promise<Buffer | null>>()
  const compressOnce: Compress = async (bytes, coding, key) => {
    const making = compressing.get(coding) ?? compress(bytes, coding, key)
    compressing.set(coding, making)
    const coded = await making.catch((error: unknown) => {
      compressing.delete(coding)
      throw error
    })
    // The compression limit was reached; a later request may retry.
    if (coded === null) compressing.delete(coding)
    return coded
  }
  return async (response) => {
    representation ??= toRepresentation(Buffer.from(make()), type)
    await sendRepresentation(response, representation, compressOnce)
  }
}

/** Smaller answers fit into a packet or two anyway. */
const COMPRESSED_FROM_BYTES = 1_025

/**
 * Answers a GET or HEAD: 304 if the client has this representation, else 200, compressed on request. Returns
 * the representation with the coding that was created for it.
 */
export async function sendRepresentation(
  response: Response,
  representation: Representation,
  compress: Compress,
): Promise<Representation> {
  response.setHeader('ETag', representation.etag)
  if (includesEtag(response.req.headers['if-none-match'] ?? '', representation.etag)) {
    response.statusCode = 304
    response.end()
    return representation
  }
  return sendCoded(response, 200, representation, compress)
}

/** Sends bytes, compressed if the client accepts it (HTTP-18). */
export async function sendCompressed(
  response: Response,
  status: number,
  identity: Buffer,
  compress: Compress,
): Promise<void> {
  await sendCoded(response, status, { identity }, compress)
}

async function sendCoded<R extends Omit<Representation, 'etag'>>(
  response: Response,
  status: number,
  representation: R,
  compress: Compress,
): Promise<R> {
  const { identity, type } = representation
  const coding =
    identity.length < COMPRESSED_FROM_BYTES ? null : negotiateCoding(response.req.headers['accept-encoding'])
  const coded = coding && (representation[coding] ?? (await compress(identity, coding, toShareKey(response))))
  if (!coding || !coded) {
    sendBytes(response, status, identity, type)
    return representation
  }
  response.setHeader('Content-Encoding', coding)
  sendBytes(response, status, coded, type)
  return representation[coding] ? representation : { ...representation, [coding]: coded }
}

/**
 * Whether a list of ETags, or `*`, includes this one. Weak comparison (RFC 9110, 13.1.2), for If-Match too: all ETags are
 * weak only because of codings.
 */
export function includesEtag(list: string, etag: string): boolean {
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return list.trim() === '*' || list.split(',').some((tag) => opaque(tag) === opaque(etag))
}

/**
 * Concurrent reads of answers, in total and per company, bounded by the connections for queries. Reading 50,000
 * products takes about half a second, reading changes a few milliseconds. All tills of a chain send their requests in
 * the same minute of the morning, so many may wait.
 */
const READERS = { running: 3, runningOfKey: 2, waiting: 2_000 }
/** Long enough for a catalog of 50,000 products over a bad line. */
const LONGEST_SENDING_MS = 5 * 60_000

/** Memory for answers that clients have not taken yet, and for the bodies of their requests. */
const OUTGOING_LIMITS: MemoryLimits = { allBytes: 256 * 1_048_576, companyBytes: 64 * 1_048_576 }

/** Accepts the next piece of an answer. Returns false if the client has disconnected. */
export type StreamWrite = (...texts: readonly EncodedText[]) => boolean

/** Sends answers that may be large. */
export interface Outgoing {
  /**
   * Waits for a turn, calls `read`, and sends what it has written once it is done. @throws Unavailable if too many wait
   * already, and errors of `read`; nothing is sent then.
   */
  send(response: Response, companyId: number, read: (write: StreamWrite) => Promise<void>): Promise<void>
  /** Answers that wait to be read. */
  readonly waiting: LimiterFigures
  /** Bytes that were read but not taken yet. */
  readonly bytes: LimiterFigures
}

/**
 * An answer is buffered until the till has taken it: a slow line must not hold a connection or snapshot of Postgres,
 * and a failed read can still be answered with an error. Answers beyond the memory limit are refused.
 */
export function createOutgoing(limits: MemoryLimits = OUTGOING_LIMITS): Outgoing {
  const semaphore = createKeyedSemaphore(READERS)
  const budget = createMemoryBudget(limits)

  return {
    waiting: semaphore,
    bytes: budget,
    async send(response, companyId, read) {
      const chunks: Buffer[] = []
      const held = budget.open(companyId)
      try {
        held.add(bodyBytesOf(response))
        const write: StreamWrite = (...texts) => {
          const chunk = toBytes(...texts)
          held.add(chunk.length)
          chunks.push(chunk)
          return !response.closed
        }
        // Requests whose client disconnected while waiting give up their turn.
        await semaphore.run(companyId, async () => {
          if (!response.closed) await read(write)
        })
        await transmit(response, chunks)
      } finally {
        held.release()
      }
    },
  }
}

/** The parsed body of a request stays in memory as long as the request. */
function bodyBytesOf(response: Response): number {
  return (response.locals.rawBody as Buffer | undefined)?.length ?? 0
}

async function transmit(response: Response, chunks: readonly Buffer[]): Promise<void> {
  response.setHeader('Content-Type', JSON_TYPE)
  response.setHeader(
    'Content-Length',
    chunks.reduce((sum, chunk) => sum + chunk.length, 0),
  )
  if (response.req.method === 'HEAD') {
    response.end()
    return
  }
  const signal = AbortSignal.timeout(LONGEST_SENDING_MS)
  // Disconnects a till that has gone or takes too long. Content-Length tells it that the answer is incomplete.
  await pipeline(chunks, response, { signal }).catch(() => response.destroy())
}
