import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { sendBytes } from './answer.ts'
import { type Coding, type Compress, codingOf } from './compression.ts'
import { shareOf } from './share-of.ts'

/** Content of an answer, uncompressed and in the codings requested so far. */
export interface Representation extends Readonly<Partial<Record<Coding, Buffer>>> {
  /** Weak: the same for all codings. */
  readonly etag: string
  readonly identity: Buffer
  /** JSON by default. */
  readonly type?: string
}

const DIGEST_BYTES = 16

export function etagOf(identity: Buffer | string): string {
  const digest = createHash('sha256').update(identity).digest().subarray(0, DIGEST_BYTES)
  return `W/"${digest.toString('base64url')}"`
}

export function representationOf(identity: Buffer, type?: string): Representation {
  return { etag: etagOf(identity), identity, ...(type !== undefined && { type }) }
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
    representation ??= representationOf(Buffer.from(make()), type)
    await sendRepresentation(response, representation, compressOnce)
  }
}

/** Smaller answers fit into a packet or two anyway. */
const COMPRESSED_FROM_BYTES = 1_025

/**
 * Answers a GET or HEAD: 304 if the client has this representation (LIST-9), else 200, compressed on request. Returns
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
  const coding = identity.length < COMPRESSED_FROM_BYTES ? null : codingOf(response.req.headers['accept-encoding'])
  const coded = coding && (representation[coding] ?? (await compress(identity, coding, shareOf(response))))
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
