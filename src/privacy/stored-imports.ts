import { sealContext, type Vault } from '#crypto/vault.ts'
import type { Database } from '#postgres/database.ts'

/** Owner of the file. */
export interface ImportOwner {
  readonly companyId: number
  readonly userId: number
}

interface Keeping {
  readonly pool: Database
  readonly vault: Vault
}

const sealOf = ({ companyId, userId }: ImportOwner): string => sealContext('imports', [companyId, userId])

/** Stores a file sealed, at most for an hour; another upload of the same person replaces it. */
export async function storeImport(
  { pool, vault }: Keeping,
  owner: ImportOwner,
  kind: string,
  content: Buffer,
): Promise<void> {
  await pool.query(
    `insert into ops.imports (company_id, user_id, kind, file) values ($1, $2, $3, $4)
     on conflict (company_id, user_id) do update set kind = excluded.kind, file = excluded.file, uploaded_at = now()`,
    [owner.companyId, owner.userId, kind, vault.seal(content, sealOf(owner))],
  )
}

/** Null if there is no file of this kind, or it has expired. */
export async function readImport(
  { pool, vault }: Keeping,
  owner: ImportOwner,
  kind: string,
): Promise<{ readonly content: Buffer; readonly uploadedAt: string } | null> {
  const { rows } = await pool.query<{ file: Buffer; uploaded_at: string }>(
    `select file, uploaded_at::text from ops.imports
     where company_id = $1 and user_id = $2 and kind = $3 and uploaded_at > now() - interval '1 hour'`,
    [owner.companyId, owner.userId, kind],
  )
  const [row] = rows
  return row ? { content: vault.open(row.file, sealOf(owner)), uploadedAt: row.uploaded_at } : null
}

/** Kind of the file that a person has uploaded and not imported; null without one. */
export async function findOpenImport(pool: Database, { companyId, userId }: ImportOwner): Promise<string | null> {
  const { rows } = await pool.query<{ kind: string }>(
    `select kind from ops.imports where company_id = $1 and user_id = $2 and uploaded_at > now() - interval '1 hour'`,
    [companyId, userId],
  )
  return rows[0]?.kind ?? null
}

/** Changes a file for as long as it is kept, unless another upload has replaced it. */
export async function changeImport(
  { pool, vault }: Keeping,
  owner: ImportOwner,
  uploadedAt: string,
  content: Buffer,
): Promise<void> {
  await pool.query(
    'update ops.imports set file = $4 where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz',
    [owner.companyId, owner.userId, uploadedAt, vault.seal(content, sealOf(owner))],
  )
}

/** Deletes an imported file, unless another upload has replaced it. */
export async function deleteImport(
  pool: Database,
  { companyId, userId }: ImportOwner,
  { uploadedAt }: { readonly uploadedAt: string },
): Promise<void> {
  await pool.query('delete from ops.imports where company_id = $1 and user_id = $2 and uploaded_at = $3::timestamptz', [
    companyId,
    userId,
    uploadedAt,
  ])
}
