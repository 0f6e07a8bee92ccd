import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { contextOf, openJson, sealJson } from '#crypto/sealed-json.ts'
import type { Vault } from '#crypto/vault.ts'

const BYTES = 32

/** A secret of 32 random bytes shared by all processes of the database; the first caller creates it. */
export async function installationSecret(
  pool: Pool,
  vault: Vault,
  name: 'request_hashes' | 'payment_links',
): Promise<Buffer> {
  const context = contextOf('installation_secrets', [name])
  const find = () =>
    pool.query<{ secret: Buffer }>('select secret from ops.installation_secrets where name = $1', [name])
  let [found] = (await find()).rows
  if (!found) {
    const made = sealJson(vault, randomBytes(BYTES).toString('base64'), context)
    await pool.query('insert into ops.installation_secrets (name, secret) values ($1, $2) on conflict do nothing', [
      name,
      made,
    ])
    ;[found] = (await find()).rows
  }
  if (!found) throw new Error(`the database keeps no secret ${name}`)
  return Buffer.from(openJson<string>(vault, found.secret, context), 'base64')
}
