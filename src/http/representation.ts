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
  /** JSON by default. */
  readonly type?: string
}

const DIGEST_BYTES = 16

export function representationOf(identity: Buffer, type?: string): Representation {
  const digest = createHash('sha256').update(identity).digest().subarray(0, DIGEST_BYTES)
  return { etag: `W/"${digest.toString('base64url')}"`, identity, ...(type !== undefined && { type }) }
}

/**
 * Sends what stays the same while the process runs: made when it is first asked for, and compressed once for each coding, however many ask
 * at the same time.
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
    // There was no turn for it: the next caller may have one.
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

/** By weak comparison (RFC 9110, 13.1.2). */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '')
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))
}
