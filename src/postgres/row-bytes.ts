import { Socket, type SocketConstructorOpts } from 'node:net'
import pg, { type CustomTypesConfig } from 'pg'
import { Parser } from 'pg-protocol/dist/parser.js'
import { bufferPool } from '#lib/buffer-pool.ts'
import type { ByteRange } from '#lib/bytes.ts'

/** What the driver's own types leave out. */
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
/** Code and length; the length counts itself and what follows. */
const HEAD_BYTES = 5
const DATA_ROW = 'D'.charCodeAt(0)
const LENGTH_BYTES = 4
const COUNT_BYTES = 2
const NULL_LENGTH = -1
const NOTHING = Buffer.alloc(0)

/** A row as Postgres sends it, columns in binary: a part of a block that is its answer's alone. */
export type RowBytes = ByteRange<Buffer<ArrayBuffer>>

/** The first rows of an answer, and the others: most answers have few. */
const FIRST_BLOCK_BYTES = 8_192
const BLOCK_BYTES = 65_536

/** Blocks with rows, until these are released. */
const lent = new WeakSet<Buffer>()

/**
 * The driver's parser decodes all values as UTF-8, and tells of each row. Here the rows of a statement that asks for binary ones stay
 * as they are, copied into blocks of their answer, and are told of together: what is read from the socket is written over by what is
 * read next. So is a message's beginning, which the driver's parser would leave there until the rest comes.
 */
class MessageReader extends (Parser as unknown as MessageParser) {
  #isBinary = false
  /** Of the answer, as far as they were not told of. */
  #rows: RowBytes[] = []
  #block = NOTHING
  #used = 0
  /** A message that began in one piece of what was read and goes on in the next: its head, and then room for all of it. */
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

  /** Messages are read where they are, without copying them. @returns where one begins whose end is not there yet */
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
      // Else the driver would copy what it is given.
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

  /** As one row for the driver, whose only column are they all. */
  #tellRows(onMessage: (message: Message) => void): void {
    if (this.#rows.length === 0) return
    onMessage({ name: 'dataRow', length: 0, fields: [this.#rows] } as Message)
    this.#rows = []
  }
}

/** Of the message that begins there; nobody knows it without the head. */
const endOf = (bytes: Buffer, at: number): number =>
  bytes.length < at + HEAD_BYTES ? Number.POSITIVE_INFINITY : at + CODE_BYTES + bytes.readUInt32BE(at + CODE_BYTES)

/** Of all whole rows from one on. */
function endOfRows(bytes: Buffer, start: number): number {
  let at = start
  for (let end = endOf(bytes, at); end <= bytes.length && bytes[at] === DATA_ROW; end = endOf(bytes, at)) at = end
  return at
}

/** Of what is read from a socket at a time. */
const READ_BYTES = 65_536

/** A connection that can hand over rows as bytes, and reads into the same memory again and again. */
export class ByteClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    const reader = new MessageReader()
    const read = (bytes: Buffer) =>
      reader.read(bytes, (message) =>
        connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message),
      )
    // The driver wraps a socket that is to be encrypted in another one, which reads it in its own way.
    super({
      ...config,
      stream: (({ ssl }: pg.ClientConfig) => (ssl ? new Socket() : readingSocket(read))) as () => Socket,
    })
    const connection = this.connection as unknown as Connection
    connection.attachListeners = (stream) => stream.on('data', read)
  }
}

/** A socket that calls `read` instead of telling of its data. */
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

/** Rows of an answer that came together. */
export type RowsTogether = readonly [rows: RowBytes[]]

const AS_THEY_ARE: CustomTypesConfig = { getTypeParser: () => (rows: RowBytes[]) => rows }

/**
 * The statement, whose answer has RowBytes (`rowsIn`): of what is only passed on, as the records of a page, nothing is decoded and
 * encoded again, and of hundreds of rows only the columns that somebody asks for are looked at.
 */
export const asRowBytes = <S extends { readonly text: string }>(statement: S) => ({
  ...statement,
  // Otherwise what has neither name nor values would be answered as text.
  queryMode: 'extended' as const,
  binary: true,
  rowMode: 'array' as const,
  types: AS_THEY_ARE,
})

/** All rows of an answer. */
export const rowsIn = ({ rows }: { readonly rows: readonly RowsTogether[] }): RowBytes[] =>
  rows.length === 1 && rows[0] ? rows[0][0] : rows.flatMap(([together]) => together)

/** Gives the memory of an answer back, once what is wanted of its rows has been copied; there are none any more afterwards. */
export function release(rows: RowBytes[]): void {
  for (const { bytes } of rows.splice(0)) if (lent.delete(bytes)) bufferPool.giveBack(bytes)
}

/** A column by its position; null where there is no value. */
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

/** Readers of columns by type, which give what a pool gives of the same column as text. */
export const columnOf = {
  bigint({ bytes, start }: ByteRange): number {
    const value = Number(bytes.readBigInt64BE(start))
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is beyond the integers that can be told apart`)
    return value
  },
  oid: ({ bytes, start }: ByteRange): number => bytes.readUInt32BE(start),
  boolean: ({ bytes, start }: ByteRange): boolean => bytes[start] === 1,
  text: ({ bytes, start, end }: ByteRange): string => bytes.toString('utf8', start, end),
  /** UTC, cut off to milliseconds. */
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
