import { createHash, randomBytes } from 'node:crypto'

/** Random bytes of a token: 256 bits, so that its hash needs no salt and nobody can try tokens out. */
const TOKEN_BYTES = 32

/** One kind of token. It says nothing to whoever has it; what it stands for is kept in Postgres under its hash. */
interface OpaqueTokens {
  /** A new one, to be handed out once and kept nowhere. */
  make(): string
  /** What a token is kept under; null for a text that can be none of this kind, which needs no look-up to be refused. */
  hashOf(token: string): Buffer | null
}

/** Tokens that begin with `prefix`, by which people and scanners recognise one that has leaked. */
export function opaqueTokens(prefix: string): OpaqueTokens {
  const format = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)
  return {
    make: () => prefix + randomBytes(TOKEN_BYTES).toString('base64url'),
    hashOf: (token) => (format.test(token) ? createHash('sha256').update(token).digest() : null),
  }
}

/** What a browser keeps of an earlier login, and what a till does: it is no credential, but says that its owner is no stranger. */
export const DEVICE_TOKENS = opaqueTokens('tb_device_')
export const TILL_TOKENS = opaqueTokens('tb_sync_')

/** What the cookie of a session in the panel is, and the code in the link of an invitation. */
export const PANEL_TOKENS = opaqueTokens('tb_panel_')
export const INVITATION_TOKENS = opaqueTokens('tb_invite_')

/** The moment of a statement, to the millisecond: `clock`, a common table expression. */
export const DATABASE_CLOCK = `clock as materialized (select date_trunc('milliseconds', clock_timestamp()) as now)`

/**
 * Revokes what a user has too much of: `surplus`, a common table expression that follows `clock`. Of the live tokens of user
 * `$2` of company `$3` the `$5` last used ones are left alone. Where the relation `from` is empty nothing is revoked.
 */
export const revokedSurplus = (table: 'ops.sessions' | 'ops.sync_tokens', lastUsed: string, from = 'clock'): string =>
  `surplus as (
     update ${table} set revoked_at = ${from}.now${table === 'ops.sessions' ? ', user_agent = null' : ''} from ${from}
     where hash in (
       select hash from ${table} where company_id = $3 and user_id = $2 and revoked_at is null order by ${lastUsed} desc offset $5)
   )`
