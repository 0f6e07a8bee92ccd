import { Socket, type SocketConstructorOpts } from 'node:net'
import pg, { type CustomTypesConfig } from 'pg'
import { Parser } from 'pg-protocol/dist/parser.js'
import { type ByteRange, bufferPool } from '#lib/fair-sharing.ts'

/** Element types that are sent in binary. Other types are sent as text, and the statement casts the array. */
export type ElementType = 'bigint' | 'integer' | 'boolean' | 'bytea' | 'json' | 'text'

const OIDS: { readonly [T in ElementType]: number } = {
  bigint: 20,
  integer: 23,
  boolean: 16,
  bytea: 17,
  json: 114,
  text: 25,
}

const ARRAY_HEAD_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
const TWO_TO_32 = 0x1_0000_0000

/**
 * An array parameter `$n::type[]` in binary format. A text literal would need escaping here and parsing there, most of
 * the cost of sending arrays of JSON. Numbers must be safe integers; json is text.
 */
export function binaryArray(type: ElementType, items: readonly unknown[]): Buffer {
  let bytes = ARRAY_HEAD_BYTES + items.length * LENGTH_BYTES
  let hasNull = 0
  for (const item of items) {
    if (item === null || item === undefined) hasNull = 1
    else bytes += lengthOf(type, item)
  }
  const array = Buffer.allocUnsafe(bytes)
  array.writeInt32BE(1, 0)
  array.writeInt32BE(hasNull, 4)
  array.writeInt32BE(OIDS[type], 8)
  array.writeInt32BE(items.length, 12)
  array.writeInt32BE(1, 16)
  let at = ARRAY_HEAD_BYTES
  for (const item of items) {
    if (item === null || item === undefined) at = array.writeInt32BE(NULL_LENGTH, at)
    else {
      const end = write(type, item, array, at + LENGTH_BYTES)
      array.writeInt32BE(end - at - LENGTH_BYTES, at)
      at = end
    }
  }
  return array
}

function lengthOf(type: ElementType, item: unknown): number {
  if (type === 'bigint') return 8
  if (type === 'integer') return 4
  if (type === 'boolean') return 1
  return type === 'bytea' ? (item as Buffer).length : Buffer.byteLength(item as string)
}

/** Returns the end of the item. */
function write(type: ElementType, item: unknown, array: Buffer, at: number): number {
  if (type === 'bigint') {
    const high = Math.floor((item as number) / TWO_TO_32)
    array.writeInt32BE(high, at)
    return array.writeUInt32BE((item as number) - high * TWO_TO_32, at + 4)
  }
  if (type === 'integer') return array.writeInt32BE(item as number, at)
  if (type === 'boolean') return array.writeUInt8(item ? 1 : 0, at)
  if (type === 'bytea') return at + (item as Buffer).copy(array, at)
  return at + array.write(item as string, at)
}

/** Members that the driver's types omit. */
interface Message {
  readonly name: string
  readonly length: number
}
interface RowDescription extends Message {
  readonly fields: { format: 'text' | 'binary' }[]
}
interface Connection {
  attachListeners(stream: NodeJS.ReadableStream): void
  emit(event: string, message: Message): boolean
}
type MessageParser = new () => { handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message }

const CODE_BYTES = 1
/** Code and length. The length counts itself and the payload. */
const HEAD_BYTES = 5
const DATA_ROW = 'D'.charCodeAt(0)
const COUNT_BYTES = 2
const NOTHING = Buffer.alloc(0)

/** A row in Postgres's wire format with binary columns: a range of a block that belongs to one answer. */
export type RowBytes = ByteRange<Buffer<ArrayBuffer>>

/** Block sizes for the first rows of an answer and for the others: most answers have few rows. */
const FIRST_BLOCK_BYTES = 8_192
const BLOCK_BYTES = 65_536

/** Blocks in use, until their rows are released. */
const lent = new WeakSet<Buffer>()

