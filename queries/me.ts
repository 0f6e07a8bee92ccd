import type { Pool } from 'pg'
import { inZone } from '#domain/instant.ts'

interface Row {
  name: string
  cnpj: string
  plan: string
  timezone: string
  key: { id: number; name: string; prefix: string; scopes: string[]; created_at: string; expires_at: string | null }
  now: string
  revision: number
}

const statement = {
  name: 'get_me',
  text: `select c.doc->>'name' as name, c.doc->>'cnpj' as cnpj, c.plan, c.timezone, k.doc as key,
                date_trunc('milliseconds', clock_timestamp()) as now, l.revision
         from companies c
         join api_keys k on k.company_id = c.company_id and k.id = $2
         join ledgers l on l.company_id = c.company_id
         where c.company_id = $1`,
}

/** Who calls: the company, its key, what it may do and how often (DESIGN section 5, /me). */
export async function getMe(
  pool: Pool,
  companyId: number,
  keyId: number,
): Promise<{ me: object; revision: number } | null> {
  const { rows } = await pool.query<Row>({ ...statement, values: [companyId, keyId] })
  const [row] = rows
  if (!row) return null
  const { name, cnpj, plan, timezone, key, revision } = row
  const { id, prefix, scopes, created_at, expires_at } = key
  const local = (instant: string) => inZone(instant, timezone)
  return {
    revision,
    me: {
      company: { id: companyId, name, cnpj },
      key: {
        id,
        name: key.name,
        prefix,
        scopes,
        created_at: local(created_at),
        expires_at: expires_at && local(expires_at),
      },
      plan,
      server_time: local(row.now),
    },
  }
}
