import type { Pool } from 'pg'

/** A secret that was made with the database (src/postgres/migrations/014_installation_secrets.sql, 038_payment_links.sql). */
export async function installationSecret(pool: Pool, name: 'request_hashes' | 'payment_links'): Promise<Buffer> {
  const { rows } = await pool.query<{ secret: Buffer }>('select secret from installation_secrets where name = $1', [
    name,
  ])
  const [found] = rows
  if (!found) throw new Error(`the database has no secret ${name}`)
  return found.secret
}
