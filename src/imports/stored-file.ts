import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import type { Pool } from 'pg'
import { contextOf } from '#crypto/sealed-json.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Pause } from './encoding.ts'
import type { Sheet, SheetLine } from './sheet.ts'

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
}

const sealOf = ({ companyId, userId }: Owner): string => contextOf('imports', [companyId, userId])

/** JSON text compressed at once, in UTF-16 units. */
const PART = 16_384

/** Compressed JSON lines: digest and column titles, then number, problem and cells of each line. */
function packed({ digest, sheet: { heads, lines } }: ReadFile, pause: Pause): Promise<Buffer> {
  async function* parts() {
    let part = JSON.stringify([digest, ...heads])
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
    let first: readonly string[] | null = null
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
    const [digest = '', ...heads] = first ?? []
    return { digest, sheet: { heads, lines } }
  })
}

/**
 * Stores a parsed file until its import, at most for an hour; another upload of the same person replaces it
 * (PANEL-183).
 */
export async function storeFile(
  { pool, vault, pause }: Keeping,
  owner: Owner,
  kind: ImportedKind,
  file: ReadFile,
): Promise<void> {
  await pool.query(
    `insert into ops.imports (company_id, user_id, kind, file) values ($1, $2, $3, $4)
     on conflict (company_id, user_id) do update set kind = excluded.kind, file = excluded.file, uploaded_at = now()`,
    [owner.companyId, owner.userId, kind, vault.seal(await packed(file, pause), sealOf(owner))],
  )
}

interface Keeping {
  readonly pool: Pool
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
  return { ...(await unpacked(vault.open(row.file, sealOf(owner)), pause)), uploadedAt: row.uploaded_at }
}

/** Keeps only some lines of an imported file, for as long as the file, unless another upload has replaced it. */
export async function keepLines(
  { pool, vault, pause }: Keeping,
  owner: Owner,
  { uploadedAt, digest, sheet: { heads } }: KeptFile,
  lines: readonly SheetLine[],
): Promise<void> {
  await pool.query(
    'update ops.imports set file = $4 where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz',
    [
      owner.companyId,
      owner.userId,
      uploadedAt,
      vault.seal(await packed({ digest, sheet: { heads, lines } }, pause), sealOf(owner)),
    ],
  )
}

/** Deletes an imported file, unless another upload has replaced it. */
export async function deleteStoredFile(
  pool: Pool,
  { companyId, userId }: Owner,
  { uploadedAt }: Pick<KeptFile, 'uploadedAt'>,
): Promise<void> {
  await pool.query('delete from ops.imports where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz', [
    companyId,
    userId,
    uploadedAt,
  ])
}

/** Deletes the files of all users of a company; they must repeat pending uploads. */
export const eraseImports = (tx: Transaction, companyId: number): Promise<unknown> =>
  tx.query({ name: 'wipe_imports', text: 'delete from imports where company_id = $1' }, [companyId])
