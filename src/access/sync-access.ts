import type { Pool } from 'pg'
import { createLogin, type Login } from './login.ts'
import { createMinuteLimit, type MinuteLimit } from './minute-limit.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Tokens whose calls, and users whose tokens, are counted at a time. */
const KNOWN = 20_000

/** Tokens that a user gets in a minute, by logging in or renewing: all tills of a shop in the morning. */
const TOKENS_PER_MINUTE = 60

/** Who may use the sync interface, and how often. */
export interface SyncAccess {
  readonly login: Login
  readonly tokens: Tokens
  /** Calls of a token. */
  readonly calls: MinuteLimit
  /** Tokens of a user, by its id: a new token's calls are counted anew. */
  readonly grants: MinuteLimit
}

export interface SyncAccessOptions {
  /** How long a token lives; null for as long as nobody logs out. */
  readonly tokenDays: number | null
  readonly callsPerMinute: number
}

export function createSyncAccess(pool: Pool, { tokenDays, callsPerMinute }: SyncAccessOptions): SyncAccess {
  const tokens = createTokens(pool, tokenDays)
  const calls = createMinuteLimit({ perMinute: callsPerMinute, known: KNOWN })
  const grants = createMinuteLimit({ perMinute: TOKENS_PER_MINUTE, known: KNOWN })
  return { login: createLogin(pool, tokens, grants), tokens, calls, grants }
}
