import type { Pool } from 'pg'
import type { Transaction } from '#ledger/transaction.ts'
import { contextOf, openJson, sealJson } from '#lib/sealed-json.ts'
import type { Vault } from '#lib/vault.ts'
import { notInMove } from '#postgres/in-move.ts'
import { deleteInBatches } from '#postgres/purge.ts'

export type ImportedKind = 'items' | 'customers' | 'suppliers'

/** Whose file it is. */
interface Owner {
  readonly companyId: number
  readonly userId: number
}

const sealOf = ({ companyId, userId }: Owner): string => contextOf('imports', [companyId, userId])

/** Keeps the text of a file until it is imported, or for an hour; another one of the same person takes its place (PANEL-183). */
export async function keepFile(
  pool: Pool,
  vault: Vault,
  owner: Owner,
  kind: ImportedKind,
  text: string,
): Promise<void> {
  await pool.query(
    `insert into ops.imports (company_id, user_id, kind, file) values ($1, $2, $3, $4)
     on conflict (company_id, user_id) do update set kind = excluded.kind, file = excluded.file, uploaded_at = now()`,
    [owner.companyId, owner.userId, kind, sealJson(vault, text, sealOf(owner))],
  )
}

/** Null where there is none of this kind, or no longer. */
export async function keptFile(pool: Pool, vault: Vault, owner: Owner, kind: ImportedKind): Promise<string | null> {
  const { rows } = await pool.query<{ file: Buffer }>(
    `select file from ops.imports
     where company_id = $1 and user_id = $2 and kind = $3 and uploaded_at > now() - interval '1 hour'`,
    [owner.companyId, owner.userId, kind],
  )
  return rows[0] ? openJson<string>(vault, rows[0].file, sealOf(owner)) : null
}

export async function dropFile(pool: Pool, { companyId, userId }: Owner): Promise<void> {
  await pool.query('delete from ops.imports where company_id = $1 and user_id = $2', [companyId, userId])
}

export const purgeImports = (pool: Pool): Promise<number> =>
  deleteInBatches(
    pool,
    `delete from ops.imports where (company_id, user_id) in (
       select company_id, user_id from ops.imports where uploaded_at < now() - interval '1 hour' and ${notInMove('company_id')} limit $1)`,
    [],
  )

/** Of everybody in a company: whoever was about to import a file uploads it again. */
export const wipeImports = (tx: Transaction, companyId: number): Promise<unknown> =>
  tx.query({ name: 'wipe_imports', text: 'delete from imports where company_id = $1' }, [companyId])
