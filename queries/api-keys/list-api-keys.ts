import type { Pool } from 'pg'
import type { ApiKeyObject } from '#projections/api-keys.ts'

/** A key with its last use, to the minute; null when it was never used. */
export interface ListedApiKey extends ApiKeyObject {
  readonly last_used_at: string | null
}

/** All keys of a company, also revoked and expired ones, in the order in which they were made. */
export async function listApiKeys(pool: Pool, companyId: number): Promise<ListedApiKey[]> {
  const { rows } = await pool.query<{ doc: ApiKeyObject; last_used_at: string | null }>({
    name: 'list_api_keys',
    text: `select k.doc, u.last_used_at
           from api_keys k left join api_key_uses u on u.api_key_id = k.id
           where k.company_id = $1
           order by k.id`,
    values: [companyId],
  })
  return rows.map(({ doc, last_used_at }) => ({ ...doc, last_used_at }))
}
