import type { Pool } from 'pg'
import { companyText, DIRECTORY_CHANNEL } from '../directory.ts'

/** A company's shard by the directory, and the version text that a change must name. */
export interface CompanyResidence {
  readonly shard: string
  readonly since: string
}

export async function readResidence(main: Pool, companyId: number): Promise<CompanyResidence | null> {
  const { rows } = await main.query<CompanyResidence>(
    'select shard, since::text as since from ops.company_shards where company_id = $1',
    [companyId],
  )
  return rows[0] ?? null
}

/**
 * Switches the placement and notifies all processes (SHARD-55). False if the directory has changed since `known` was
 * read: reopening a company changes it, so the company is never open on two shards.
 */
export async function switchPlacement(
  main: Pool,
  companyId: number,
  known: CompanyResidence,
  shard: string,
): Promise<boolean> {
  const { rowCount } = await main.query(
    `with moved as (
       update ops.company_shards set shard = $4, since = clock_timestamp()
       where company_id = $1 and shard = $2 and since = $3::timestamptz returning company_id)
     select pg_notify($5, $6) from moved`,
    [companyId, known.shard, known.since, shard, DIRECTORY_CHANNEL, companyText(companyId)],
  )
  return rowCount === 1
}

/** Invalidates a switch that is under way or has an unknown outcome. Returns the present placement. */
export async function retractSwitch(main: Pool, companyId: number): Promise<CompanyResidence | null> {
  const known = await readResidence(main, companyId)
  if (known) await switchPlacement(main, companyId, known, known.shard)
  return readResidence(main, companyId)
}
