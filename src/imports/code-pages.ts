import iconv from 'iconv-lite'

/** Code pages of one byte for each character: of Windows, of DOS and *CSV (MS-DOS)*, and of old Macs. */
export const CODE_PAGES = ['windows-1252', 'cp850', 'macroman'] as const
export type CodePage = (typeof CODE_PAGES)[number]

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

export const fromCodePage = (bytes: Buffer, page: CodePage): string =>
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
export const replaceMisread = (text: string, page: CodePage, replacementOf: (letter: string) => string): string =>
  text.replace(MISREAD[page], replacementOf)

/** The text before its UTF-8 was read as a code page and saved as UTF-8 again. */
export const fromMisread = (text: string, page: CodePage): string =>
  replaceMisread(text, page, (letter) => {
    const bytes = Buffer.from([...letter].map((one) => BYTES[page].get(one) ?? 0))
    const right = bytes.toString('utf8')
    return right.includes(UNREADABLE) ? letter : right
  })
