import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import { sealContext, type Vault } from '#crypto/vault.ts'
import type { Database } from '#postgres/database.ts'
import type { Pause } from './encoding.ts'
import type { Sheet, SheetLine, SheetOrigin } from './sheet.ts'

export type ImportedKind = 'items' | 'customers' | 'suppliers'

/** Owner of the file. */
interface Owner {
  readonly companyId: number
  readonly userId: number
}

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

const sealOf = ({ companyId, userId }: Owner): string => sealContext('imports', [companyId, userId])

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
  { pool, vault, pause }: Keeping,
  owner: Owner,
  kind: ImportedKind,
  file: ReadFile,
  upload: Buffer = Buffer.alloc(0),
): Promise<void> {
  // A workbook, and a text that names its encoding, is not read in another one.
  const source = file.sheet.origin.encoding === null ? Buffer.alloc(0) : upload
  const content = await withSource(file, source, pause)
  await pool.query(
    `insert into ops.imports (company_id, user_id, kind, file) values ($1, $2, $3, $4)
     on conflict (company_id, user_id) do update set kind = excluded.kind, file = excluded.file, uploaded_at = now()`,
    [owner.companyId, owner.userId, kind, vault.seal(content, sealOf(owner))],
  )
}

interface Keeping {
  readonly pool: Database
  readonly vault: Vault
  readonly pause: Pause
}

/** Null if there is no file of this kind, or it has expired. */
export async function loadStoredFile(
  { pool, vault, pause }: Keeping,
  owner: Owner,
  kind: ImportedKind,
): Promise<KeptFile | null> {
  const { rows } = await pool.query<{ file: Buffer; uploaded_at: string }>(
    `select file, uploaded_at::text from ops.imports
     where company_id = $1 and user_id = $2 and kind = $3 and uploaded_at > now() - interval '1 hour'`,
    [owner.companyId, owner.userId, kind],
  )
  const [row] = rows
  if (!row) return null
  const content = vault.open(row.file, sealOf(owner))
  const end = 4 + content.readUInt32BE(0)
  const file = await unpacked(content.subarray(4, end), pause)
  return { ...file, uploadedAt: row.uploaded_at, source: content.subarray(end) }
}

/** Keeps only some lines of an imported file, for as long as the file, unless another upload has replaced it. */
export async function keepLines(
  { pool, vault, pause }: Keeping,
  owner: Owner,
  { uploadedAt, digest, sheet }: KeptFile,
  lines: readonly SheetLine[],
): Promise<void> {
  const content = await withSource({ digest, sheet: { ...sheet, lines } }, Buffer.alloc(0), pause)
  await pool.query(
    'update ops.imports set file = $4 where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz',
    [owner.companyId, owner.userId, uploadedAt, vault.seal(content, sealOf(owner))],
  )
}

/** Deletes an imported file, unless another upload has replaced it. */
export async function deleteStoredFile(
  pool: Database,
  { companyId, userId }: Owner,
  { uploadedAt }: Pick<KeptFile, 'uploadedAt'>,
): Promise<void> {
  await pool.query('delete from ops.imports where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz', [
    companyId,
    userId,
    uploadedAt,
  ])
}
