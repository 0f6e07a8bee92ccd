import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { openJson, sealContext, sealJson, type Vault } from '#crypto/vault.ts'

/** 256 bits: the hash needs no salt, and tokens cannot be guessed. */
const TOKEN_BYTES = 32

/** One kind of opaque token. Its meaning is stored in Postgres under its hash. */
interface OpaqueTokens {
  /** Creates a token, which is returned once and not stored. */
  make(): string
  /** The token that follows another one: the same for the same token and secret, and as hard to guess. */
  next(token: string, secret: Buffer): string
  /** Hash under which a token is stored; null if the format is wrong, which needs no lookup. */
  hashOf(token: string): Buffer | null
}

/** Tokens with a `prefix`, by which people and secret scanners recognize leaked ones. */
export function opaqueTokens(prefix: string): OpaqueTokens {
  const format = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)
  return {
    make: () => prefix + randomBytes(TOKEN_BYTES).toString('base64url'),
    next: (token, secret) => prefix + createHmac('sha256', secret).update(`next token\n${token}`).digest('base64url'),
    hashOf: (token) => (format.test(token) ? createHash('sha256').update(token).digest() : null),
  }
}

/**
 * Tokens that a browser or a till keeps from an earlier login. They also mark the client as known to the login limits.
 */
export const DEVICE_TOKENS = opaqueTokens('tb_device_')
export const TILL_TOKENS = opaqueTokens('tb_sync_')

/** Session cookies of the panel, and codes in invitation links. */
export const PANEL_TOKENS = opaqueTokens('tb_panel_')
export const INVITATION_TOKENS = opaqueTokens('tb_invite_')

/** Time of the statement in milliseconds: `clock`, a common table expression. */
export const DATABASE_CLOCK = `clock as materialized (select date_trunc('milliseconds', clock_timestamp()) as now)`

/**
 * Revokes tokens above a user's limit: `surplus`, a common table expression that follows `clock`. Of the live tokens of
 * user `$2` of company `$3` it keeps the `$5` most recently used. If the relation `from` is empty it revokes nothing.
 */
export const revokeSurplusSql = (table: 'ops.sessions' | 'ops.sync_tokens', lastUsed: string, from = 'clock'): string =>
  `surplus as (
     update ${table} set revoked_at = ${from}.now${table === 'ops.sessions' ? ', user_agent = null' : ''} from ${from}
     where hash in (
       select hash from ${table} where company_id = $3 and user_id = $2 and revoked_at is null order by ${lastUsed} desc offset $5)
   )`

const BYTES = 32

/** A secret of 32 random bytes shared by all processes of the database; the first caller creates it. */
export async function installationSecret(
  pool: Pool,
  vault: Vault,
  name: 'request_hashes' | 'payment_links' | 'first_run',
): Promise<Buffer> {
  const context = sealContext('installation_secrets', [name])
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
