import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fsyncFolder } from './files.ts'

/** Whether a parsed value is an object, not null or a list. */
export const isJsonObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Members of all objects in a parsed value, at every depth. Recurses as deep as the value is nested. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element === 'object') count += countMembers(element)
    return count
  }
  const object = value as Record<string, unknown>
  for (const name of Object.keys(object)) {
    count += 1
    const member = object[name]
    if (typeof member === 'object') count += countMembers(member)
  }
  return count
}

/** Texts, and the colons between them: each colon outside a text belongs to one member. */
const TEXT_OR_COLON = /"(?:[^"\\]|\\.)*"|:/g

/** Whether an object in this valid JSON text has a member twice: parsing kept fewer members than were written. */
export function hasRepeatedMember(json: string, parsed: unknown): boolean {
  let colons = 0
  for (const [found] of json.matchAll(TEXT_OR_COLON)) if (found === ':') colons += 1
  return colons !== countMembers(parsed)
}

/** Bounds of a JSON text. */
export interface JsonLimits {
  /** Nesting depth of lists and objects. */
  readonly levels: number
  /** Members of one object. */
  readonly members: number
  /** Elements of one list. */
  readonly elements: number
  /** Total number of values. */
  readonly values: number
  /** Bytes of one string between its quotes, as written. */
  readonly textBytes: number
}

/** The JSON text exceeds a limit; the rest of it was not read. */
export class JsonLimitExceeded extends Error {
  override readonly name = 'JsonLimitExceeded'
  constructor(readonly limit: keyof JsonLimits) {
    super(`the JSON text exceeds its limit of ${limit}`)
  }
}

/** An object has a member twice. Parsers of other programs would disagree about its value. */
export class RepeatedMember extends SyntaxError {
  override readonly name = 'RepeatedMember'
}

/** Bytes that are scanned or parsed without a pause: at most about 3 ms each. */
const STRETCH_BYTES = 16_384

/**
 * Parses JSON text in UTF-8 with the result of JSON.parse. A long text is parsed in pieces, with `pause` awaited before each.
 * Limits are enforced before the values beyond them are created.
 * @throws JsonLimitExceeded, SyntaxError, RepeatedMember
 */
export async function parseBoundedJson(
  bytes: Buffer,
  limits: JsonLimits,
  pause: () => Promise<void>,
): Promise<unknown> {
  const reader = new Reader(withoutByteOrderMark(bytes), limits)
  while (!reader.isAtEnd()) {
    if (bytes.length > STRETCH_BYTES) await pause()
    reader.read(STRETCH_BYTES)
  }
  return reader.end()
}

const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c]
const [LIST_BEGIN, LIST_END, OBJECT_BEGIN, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d]

/** An open list or object. */
interface Level {
  isList: boolean
  /** Offset of its bracket. */
  begin: number
  /** Commas so far. */
  commas: number
  /** Offset of the first member that is not parsed yet. */
  from: number
  /** Offset of the current member. */
  member: number
  /** Value under construction; null while it is short enough to be parsed with its parent. */
  made: unknown[] | Record<string, unknown> | null
  /** Whether the current member is parsed in pieces: under construction by the level below, or complete. */
  part: 'none' | 'begun' | 'made'
  /** Name of that member in an object. */
  name: string
}

/**
 * Tracks brackets, commas and strings only. Long lists and objects are cut into pieces at their own commas; JSON.parse parses each
 * piece and checks its syntax.
 */
class Reader {
  readonly #bytes: Buffer
  readonly #limits: JsonLimits
  /** Levels beyond the depth are reused. */
  readonly #levels: Level[] = []
  #depth = 0
  #at = 0
  #values = 0
  /** Colons outside of texts: members as written. Parsing keeps fewer if an object has one of them twice. */
  #written = 0
  /** Members of parsed objects so far. */
  #members = 0
  /** Offset behind the outermost list or object; -1 until it is closed. */
  #end = -1

  constructor(bytes: Buffer, limits: JsonLimits) {
    this.#bytes = bytes
    this.#limits = limits
  }

