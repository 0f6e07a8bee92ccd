import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { Vault } from '#crypto/vault.ts'
import type { Envelope } from '#ledger/command.ts'
import { StepRefused } from '#lib/errors.ts'
import { eachText } from '#lib/json.ts'

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

/** A row, of columns in Postgres's text, or an event. */
const FilePart = z.union([
  z.strictObject({ table: z.string(), row: z.record(z.string(), z.string().nullable()) }),
  z.strictObject({ event: z.custom<Envelope>((event) => typeof event === 'object') }),
])
export type FilePart = z.infer<typeof FilePart>

/** Last line: the number of lines before it, and their SHA-256 in hex, also sealed by the master key. */
const Trailer = z.strictObject({ count: z.int().positive(), sha256: z.string(), seal: z.base64() })

const contextOf = (header: FileHeader): string => `company_export/${header.export}`

/** Characters that are written at once. */
const WRITTEN = 65_536

/** Writes lines; `end` adds the last one. */
export function createFileWriter(write: (text: string) => Promise<void>, vault: Vault, header: FileHeader) {
  const hash = createHash('sha256')
  let count = 0
  let unwritten = ''
  return {
    async line(value: FileHeader | FilePart): Promise<void> {
      const text = `${JSON.stringify(value)}\n`
      hash.update(text)
      count += 1
      unwritten += text
      if (unwritten.length < WRITTEN) return
      await write(unwritten)
      unwritten = ''
    },
    async end(): Promise<void> {
      const sha256 = hash.digest('hex')
      const seal = vault.seal(Buffer.from(sha256), contextOf(header)).toString('base64')
      await write(`${unwritten}${JSON.stringify({ count, sha256, seal } satisfies z.infer<typeof Trailer>)}\n`)
    },
  }
}

export const brokenFile = (message: string): StepRefused => new StepRefused('broken_file', message)

/** @throws StepRefused */
function parsed<T>(schema: z.ZodType<T>, line: string | undefined, what: string): T {
  try {
    return schema.parse(JSON.parse(line ?? ''))
  } catch {
    throw brokenFile(`this is no whole file of a company: ${what} cannot be read`)
  }
}

/** @throws StepRefused */
export async function readHeader(path: string): Promise<FileHeader> {
  for await (const line of eachText(path)) return parsed(FileHeader, line, 'its first line')
  throw brokenFile('the file is empty, or there is none')
}

/**
 * All parts of the file in order. Count, digest and seal are checked at the end: undo what was done with the parts if it
 * throws. @throws StepRefused
 */
export async function* readParts(path: string, vault: Vault): AsyncGenerator<FilePart> {
  const header = await readHeader(path)
  const hash = createHash('sha256')
  let last: string | undefined
  let count = 0
  for await (const line of eachText(path)) {
    if (last !== undefined) {
      hash.update(`${last}\n`)
      count += 1
      if (count > 1) yield parsed(FilePart, last, `line ${count}`)
    }
    last = line
  }
  const trailer = parsed(Trailer, last, 'its last line, as if it were cut,')
  if (trailer.count !== count) throw brokenFile('the file is cut: lines are missing')
  if (trailer.sha256 !== hash.digest('hex'))
    throw brokenFile('the file was altered: it has not the SHA-256 of its last line')
  if (!isSealed(vault, header, trailer)) throw brokenFile('the file was not made with this MASTER_KEY')
}

function isSealed(vault: Vault, header: FileHeader, { sha256, seal }: z.infer<typeof Trailer>): boolean {
  try {
    return vault.open(Buffer.from(seal, 'base64'), contextOf(header)).toString() === sha256
  } catch {
    return false
  }
}