/**
 * The driver's parser decodes all values as UTF-8 and reports each row. For statements that request binary rows, this
 * reader copies the rows undecoded into blocks of their answer, because the next read overwrites the socket's buffer,
 * and reports them together. It also copies the beginning of an incomplete message, which the driver's parser would
 * leave in that buffer.
 */
class MessageReader extends (Parser as unknown as MessageParser) {
  #isBinary = false
  /** Rows of the answer that are not reported yet. */
  #rows: RowBytes[] = []
  #block = NOTHING
  #used = 0
  /** A message that is split between reads: first its head, then room for all of it. */
  #begun = NOTHING
  #filled = 0

  read(chunk: Buffer, onMessage: (message: Message) => void): void {
    let at = this.#filled === 0 ? this.#readWhole(chunk, 0, onMessage) : 0
    while (at < chunk.length) {
      if (this.#filled === 0) this.#begun = Buffer.allocUnsafe(HEAD_BYTES)
      const copied = chunk.copy(this.#begun, this.#filled, at)
      at += copied
      this.#filled += copied
      if (this.#filled < this.#begun.length) return
      const end = endOf(this.#begun, 0)
      if (end > this.#filled) {
        this.#begun = Buffer.concat([this.#begun], end)
        continue
      }
      this.#readWhole(this.#begun, 0, onMessage)
      this.#filled = 0
      at = this.#readWhole(chunk, at, onMessage)
    }
  }

  /** Parses complete messages without copying them. @returns the offset of the first incomplete message */
  #readWhole(bytes: Buffer, from: number, onMessage: (message: Message) => void): number {
    let at = from
    for (let end = endOf(bytes, at); end <= bytes.length; end = endOf(bytes, at)) {
      const code = bytes[at] as number
      if (this.#isBinary && code === DATA_ROW) {
        end = endOfRows(bytes, at)
        this.#keepRows(bytes, at, end)
      } else {
        this.#tellRows(onMessage)
        onMessage(this.handlePacket(at + HEAD_BYTES, code, end - at - CODE_BYTES, bytes))
      }
      at = end
    }
    return at
  }

  override handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message {
    const message = super.handlePacket(offset, code, length, bytes)
    if (message.name === 'rowDescription') {
      const { fields } = message as RowDescription
      this.#isBinary = fields[0]?.format === 'binary'
      this.#block = NOTHING
      this.#used = 0
      // Otherwise the driver would copy the rows.
      for (const field of fields) field.format = 'text'
    }
    return message
  }

  #keepRows(bytes: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.#used + length > this.#block.length) {
      this.#block = bufferPool.take(Math.max(length, this.#block === NOTHING ? FIRST_BLOCK_BYTES : BLOCK_BYTES))
      this.#used = 0
      lent.add(this.#block)
    }
    bytes.copy(this.#block, this.#used, start, end)
    const used = this.#used + length
    while (this.#used < used) {
      const end = endOf(this.#block, this.#used)
      this.#rows.push({ bytes: this.#block, start: this.#used + HEAD_BYTES, end })
      this.#used = end
    }
  }

  /** Reports all rows as a single row with one column. */
  #tellRows(onMessage: (message: Message) => void): void {
    if (this.#rows.length === 0) return
    onMessage({ name: 'dataRow', length: 0, fields: [this.#rows] } as Message)
    this.#rows = []
  }
}

/** End of the message at this offset; infinite if its head is incomplete. */
const endOf = (bytes: Buffer, at: number): number =>
  bytes.length < at + HEAD_BYTES ? Number.POSITIVE_INFINITY : at + CODE_BYTES + bytes.readUInt32BE(at + CODE_BYTES)

/** End of the last complete row from this offset on. */
function endOfRows(bytes: Buffer, start: number): number {
  let at = start
  for (let end = endOf(bytes, at); end <= bytes.length && bytes[at] === DATA_ROW; end = endOf(bytes, at)) at = end
  return at
}

/** Bytes per read of the socket. */
const READ_BYTES = 65_536

/** A connection that can return rows as bytes, and reads into the same memory each time. */
export class ByteClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    const reader = new MessageReader()
    const read = (bytes: Buffer) =>
      reader.read(bytes, (message) =>
        connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message),
      )
    // For TLS the driver wraps the socket in another one, which reads in its own way.
    super({
      ...config,
      stream: (({ ssl }: pg.ClientConfig) => (ssl ? new Socket() : readingSocket(read))) as () => Socket,
    })
    const connection = this.connection as unknown as Connection
    connection.attachListeners = (stream) => stream.on('data', read)
  }
}

/** A socket that calls `read` instead of emitting `data`. */
function readingSocket(read: (bytes: Buffer) => void): Socket {
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
  const onread = {
    buffer,
    callback(length: number): true {
      read(buffer.subarray(0, length))
      return true
    },
  }
  return new Socket({ onread } as SocketConstructorOpts)
}

/** Rows of an answer that were reported together. */
export type RowsTogether = readonly [rows: RowBytes[]]

const AS_THEY_ARE: CustomTypesConfig = { getTypeParser: () => (rows: RowBytes[]) => rows }

/**
 * Requests RowBytes for a statement (`rowsIn`). Records that are only passed on, such as those of a page, are not
 * decoded and encoded again, and of hundreds of rows only the columns in use are read.
 */
export const asRowBytes = <S extends { readonly text: string }>(statement: S) => ({
  ...statement,
  // Otherwise a statement without name and values would be answered in text format.
  queryMode: 'extended' as const,
  binary: true,
  rowMode: 'array' as const,
  types: AS_THEY_ARE,
})

/** All rows of an answer. */
export const rowsIn = ({ rows }: { readonly rows: readonly RowsTogether[] }): RowBytes[] =>
  rows.length === 1 && rows[0] ? rows[0][0] : rows.flatMap(([together]) => together)

/** Returns the memory of an answer to the pool and empties `rows`. Copy all needed values first. */
export function release(rows: RowBytes[]): void {
  for (const { bytes } of rows.splice(0)) if (lent.delete(bytes)) bufferPool.giveBack(bytes)
}

/** A column by position; null for SQL NULL. */
export function columnAt({ bytes, start: row }: RowBytes, position: number): ByteRange | null {
  let at = row + COUNT_BYTES
  for (let column = 0; column < position; column++) at += LENGTH_BYTES + Math.max(0, bytes.readInt32BE(at))
  const length = bytes.readInt32BE(at)
  const start = at + LENGTH_BYTES
  return length === NULL_LENGTH ? null : { bytes, start, end: start + length }
}

const EPOCH_MS = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000
const MICROSECONDS = 1_000n

/** Readers of columns by type. They return the same values as a pool does for text columns. */
export const columnReaders = {
  bigint({ bytes, start }: ByteRange): number {
    const value = Number(bytes.readBigInt64BE(start))
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is beyond the integers that can be told apart`)
    return value
  },
  oid: ({ bytes, start }: ByteRange): number => bytes.readUInt32BE(start),
  boolean: ({ bytes, start }: ByteRange): boolean => bytes[start] === 1,
  text: ({ bytes, start, end }: ByteRange): string => bytes.toString('utf8', start, end),
  /** UTC, truncated to milliseconds. */
  timestamptz({ bytes, start }: ByteRange): string {
    const time = bytes.readBigInt64BE(start)
    const [rest, milliseconds] = [time % MICROSECONDS, time / MICROSECONDS]
    return new Date(EPOCH_MS + Number(rest < 0n ? milliseconds - 1n : milliseconds)).toISOString()
  },
  date: ({ bytes, start }: ByteRange): string =>
    new Date(EPOCH_MS + DAY_MS * bytes.readInt32BE(start)).toISOString().slice(0, 10),
  uuid: ({ bytes, start, end }: ByteRange): string =>
    bytes.toString('hex', start, end).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
}
