import type { Queryable } from '#postgres/database.ts'
import { newestCheckpoint } from './checkpoints.ts'

/** Checkpoint status of a company, for its owner. Times are UTC. */
export interface SealState {
  /** The newest checkpoint of the ledger. */
  readonly checkpoint: { readonly size: number; readonly made_at: string } | null
  /**
   * The newest checkpoint of the installation log that includes a checkpoint of the company; `covers` is the size of
   * that one.
   */
  readonly installation: { readonly size: number; readonly made_at: string; readonly covers: number } | null
  /** Why the last checkpoint of the ledger, or of the installation, failed. */
  readonly fault: { readonly since: string; readonly reason: string } | null
}

export async function sealStateOf(client: Queryable, companyId: number): Promise<SealState> {
  const [checkpoint, installation, faults] = await Promise.all([
    newestCheckpoint(client, companyId),
    client.query<{ size: number; made_at: string; covers: number }>(
      `select c.size, c.made_at, e.size as covers
       from (select size, made_at from ops.installation_checkpoints order by size desc limit 1) c cross join lateral
         (select size from ops.installation_entries where company_id = $1 and index < c.size order by index desc limit 1) e`,
      [companyId],
    ),
    client.query<{ since: string; reason: string }>(
      'select since, reason from ops.sealing_faults where company_id in (0, $1) order by company_id desc limit 1',
      [companyId],
    ),
  ])
  return {
    checkpoint: checkpoint && { size: checkpoint.size, made_at: checkpoint.made_at },
    installation: installation.rows[0] ?? null,
    fault: faults.rows[0] ?? null,
  }
}
