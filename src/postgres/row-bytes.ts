import pg, { type CustomTypesConfig } from 'pg'
import { Parser } from 'pg-protocol/dist/parser.js'

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

/**
 * The driver's parser decodes all values as UTF-8. Here the rows of a statement that asks for binary ones stay as they are: parts
 * of what was read from the socket, which nobody writes to again.
 */
class MessageReader extends (Parser as unknown as MessageParser) {
  #isBinary = false
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
      onMessage(this.handlePacket(at + HEAD_BYTES, bytes[at] as number, end - at - CODE_BYTES, bytes))
      at = end
    }
    return at
  }

  override handlePacket(offset: number, code: number, length: number, bytes: Buffer): Message {
    if (this.#isBinary && code === DATA_ROW)
      return { name: 'dataRow', length, fields: [bytes.subarray(offset, offset + length - LENGTH_BYTES)] } as Message
    const message = super.handlePacket(offset, code, length, bytes)
    if (message.name === 'rowDescription') {
      const { fields } = message as RowDescription
      this.#isBinary = fields[0]?.format === 'binary'
      // Else the driver would copy what it is given.
      for (const field of fields) field.format = 'text'
    }
    return message
  }
}

/** Of the message that begins there; nobody knows it without the head. */
const endOf = (bytes: Buffer, at: number): number =>
  bytes.length < at + HEAD_BYTES ? Number.POSITIVE_INFINITY : at + CODE_BYTES + bytes.readUInt32BE(at + CODE_BYTES)

/** A connection that can hand over rows as bytes. */
export class ByteClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    const connection = this.connection as unknown as Connection
    connection.attachListeners = (stream) => {
      const reader = new MessageReader()
      stream.on('data', (chunk: Buffer) =>
        reader.read(chunk, (message) =>
          connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message),
        ),
      )
    }
  }
}

/** A row as Postgres sends it, columns in binary. */
export type RowBytes = readonly [row: Buffer]

const AS_IT_IS: CustomTypesConfig = { getTypeParser: () => (row: Buffer) => row }

/**
 * The statement, whose answer has RowBytes for rows: of what is only passed on, as the records of a page, nothing is decoded and
 * encoded again, and of hundreds of rows only the columns that somebody asks for are looked at.
 */
export const asRowBytes = <S extends { readonly text: string }>(statement: S) => ({
  ...statement,
  // Otherwise what has neither name nor values would be answered as text.
  queryMode: 'extended' as const,
  binary: true,
  rowMode: 'array' as const,
  types: AS_IT_IS,
})

/** A column by its position; null where there is no value. */
export function columnAt([row]: RowBytes, position: number): Buffer | null {
  let at = COUNT_BYTES
  for (let column = 0; column < position; column++) at += LENGTH_BYTES + Math.max(0, row.readInt32BE(at))
  const length = row.readInt32BE(at)
  return length === NULL_LENGTH ? null : row.subarray(at + LENGTH_BYTES, at + LENGTH_BYTES + length)
}

const EPOCH_MS = Date.UTC(2000, 0, 1)
const DAY_MS = 86_400_000
const MICROSECONDS = 1_000n

/** Readers of columns by type, which give what a pool gives of the same column as text. */
export const columnOf = {
  bigint(bytes: Buffer): number {
    const value = Number(bytes.readBigInt64BE())
    if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is beyond the integers that can be told apart`)
    return value
  },
  oid: (bytes: Buffer): number => bytes.readUInt32BE(),
  boolean: (bytes: Buffer): boolean => bytes[0] === 1,
  text: (bytes: Buffer): string => bytes.toString(),
  /** UTC, cut off to milliseconds. */
  timestamptz(bytes: Buffer): string {
    const time = bytes.readBigInt64BE()
    const [rest, milliseconds] = [time % MICROSECONDS, time / MICROSECONDS]
    return new Date(EPOCH_MS + Number(rest < 0n ? milliseconds - 1n : milliseconds)).toISOString()
  },
  date: (bytes: Buffer): string => new Date(EPOCH_MS + DAY_MS * bytes.readInt32BE()).toISOString().slice(0, 10),
  uuid: (bytes: Buffer): string => bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
}
