import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import type { Vault } from '#crypto/vault.ts'
import type { Database } from '#postgres/database.ts'
import { changeImport, type ImportOwner, readImport, storeImport } from '#privacy/stored-imports.ts'
import type { Pause } from './encoding.ts'
import type { Sheet, SheetLine, SheetOrigin } from './sheet.ts'

export type ImportedKind = 'items' | 'customers' | 'suppliers'

/** A parsed upload. */
export interface ReadFile {
  /** SHA-256 of the file, in hex. */
  readonly digest: string
  readonly sheet: Sheet
}

/** A stored upload; a later upload replaces it. */
export interface KeptFile extends ReadFile {
  readonly uploadedAt: string
  /** The upload itself, to be read again in another encoding; empty if that is not possible. */
  readonly source: Buffer
}

/** JSON text compressed at once, in UTF-16 units. */
const PART = 16_384

/** Compressed JSON lines: digest, origin and column titles, then number, problem and cells of each line. */
function packed({ digest, sheet: { heads, lines, origin } }: ReadFile, pause: Pause): Promise<Buffer> {
  async function* parts() {
    let part = JSON.stringify([digest, origin, ...heads])
    for (const { number, problem, cells } of lines) {
      if (part.length >= PART) {
        yield part
        part = ''
        await pause()
      }
      part += `\n${JSON.stringify([number, problem ?? null, ...cells])}`
    }
    yield part
  }
  return pipeline(parts, createGzip({ level: constants.Z_BEST_SPEED }), buffer)
}

function unpacked(bytes: Buffer, pause: Pause): Promise<ReadFile> {
  return pipeline([bytes], createGunzip().setEncoding('utf8'), async (chunks: AsyncIterable<string>) => {
    const lines: SheetLine[] = []
    let first: PackedHead | null = null
    let rest = ''
    async function read(line: string): Promise<void> {
      await pause()
      if (first) {
        const [number, problem, ...cells] = JSON.parse(line) as [number, string | null, ...string[]]
        lines.push({ number, cells, ...(problem !== null && { problem }) })
      } else first = JSON.parse(line)
    }
    for await (const chunk of chunks) {
      const [begin = '', ...others] = chunk.split('\n')
      rest += begin
      for (const other of others) {
        await read(rest)
        rest = other
      }
    }
    await read(rest)
    const [digest, origin, ...heads] = first ?? NO_HEAD
    return { digest, sheet: { heads, lines, origin } }
  })
}

type PackedHead = readonly [digest: string, origin: SheetOrigin, ...heads: string[]]

const NO_HEAD: PackedHead = ['', { encoding: null, sheet: null, otherSheets: 0 }]

/** The length of the packed table, the table, and the upload. */
async function withSource(file: ReadFile, source: Buffer, pause: Pause): Promise<Buffer> {
  const table = await packed(file, pause)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(table.length)
  return Buffer.concat([length, table, source])
}

/**
 * Stores a parsed file until its import, at most for an hour; another upload of the same person replaces it.
 */
export async function storeFile(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  kind: ImportedKind,
  file: ReadFile,
  upload: Buffer = Buffer.alloc(0),
): Promise<void> {
  // A workbook, and a text that names its encoding, is not read in another one.
  const source = file.sheet.origin.encoding === null ? Buffer.alloc(0) : upload
  const content = await withSource(file, source, pause)
  await storeImport(keeping, owner, kind, content)
}

interface Keeping {
  readonly pool: Database
  readonly vault: Vault
  readonly pause: Pause
}

/** Null if there is no file of this kind, or it has expired. */
export async function loadStoredFile(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  kind: ImportedKind,
): Promise<KeptFile | null> {
  const stored = await readImport(keeping, owner, kind)
  if (!stored) return null
  const { content, uploadedAt } = stored
  const end = 4 + content.readUInt32BE(0)
  const file = await unpacked(content.subarray(4, end), pause)
  return { ...file, uploadedAt, source: content.subarray(end) }
}

/** Keeps only some lines of an imported file, for as long as the file, unless another upload has replaced it. */
export async function keepLines(
  { pause, ...keeping }: Keeping,
  owner: ImportOwner,
  { uploadedAt, digest, sheet }: KeptFile,
  lines: readonly SheetLine[],
): Promise<void> {
  const content = await withSource({ digest, sheet: { ...sheet, lines } }, Buffer.alloc(0), pause)
  await changeImport(keeping, owner, uploadedAt, content)
}
