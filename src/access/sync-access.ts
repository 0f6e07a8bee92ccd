import type { Pool } from 'pg'
import type { Login } from './login.ts'
import { createMinuteLimit, type MinuteLimit } from './minute-limit.ts'
import { createTokens, type Tokens } from './tokens.ts'

/** Tokens whose calls are counted at a time. */
const KNOWN = 20_000

/** Who may use the sync interface, and how often. */
export interface SyncAccess {
  readonly login: Login
  readonly tokens: Tokens
  /** Calls of a token. */
  readonly calls: MinuteLimit
}

export interface SyncAccessOptions {
  /** How long a token lives; null for as long as nobody logs out. */
  readonly tokenDays: number | null
  readonly callsPerMinute: number
}

export function createSyncAccess(
  pool: Pool,
  login: Login,
  { tokenDays, callsPerMinute }: SyncAccessOptions,
): SyncAccess {
  const calls = createMinuteLimit({ perMinute: callsPerMinute, known: KNOWN })
  return { login, tokens: createTokens(pool, tokenDays), calls }
}
