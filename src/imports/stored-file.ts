import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createGzip } from 'node:zlib'
import type { Pool } from 'pg'
import { contextOf } from '#crypto/sealed-json.ts'
import type { Vault } from '#crypto/vault.ts'
import { isNotMigrating } from '#postgres/migration-condition.ts'
import { deleteInBatches } from '#postgres/purge.ts'
import type { Transaction } from '#postgres/transaction.ts'
import type { Pause, Sheet, SheetLine } from './sheet.ts'

export type ImportedKind = 'items' | 'customers' | 'suppliers'

/** Whose file it is. */
interface Owner {
  readonly companyId: number
  readonly userId: number
}

/** A file as it was read when it was uploaded. */
export interface ReadFile {
  /** SHA-256 of the file, in hex. */
  readonly digest: string
  readonly sheet: Sheet
}

/** The same out of the database, where a later upload takes its place. */
export interface KeptFile extends ReadFile {
  readonly uploadedAt: string
}

const sealOf = ({ companyId, userId }: Owner): string => contextOf('imports', [companyId, userId])

/** Of JSON lines that are compressed at a time, in UTF-16 units. */
const PART = 16_384

/** JSON lines, compressed: the digest and the heads, then the number and the cells of each line. */
function packed({ digest, sheet: { heads, lines } }: ReadFile, pause: Pause): Promise<Buffer> {
  async function* parts() {
    let part = JSON.stringify([digest, ...heads])
    for (const { number, cells } of lines) {
      if (part.length >= PART) {
        yield part
        part = ''
        await pause()
      }
      part += `\n${JSON.stringify([number, ...cells])}`
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
        const [number, ...cells] = JSON.parse(line) as [number, ...string[]]
        lines.push({ number, cells })
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

/** Keeps what was read of a file until it is imported, or for an hour; another one of the same person takes its place (PANEL-183). */
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

/** Null where there is none of this kind, or no longer. */
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

/** Drops a file that was imported, unless another one has taken its place. */
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

export const purgeImports = (pool: Pool): Promise<number> =>
  deleteInBatches(
    pool,
    `delete from ops.imports where (company_id, user_id) in (
       select company_id, user_id from ops.imports where uploaded_at < now() - interval '1 hour' and ${isNotMigrating('company_id')} limit $1)`,
    [],
  )

/** Of everybody in a company: whoever was about to import a file uploads it again. */
export const eraseImports = (tx: Transaction, companyId: number): Promise<unknown> =>
  tx.query({ name: 'wipe_imports', text: 'delete from imports where company_id = $1' }, [companyId])
