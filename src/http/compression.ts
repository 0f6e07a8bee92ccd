import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { ShareKey } from '#lib/fair-share-limiter.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'

/** Content codings of answers, best first. */
const CODINGS = ['br', 'gzip'] as const
export type Coding = (typeof CODINGS)[number]

/** Preferred coding by Accept-Encoding; null if the client accepts none of them (RFC 9110, 12.5.3). */
export function codingOf(acceptEncoding: string | undefined): Coding | null {
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
const LIMITS = { running: 2, waiting: 64 }
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
  const semaphore = createKeyedSemaphore(LIMITS)
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