  isAtEnd(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** Scans `stretch` bytes, and to the end of a string that crosses that limit. */
  read(stretch: number): void {
    const bytes = this.#bytes
    const until = Math.min(this.#at + stretch, bytes.length)
    let at = this.#at
    while (at < until) {
      const byte = bytes[at++]
      if (byte === QUOTE) at = this.#endOfText(at)
      else if (byte === COMMA) this.#comma(at - 1)
      else if (byte === COLON) this.#written += 1
      else if (byte === LIST_BEGIN || byte === OBJECT_BEGIN) this.#open(byte === LIST_BEGIN, at - 1)
      else if (byte === LIST_END || byte === OBJECT_END) this.#close(byte === LIST_END, at)
    }
    this.#at = at
  }

  end(): unknown {
    if (this.#depth > 0) throw malformed()
    const made = this.#levels[0]?.made ?? null
    if (made === null) {
      const value: unknown = JSON.parse(this.#bytes.toString())
      this.#members = countMembers(value)
      return this.#withoutRepetition(value)
    }
    this.#assertBlank(0, this.#levels[0]?.begin ?? 0)
    this.#assertBlank(this.#end, this.#bytes.length)
    return this.#withoutRepetition(made)
  }

  #withoutRepetition(value: unknown): unknown {
    if (this.#members !== this.#written) throw new RepeatedMember('an object has a member twice')
    return value
  }

  #endOfText(from: number): number {
    const bytes = this.#bytes
    const until = Math.min(bytes.length, from + this.#limits.textBytes + 1)
    for (let at = from; at < until; at++) {
      if (bytes[at] === QUOTE) return at + 1
      if (bytes[at] === BACKSLASH) at++
    }
    throw until === bytes.length ? malformed() : new JsonLimitExceeded('textBytes')
  }

  #count(): void {
    this.#values += 1
    if (this.#values > this.#limits.values) throw new JsonLimitExceeded('values')
  }

  #open(isList: boolean, begin: number): void {
    if (this.#end >= 0) throw malformed()
    if (this.#depth === this.#limits.levels) throw new JsonLimitExceeded('levels')
    this.#count()
    this.#levels[this.#depth] ??= { ...UNUSED }
    const level = this.#levels[this.#depth] as Level
    level.isList = isList
    level.begin = begin
    level.commas = 0
    level.from = begin + 1
    level.member = begin + 1
    level.made = null
    level.part = 'none'
    this.#depth += 1
  }

  #comma(at: number): void {
    const level = this.#levels[this.#depth - 1]
    if (!level || this.#depth === 0) throw malformed()
    level.commas += 1
    const most = level.isList ? 'elements' : 'members'
    if (level.commas >= this.#limits[most]) throw new JsonLimitExceeded(most)
    this.#count()
    if (level.part === 'made') this.#endPart(level, at)
    else if (at - level.from > STRETCH_BYTES) this.#cut(level, at)
    level.member = at + 1
  }

  /** Only white space may stand between a member that was parsed in pieces and its comma. */
  #endPart(level: Level, at: number): void {
    this.#assertBlank(level.from, at)
    level.from = at + 1
    level.part = 'none'
  }

  /** Parses the members of a level so far. Its parents can then no longer be parsed as a whole. */
  #cut(level: Level, at: number): void {
    for (let depth = 1; depth < this.#depth; depth++)
      this.#beginPart(this.#levels[depth - 1] as Level, this.#levels[depth] as Level)
    this.#append(level, at)
    level.from = at + 1
  }

  #beginPart(level: Level, inner: Level): void {
    if (level.part === 'begun') return
    if (level.member > level.from) this.#append(level, level.member - 1)
    if (level.isList) this.#assertBlank(level.member, inner.begin)
    else level.name = this.#nameIn(level.member, inner.begin)
    level.made ??= level.isList ? [] : {}
    level.part = 'begun'
  }

  #nameIn(from: number, to: number): string {
    const [name] = Object.keys(JSON.parse(`{${this.#bytes.toString('utf8', from, to)}[]}`))
    if (name === undefined) throw malformed()
    return name
  }

  #close(isList: boolean, end: number): void {
    const level = this.#levels[this.#depth - 1]
    if (!level || this.#depth === 0 || level.isList !== isList) throw malformed()
    this.#depth -= 1
    if (this.#depth === 0) this.#end = end
    if (level.made === null) return
    if (level.part === 'made') this.#assertBlank(level.from, end - 1)
    else this.#append(level, end - 1)
    const outer = this.#levels[this.#depth - 1]
    if (!outer || this.#depth === 0) return
    if (outer.isList) (outer.made as unknown[]).push(level.made)
    else {
      this.#members += 1
      this.#define(outer.made as Record<string, unknown>, outer.name, level.made)
    }
    outer.from = end
    outer.part = 'made'
  }

  /** Parses the members of a level from `from` to `to`: at least one, since a comma is neither first nor last. */
  #append(level: Level, to: number): void {
    const text = this.#bytes.toString('utf8', level.from, to)
    if (level.isList) {
      const piece = JSON.parse(`[${text}]`) as unknown[]
      if (piece.length === 0) throw malformed()
      this.#members += countMembers(piece)
      level.made ??= []
      const list = level.made as unknown[]
      for (const element of piece) list.push(element)
    } else {
      const piece = JSON.parse(`{${text}}`) as Record<string, unknown>
      const names = Object.keys(piece)
      if (names.length === 0) throw malformed()
      level.made ??= {}
      const object = level.made as Record<string, unknown>
      this.#members += countMembers(piece)
      for (const name of names) this.#define(object, name, piece[name])
    }
  }

  /** An earlier piece of the object may have the member already. */
  #define(object: Record<string, unknown>, name: string, value: unknown): void {
    if (Object.hasOwn(object, name)) this.#members -= 1
    // An assignment to `__proto__` would change what the object inherits.
    if (name === '__proto__')
      Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
    else object[name] = value
  }

  #assertBlank(from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const byte = this.#bytes[at]
      if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) throw malformed()
    }
  }
}

