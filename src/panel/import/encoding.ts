import { isAscii, isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'

/** Code pages of one byte for each character: of Windows, of DOS and *CSV (MS-DOS)*, and of old Macs. */
const CODE_PAGES = ['windows-1252', 'cp850', 'macroman'] as const
type CodePage = (typeof CODE_PAGES)[number]

/** Stands for what could not be decoded. */
export const UNREADABLE = '\uFFFD'

/** Characters by byte. Bytes that a page does not define are control characters, as WHATWG decodes them. */
const TABLES: Readonly<Record<CodePage, readonly string[]>> = Object.fromEntries(
  CODE_PAGES.map((page) => [
    page,
    Array.from({ length: 256 }, (_, byte) => {
      const character = iconv.decode(Buffer.of(byte), page)
      return character === UNREADABLE ? String.fromCharCode(byte) : character
    }),
  ]),
) as Record<CodePage, string[]>

const fromCodePage = (bytes: Buffer, page: CodePage): string =>
  bytes.toString('latin1').replace(/[\x80-\xff]/g, (byte) => TABLES[page][byte.charCodeAt(0)] as string)

const charactersOf = (page: CodePage, first: number, last: number): string =>
  [...new Set(TABLES[page].slice(first, last + 1))].join('').replace(/[\]\\^-]/g, '\\$&')

/** Bytes by character; control characters stand for themselves, because some programs write them so. */
const BYTES: Readonly<Record<CodePage, ReadonlyMap<string, number>>> = Object.fromEntries(
  CODE_PAGES.map((page) => [
    page,
    new Map([
      ...Array.from({ length: 32 }, (_, at) => [String.fromCharCode(0x80 + at), 0x80 + at] as const),
      ...TABLES[page].map((character, byte) => [character, byte] as const),
    ]),
  ]),
) as unknown as Record<CodePage, ReadonlyMap<string, number>>

/** Letters of UTF-8, read as a code page: `Ã£`, `├ú`, `√£`. */
const MISREAD: Readonly<Record<CodePage, RegExp>> = Object.fromEntries(
  CODE_PAGES.map((page) => {
    const follower = `[\x80-\x9f${charactersOf(page, 0x80, 0xbf)}]`
    const [two, three] = [charactersOf(page, 0xc2, 0xdf), charactersOf(page, 0xe0, 0xef)]
    return [page, new RegExp(`[${two}]${follower}|[${three}]${follower}{2}`, 'g')]
  }),
) as Record<CodePage, RegExp>

/** The text with each letter of UTF-8 that was read as a code page replaced. */
const replaceMisread = (text: string, page: CodePage, replacementOf: (letter: string) => string): string =>
  text.replace(MISREAD[page], replacementOf)

/** The text before its UTF-8 was read as a code page and saved as UTF-8 again. */
const fromMisread = (text: string, page: CodePage): string =>
  replaceMisread(text, page, (letter) => {
    const bytes = Buffer.from([...letter].map((one) => BYTES[page].get(one) ?? 0))
    const right = bytes.toString('utf8')
    return right.includes(UNREADABLE) ? letter : right
  })

/** Letters of Portuguese beyond ASCII. */
const PORTUGUESE = new Set('áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇªº')
/** Letters of foreign names in Portuguese texts that no confusion of code pages makes of Portuguese ones. */
const FOREIGN = new Set('ñÑöèëûï')
/** Signs that a wrong code page makes of letters, and that no name of a product or person has. */
const WRONG_SIGN = /[\x80-\x9f‚ƒ„†‡ˆ‹›˜¢¤¦¬¶¨¸\u2190-\u25ff\ufb01\ufb02ˇ˘˙˚˝˛ı\ufffd]/
/** Signs that are right between words, and wrong within one. */
const SIGN = /[¡£¥§«»¿±µ¼½¾÷×·‰€™©®°²³¹\xa0“”–—…•]/

const isLetter = (text: string): boolean => /\p{L}/u.test(text) && !/[ªº]/.test(text)
const isLower = (text: string): boolean => /\p{Ll}/u.test(text)
const isUpper = (text: string): boolean => /\p{Lu}/u.test(text)

