import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import * as z from 'zod'
import type { Vault } from '#crypto/vault.ts'
import type { Envelope } from '#ledger/envelope.ts'

/** First line of a company's file (CELL-2). */
const FileHeader = z.strictObject({
  format: z.literal('tillbook-company/1'),
  /** Id of this export; the note of its import names it. */
  export: z.uuid(),
  /** The installation that exported. */
  installation: z.uuid(),
  /** The first installation of the cells; its ring of keys signs the checkpoints of all of them. */
  family: z.uuid(),
  /** Id of the master key that sealed the secrets in the file. */
  master_key: z.string(),
  /** Version of the program's tables. */
  version: z.string(),
  company_id: z.int().positive(),
  /** Last event, and the row of `ops.ledgers` with it. */
  revision: z.int().nonnegative(),
  hash: z.string(),
  last_recorded_at: z.string(),
  reacted_revision: z.int(),
  ids: z.record(z.string(), z.int()),
})
export type FileHeader = z.infer<typeof FileHeader>

/** Some rows of a table; each value is Postgres's text of it. */
const CarriedRows = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()),
  rows: z.array(z.array(z.string().nullable())),
})
export type CarriedRows = z.infer<typeof CarriedRows>

const Events = z.strictObject({ events: z.array(z.custom<Envelope>((event) => typeof event === 'object')) })

/** Last line: the number of lines before it, and their SHA-256 in hex, also sealed by the master key. */
const Trailer = z.strictObject({ count: z.int().positive(), sha256: z.string(), seal: z.base64() })

/** A line between the first and the last one. */
export type FilePart = CarriedRows | z.infer<typeof Events>

/** The file is none, or is not whole. The message is for operators. */
export class BrokenFile extends Error {
  override readonly name = 'BrokenFile'
}

const contextOf = (id: string): string => `company_export/${id}`

/** Writes lines; `end` adds the last one. */
export function createFileWriter(write: (text: string) => Promise<void>, vault: Vault, header: FileHeader) {
  const hash = createHash('sha256')
  let count = 0
  const line = async (value: object) => {
    const text = `${JSON.stringify(value)}\n`
    hash.update(text)
    count += 1
    await write(text)
  }
  return {
    begin: () => line(header),
    part: (part: FilePart) => line(part),
    async end() {
      const sha256 = hash.digest('hex')
      const seal = vault.seal(Buffer.from(sha256), contextOf(header.export)).toString('base64')
      await write(`${JSON.stringify({ count, sha256, seal } satisfies z.infer<typeof Trailer>)}\n`)
    },
  }
}

/** Longer than any line that is written. */
const MAX_LINE_BYTES = 64 * 1_048_576

/** Lines with their line feeds. @throws BrokenFile if one has no end */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 1_048_576 }) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end + 1)])
      rest = []
      length = 0
      from = end + 1
    }
    rest.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > MAX_LINE_BYTES) throw new BrokenFile('a line of the file is too long')
  }
  if (length > 0) throw new BrokenFile('the file is cut: its last line has no end')
}

function parsed<T>(schema: z.ZodType<T>, line: Buffer | undefined, what: string): T {
  try {
    return schema.parse(JSON.parse(line?.toString() ?? ''))
  } catch {
    throw new BrokenFile(`this is no file of a company: ${what} cannot be read`)
  }
}

/** @throws BrokenFile */
export async function readHeader(path: string): Promise<FileHeader> {
  for await (const line of linesOf(path)) return parsed(FileHeader, line, 'its first line')
  throw new BrokenFile('the file is empty')
}

/**
 * All parts of the file in order. Count, digest and seal are checked at the end: undo what was done with the parts if it
 * throws. @throws BrokenFile
 */
export async function* readParts(path: string, vault: Vault): AsyncGenerator<FilePart> {
  const hash = createHash('sha256')
  let header: FileHeader | null = null
  let last: Buffer | null = null
  let count = 0
  for await (const line of linesOf(path)) {
    if (last) {
      hash.update(last)
      count += 1
      if (header) yield parsed(z.union([CarriedRows, Events]), last, `line ${count}`)
      header ??= parsed(FileHeader, last, 'its first line')
    }
    last = line
  }
  const trailer = parsed(Trailer, last ?? undefined, 'its last line, as if it were cut,')
  if (!header || trailer.count !== count) throw new BrokenFile('the file is cut: lines are missing')
  const sha256 = hash.digest('hex')
  if (trailer.sha256 !== sha256) throw new BrokenFile('the file was altered: it has not the SHA-256 of its last line')
  if (!isSealed(vault, header, trailer)) throw new BrokenFile('the file was not made with this MASTER_KEY')
}

function isSealed(vault: Vault, header: FileHeader, { sha256, seal }: z.infer<typeof Trailer>): boolean {
  try {
    return vault.open(Buffer.from(seal, 'base64'), contextOf(header.export)).toString() === sha256
  } catch {
    return false
  }
}
