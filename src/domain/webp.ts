/** Largest picture, in bytes. */
export const MAX_PICTURE_BYTES = 204_800

/** First chunk of a WebP: lossy, lossless, or extended (transparency, animation). */
const CHUNKS = ['VP8 ', 'VP8L', 'VP8X']

/** Whether bytes are a WebP file (RFC 9649): its RIFF header names the type and the length. */
export function isWebp(bytes: Buffer): boolean {
  if (bytes.length < 20 || bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP')
    return false
  const [length, chunk] = [bytes.readUInt32LE(4) + 8, bytes.readUInt32LE(16) + 20]
  return length <= bytes.length && chunk <= bytes.length && CHUNKS.includes(bytes.toString('latin1', 12, 16))
}