/** Whether a letter stands where Portuguese has it: `õ` before `e`, `ç` before `a`, `o` and `u`. */
function isInPlace(letter: string, before: string, after: string): boolean {
  switch (letter.toLowerCase()) {
    case 'õ':
      return /^[es]/i.test(after)
    case 'ã':
      return !isLetter(after) || /^[oeisn]/i.test(after)
    case 'ç':
      return /[aouãõáâóôú]/i.test(after) && /[\p{L}]/u.test(before) && !/[bdfghjkmpqtvwxz]/i.test(before)
    case 'à':
      return !isLetter(before) && (!isLetter(after) || /^[sq]/i.test(after))
    default:
      return true
  }
}

/** A capital behind a small letter or before one within capitals, or a small letter within capitals. */
const hasOddCase = (letter: string, earlier: string, before: string, after: string): boolean =>
  isUpper(letter)
    ? isLower(before) || (isUpper(before) && isLower(after))
    : isUpper(after) || (isUpper(before) && isUpper(earlier))

/** How likely a character beyond ASCII is in a Portuguese text; negative if its code page is probably another. */
function weightOf(character: string, earlier: string, before: string, after: string): number {
  if (/[\x80-\x9f]/.test(character) || character === UNREADABLE) return -4
  if (character === 'ª' || character === 'º') return /[\dnaors.]/i.test(before) ? 2 : -1
  if (isLetter(character)) {
    if (hasOddCase(character, earlier, before, after)) return -3
    if (!PORTUGUESE.has(character)) return FOREIGN.has(character) && isLetter(before) ? (character === 'ñ' ? 1 : 0) : -2
    if (!isLetter(before) && !isLetter(after)) return /[àéóÀÉÓ]/.test(character) ? 1 : -2
    if (!isInPlace(character, before, after) || /\d/.test(before)) return -1
    if (/[ãõ]/i.test(character) && isLetter(after)) return 3
    return isLower(character) && !isLetter(before) ? 1 : 2
  }
  if (WRONG_SIGN.test(character)) return -3
  const isWithinWord = isLetter(before) && isLetter(after)
  if (SIGN.test(character)) return isWithinWord ? -2 : /[¡£¥§«»¿µ·‰\xa0]/.test(character) ? 0 : 1
  return character === '‘' && isWithinWord ? -1 : 0
}

/** Sum over the characters beyond ASCII; the decoding with the highest score is the most likely. */
function portugueseScore(text: string): number {
  let score = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charCodeAt(at) < 0x80) continue
    score += weightOf(text.charAt(at), text.charAt(at - 2), text.charAt(at - 1), text.charAt(at + 1))
  }
  return score
}

/** Texts are looked at up to here. */
const MAX_LENGTH = 2_000

/** The first word with a letter that no Portuguese word has, as a wrong code page makes them; null without one. */
export function oddWord(text: string): string | null {
  for (let at = 0; at < Math.min(text.length, MAX_LENGTH); at++) {
    if (text.charCodeAt(at) < 0x80) continue
    const [character, earlier, before, after] = [0, -2, -1, 1].map((by) => text.charAt(at + by)) as [
      string,
      string,
      string,
      string,
    ]
    const isOdd = isLetter(character)
      ? !(PORTUGUESE.has(character) || FOREIGN.has(character)) || hasOddCase(character, earlier, before, after)
      : WRONG_SIGN.test(character) || (SIGN.test(character) && isLetter(before) && isLetter(after))
    if (isOdd) return wordAt(text, at)
  }
  return null
}

/** The word around a position, 20 characters of it at most to each side. */
function wordAt(text: string, at: number): string {
  const [before, after] = [text.slice(Math.max(at - 20, 0), at), text.slice(at, at + 20)]
  return `${/\S*$/.exec(before)?.[0] ?? ''}${/^\S*/.exec(after)?.[0] ?? ''}`
}

/** Yields to other requests; awaited after each slice of long work (src/lib/fair-sharing.ts). */
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
export function detectWideEncoding(bytes: Buffer): 'utf-16le' | 'utf-16be' | null {
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

/** Encoding by the score of a sample in each candidate. `isMixed`: some of the file is UTF-8, some is not. */
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
  const wide = detectWideEncoding(bytes)
  if (wide !== null) return { text: await withDecoder(bytes, pause, wide), encoding: null }
  if (isAscii(bytes)) return { text: bytes.toString('latin1'), encoding: null }
  const { encoding, isMixed } = chosen ? { encoding: chosen, isMixed: false } : await detect(bytes, pause)
  return { text: await decodeAs(bytes, encoding, isMixed, pause), encoding }
}
