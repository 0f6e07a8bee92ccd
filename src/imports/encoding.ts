import { isUtf8 } from 'node:buffer'

/** Yields to other requests; awaited after each slice of long work (src/lib/time-slicing.ts). */
export type Pause = () => Promise<void>

/** Amount decoded between two pauses, in bytes. */
const PART = 16_384

/** Characters of the bytes 0x80 to 0x9F in windows-1252 (WHATWG); Node 20 decodes them as Latin-1. */
const WINDOWS_C1 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Stands for what could not be decoded. */
export const UNREADABLE = '\uFFFD'

const fromWindows = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\x80-\x9f]/g, (c1) => WINDOWS_C1.charAt(c1.charCodeAt(0) - 0x80))

/** A letter of UTF-8, read as windows-1252: `Ã£`. */
const MISREAD = new RegExp(`[ÂÃ][\\u00a0-\\u00bf${WINDOWS_C1}]`, 'g')

/** Number of bytes of a UTF-8 character that begins at a position; 0 if none does. */
function lengthAt(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) && at + length <= bytes.length ? length : 0
}

/** How many characters beyond ASCII are UTF-8, and how many bytes are not. */
async function countUtf8(bytes: Buffer, pause: Pause): Promise<{ readonly right: number; readonly wrong: number }> {
  let [right, wrong] = [0, 0]
  for (let at = 0, paused = 0; at < bytes.length; ) {
    if (at - paused >= PART) {
      paused = at
      await pause()
    }
    const length = lengthAt(bytes, at)
    if (length > 1) right += 1
    else if (length === 0) wrong += 1
    at += length || 1
  }
  return { right, wrong }
}

async function inParts(bytes: Buffer, pause: Pause, decode: (part: Buffer) => string): Promise<string> {
  let text = ''
  for (let from = 0; from < bytes.length; from += PART) {
    await pause()
    text += decode(bytes.subarray(from, from + PART))
  }
  return text
}

async function withDecoder(bytes: Buffer, pause: Pause, encoding: string): Promise<string> {
  const decoder = new TextDecoder(encoding)
  return (await inParts(bytes, pause, (part) => decoder.decode(part, { stream: true }))) + decoder.decode()
}

/** Encoding that a UTF-16 byte order mark names; null without one. */
export function wideEncodingOf(bytes: Buffer): 'utf-16le' | 'utf-16be' | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : null
}

/**
 * Decodes a file saved by a spreadsheet: UTF-16 with a byte order mark, UTF-8, or the Windows ANSI code page. A file of
 * both is what most of it is; what does not fit becomes U+FFFD, so that its lines can be told.
 */
export async function decodeText(bytes: Buffer, pause: Pause): Promise<string> {
  const wide = wideEncodingOf(bytes)
  if (wide !== null) return withDecoder(bytes, pause, wide)
  if (isUtf8(bytes)) return withDecoder(bytes, pause, 'utf-8')
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const { right, wrong } = await countUtf8(bytes, pause)
  if (hasMark || (right > 0 && right >= wrong)) return withDecoder(bytes, pause, 'utf-8')
  const text = await inParts(bytes, pause, fromWindows)
  return right === 0 ? text : text.replace(MISREAD, UNREADABLE)
}
