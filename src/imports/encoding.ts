import { isAscii, isUtf8 } from 'node:buffer'
import { CODE_PAGES, type CodePage, fromCodePage, fromMisread, replaceMisread, UNREADABLE } from './code-pages.ts'
import { portugueseScore } from './letters.ts'

/** Yields to other requests; awaited after each slice of long work (src/lib/time-slicing.ts). */
export type Pause = () => Promise<void>

/** Amount decoded between two pauses, in bytes. */
const PART = 16_384

/** Encodings that a file may have, with their names for people. */
export const ENCODINGS = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252 (ANSI)',
  cp850: 'CP850 (MS-DOS)',
  macroman: 'Mac Roman',
  'windows-1252 twice': 'UTF-8 gravado duas vezes (JoÃ£o)',
  'cp850 twice': 'UTF-8 gravado duas vezes (Jo├úo)',
  'macroman twice': 'UTF-8 gravado duas vezes (Jo√£o)',
} as const
export type Encoding = keyof typeof ENCODINGS

/** How the file was decoded. */
export interface DecodedText {
  readonly text: string
  /** Null if there is nothing to choose: the file is ASCII, or names its encoding. */
  readonly encoding: Encoding | null
}

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

/** Lengths, in bytes, of the sample by which code pages are compared, and of a piece of a line in it. */
const [SAMPLE, PIECE] = [65_536, 2_048]

/** Pieces of the lines with a byte beyond ASCII, from the whole file. */
async function sampleOf(bytes: Buffer, pause: Pause): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let [at, length, paused] = [0, 0, 0]; at < bytes.length && length < SAMPLE; at++) {
    if (at - paused >= PART) {
      paused = at
      await pause()
    }
    if ((bytes[at] as number) < 0x80) continue
    const end = bytes.indexOf(0x0a, at)
    const piece = bytes.subarray(Math.max(at - 64, 0), Math.min(end < 0 ? bytes.length : end, at + PIECE))
    pieces.push(piece, Buffer.from('\n'))
    length += piece.length
    at = end < 0 ? at + PIECE : Math.min(end, at + PIECE)
  }
  return Buffer.concat(pieces)
}

/** The first of several with the highest score. */
function best<T>(candidates: readonly T[], scoreOf: (candidate: T) => number): T {
  const scores = candidates.map(scoreOf)
  return candidates[scores.indexOf(Math.max(...scores))] as T
}

const PAGE_TWICE = CODE_PAGES.map((page) => `${page} twice` as const)

/** Encoding by the score of a sample in each candidate (PANEL-354). `isMixed`: some of the file is UTF-8, some is not. */
async function detect(
  bytes: Buffer,
  pause: Pause,
): Promise<{ readonly encoding: Encoding; readonly isMixed: boolean }> {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const isWhole = isUtf8(bytes)
  const { right, wrong } = isWhole ? { right: 1, wrong: 0 } : await countUtf8(bytes, pause)
  const sample = await sampleOf(bytes, pause)
  if (!hasMark && !isWhole && (right === 0 || right < wrong))
    return { encoding: best(CODE_PAGES, (page) => portugueseScore(fromCodePage(sample, page))), isMixed: right > 0 }
  const text = sample.toString('utf8')
  const readings = new Map<Encoding, string>([['utf-8', text]])
  for (const twice of PAGE_TWICE) {
    const restored = fromMisread(text, pageOf(twice))
    if (restored !== text) readings.set(twice, restored)
  }
  // Of equal scores the first: right texts hardly have what looks like UTF-8 read as windows-1252.
  const candidates = (['windows-1252 twice', 'utf-8', ...PAGE_TWICE] as const).filter((one) => readings.has(one))
  return { encoding: best(candidates, (one) => portugueseScore(readings.get(one) ?? '')), isMixed: false }
}

const pageOf = (encoding: Encoding): CodePage => encoding.replace(' twice', '') as CodePage

async function decodeAs(bytes: Buffer, encoding: Encoding, isMixed: boolean, pause: Pause): Promise<string> {
  if (encoding === 'utf-8') return withDecoder(bytes, pause, 'utf-8')
  const page = pageOf(encoding)
  if (encoding === page) {
    const text = await inParts(bytes, pause, (part) => fromCodePage(part, page))
    return isMixed ? replaceMisread(text, page, () => UNREADABLE) : text
  }
  const misread = await withDecoder(bytes, pause, 'utf-8')
  let text = ''
  for (let from = 0; from < misread.length; ) {
    await pause()
    // Parts end with a line: none of them ends within a letter.
    const end = misread.indexOf('\n', from + PART) + 1 || misread.length
    text += fromMisread(misread.slice(from, end), page)
    from = end
  }
  return text.replace(/^\uFEFF/, '')
}

/**
 * Decodes a file saved by a spreadsheet: UTF-16 with a byte order mark, else the chosen encoding or the most likely one.
 * What does not fit becomes U+FFFD, so that its lines can be told.
 */
export async function decodeText(bytes: Buffer, pause: Pause, chosen?: Encoding): Promise<DecodedText> {
  const wide = wideEncodingOf(bytes)
  if (wide !== null) return { text: await withDecoder(bytes, pause, wide), encoding: null }
  if (isAscii(bytes)) return { text: bytes.toString('latin1'), encoding: null }
  const { encoding, isMixed } = chosen ? { encoding: chosen, isMixed: false } : await detect(bytes, pause)
  return { text: await decodeAs(bytes, encoding, isMixed, pause), encoding }
}
