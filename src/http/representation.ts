import { createHash } from 'node:crypto'
import type { Response } from 'express'
import { sendBytes } from './answer.ts'
import { type Coding, type Compress, codingOf } from './compression.ts'
import { shareOf } from './share-of.ts'

/** What is answered, as it is and in the codings that somebody has asked for. */
export interface Representation extends Readonly<Partial<Record<Coding, Buffer>>> {
  /** Weak: the same for all codings. */
  readonly etag: string
  readonly identity: Buffer
}

const DIGEST_BYTES = 16

export function representationOf(identity: Buffer): Representation {
  const digest = createHash('sha256').update(identity).digest().subarray(0, DIGEST_BYTES)
  return { etag: `W/"${digest.toString('base64url')}"`, identity }
}

/** Smaller answers fit into a packet or two anyway. */
const COMPRESSED_FROM_BYTES = 1_025

/**
 * Answers a GET or HEAD: 304 when the caller has this representation already (LIST-9), else 200, compressed if it asked for that.
 * Returns the representation with the coding that was made for it.
 */
export async function sendRepresentation(
  response: Response,
  representation: Representation,
  compress: Compress,
): Promise<Representation> {
  response.setHeader('ETag', representation.etag)
  if (isKnown(response.req.headers['if-none-match'], representation.etag)) {
    response.statusCode = 304
    response.end()
    return representation
  }
  return sendCoded(response, 200, representation, compress)
}

/** Sends bytes, compressed if the caller asked for that (HTTP-18). */
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
  const { identity } = representation
  const coding = identity.length < COMPRESSED_FROM_BYTES ? null : codingOf(response.req.headers['accept-encoding'])
  const coded = coding && (representation[coding] ?? (await compress(identity, coding, shareOf(response))))
  if (!coding || !coded) {
    sendBytes(response, status, identity)
    return representation
  }
  response.setHeader('Content-Encoding', coding)
  sendBytes(response, status, coded)
  return representation[coding] ? representation : { ...representation, [coding]: coded }
}

/** By weak comparison (RFC 9110, 13.1.2). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))
}
