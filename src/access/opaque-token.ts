import { createHash, createHmac, randomBytes } from 'node:crypto'

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
export const revokedSurplus = (table: 'ops.sessions' | 'ops.sync_tokens', lastUsed: string, from = 'clock'): string =>
  `surplus as (
     update ${table} set revoked_at = ${from}.now${table === 'ops.sessions' ? ', user_agent = null' : ''} from ${from}
     where hash in (
       select hash from ${table} where company_id = $3 and user_id = $2 and revoked_at is null order by ${lastUsed} desc offset $5)
   )`
