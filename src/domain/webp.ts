/** Largest picture, in bytes. */
export const MAX_PICTURE_BYTES = 204_800

const NO_WEBP = 'deve ser uma imagem WebP'

/** Starts of other pictures, as bytes from an offset. */
const OTHERS = [
  { name: 'JPG', at: 0, start: '\xff\xd8\xff' },
  { name: 'PNG', at: 0, start: '\x89PNG' },
  { name: 'HEIC', at: 4, start: 'ftyp' },
]

/** A browser with scripts would have converted it. */
function notWebp(bytes: Buffer): string {
  const other = OTHERS.find(({ at, start }) => bytes.toString('latin1', at, at + start.length) === start)
  return other ? `${NO_WEBP}: o arquivo é ${other.name}, e não foi convertido` : NO_WEBP
}

export const PICTURE_TOO_LARGE = `deve ter no máximo ${MAX_PICTURE_BYTES / 1024} KB`

/** First chunk of a WebP: lossy, lossless, or extended (transparency, animation). */
const CHUNKS = ['VP8 ', 'VP8L', 'VP8X']

/** Whether bytes are a WebP file (RFC 9649): its RIFF header names the type and the length. */
function isWebp(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return false
  const [length, chunk] = [bytes.readUInt32LE(4) + 8, bytes.readUInt32LE(16) + 20]
  return length <= bytes.length && chunk <= bytes.length && CHUNKS.includes(bytes.toString('latin1', 12, 16))
}

/** Why bytes cannot be stored as a picture; null if they can. */
export function pictureProblem(bytes: Buffer): string | null {
  if (bytes.length > MAX_PICTURE_BYTES) return PICTURE_TOO_LARGE
  return isWebp(bytes) ? null : notWebp(bytes)
}
