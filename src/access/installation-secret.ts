import type { Pool } from 'pg'
import { contextOf, openValue } from '#lib/sealed-value.ts'
import type { Vault } from '#lib/vault.ts'

/** A secret that was made with the database (src/postgres/migrations/014_installation_secrets.sql). */
export async function installationSecret(pool: Pool, vault: Vault, name: 'request_hashes'): Promise<Buffer> {
  const { rows } = await pool.query<{ secret: Buffer }>('select secret from installation_secrets where name = $1', [
    name,
  ])
  const [found] = rows
  if (!found) throw new Error(`the database has no secret ${name}`)
  return Buffer.from(openValue<string>(vault, found.secret, contextOf('installation_secrets', [name])), 'base64')
}