const UNUSED: Level = {
  isList: true,
  begin: 0,
  commas: 0,
  from: 0,
  member: 0,
  made: null,
  part: 'none',
  name: '',
}

const malformed = (): SyntaxError => new SyntaxError('the text is no JSON')

/** Longer than any line of these files. */
const TAIL_BYTES = 16_384
const LINE_FEED = 0x0a

/** Appends lines to a JSON Lines file and syncs it. Truncates an unfinished last line first. */
export async function appendLines(path: string, values: readonly object[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const file = await open(path, 'a+')
  try {
    const { bytes } = await tailOf(file)
    await file.truncate(bytes)
    await file.writeFile(values.map((value) => `${JSON.stringify(value)}\n`).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
  await fsyncFolder(dirname(path))
}

/** The last complete line, parsed; null for a missing or empty file. @throws SyntaxError on invalid JSON */
export async function lastLine(path: string): Promise<unknown> {
  const file = await openIfThere(path)
  try {
    const last = file && (await tailOf(file)).last
    return last ? JSON.parse(last) : null
  } finally {
    await file?.close()
  }
}

/** All complete lines, parsed one by one; none for a missing file. @throws SyntaxError on invalid JSON */
export async function* eachLine(path: string): AsyncGenerator<unknown> {
  for await (const line of eachText(path)) yield JSON.parse(line)
}

/** All complete lines, without their line feeds; none for a missing file. */
export async function* eachText(path: string): AsyncGenerator<string> {
  const file = await openIfThere(path)
  if (!file) return
  let rest = ''
  for await (const chunk of file.createReadStream({ encoding: 'utf8' })) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
}

/** All lines of a short file at once. */
export async function readLines(path: string): Promise<unknown[]> {
  const values: unknown[] = []
  for await (const value of eachLine(path)) values.push(value)
  return values
}

/** The last complete line, and the length of the file up to its end. */
async function tailOf(file: FileHandle): Promise<{ last: string | null; bytes: number }> {
  const { size } = await file.stat()
  const start = Math.max(0, size - TAIL_BYTES)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start)
  const end = buffer.subarray(0, bytesRead).lastIndexOf(LINE_FEED)
  if (end < 0 && start > 0) throw new Error('JSON Lines file ends in a line longer than 16 KiB')
  if (end < 0) return { last: null, bytes: 0 }
  // lastIndexOf counts a negative start from the end.
  const before = end === 0 ? -1 : buffer.lastIndexOf(LINE_FEED, end - 1)
  return { last: buffer.subarray(before + 1, end).toString(), bytes: start + end + 1 }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
