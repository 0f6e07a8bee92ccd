import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'
import { type AuthenticatedKey, CHARGE_BYTES, COUNT_CALLS, type CountedCompany } from './quota-statements.ts'

/** Limits of a company over all its keys: requests (RATE-1) and bytes (RATE-6). */
export interface QuotaLimits {
  /** Requests in the 60 seconds from the first one. */
  readonly perMinute: number
  /** Requests in the company's calendar day. */
  readonly perDay: number
  /** Body bytes in that day, including those of tills. */
  readonly bytesPerDay: number
}

/** Values of X-RateLimit-* and Retry-After, for the window closer to exhaustion. */
export interface Rate {
  readonly limit: number
  readonly remaining: number
  /** End of the window in Unix seconds. */
  readonly reset: number
  /** Seconds until the reset, at least 1. */
  readonly retryAfter: number
}

/** Values of X-RateLimit-Bytes-*. */
export interface BytesLeft {
  readonly limit: number
  readonly remaining: number
  /** Seconds until the end of the company's day, at least 1. */
  readonly retryAfter: number
}

/** A request with a valid key: admitted, over the request limit, or over the byte limit. */
export interface AuthenticatedCall {
  readonly kind: 'admitted' | 'limited' | 'too_many_bytes'
  readonly companyId: number
  readonly keyId: number
  readonly scopes: readonly string[]
  readonly plan: string
  readonly timezone: string
  /** Revision of the company's ledger at the lookup. */
  readonly revision: number
  /** Identifies the read model's tables at that time; a rebuild replaces them. */
  readonly tables: number
  /** The company's time when the request was counted, from Postgres's clock: UTC, milliseconds, `Z`. */
  readonly now: string
  readonly rate: Rate
  readonly bytes: BytesLeft
}

/** `invalid`: unknown, revoked or expired key. */
export type Admission = { readonly kind: 'invalid' } | AuthenticatedCall

export interface ApiAuthenticator {
  /**
   * Looks up a key by its hash and counts the request and its body bytes exactly, over all processes. @throws
   * Unavailable if Postgres does not answer or the queue is full.
   */
  admit(keyHash: Buffer, bytes?: number): Promise<Admission>
  /** Counts the bytes of a body without a key, or of unknown size until it was read. @throws Unavailable */
  charge(companyId: number, bytes: number): Promise<Charge>
}

/** A counted body, or one refused because it exceeds the limit. */
export interface Charge {
  readonly isCounted: boolean
  readonly bytes: BytesLeft
}

interface Waiting {
  readonly hash: Buffer
  /** The hash as text, for use as a map key. */
  readonly id: string
  readonly bytes: number
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: unknown) => void
}

/** Upper bound of the queue. Normal load empties it every tick; only a slow Postgres fills it. */
const WAITING_CALLS = 10_000

const INVALID: Admission = { kind: 'invalid' }

/**
 * Admits requests in ticks: requests that arrive during a statement are counted by the next one. Only one statement
 * runs at a time, so `pool` needs one connection; with `keyLookupsOnly` its plan does not depend on statistics.
 */
export function createApiAuthenticator(
  pool: Pool,
  limits: QuotaLimits,
  waitingCalls = WAITING_CALLS,
): ApiAuthenticator {
  let waiting: Waiting[] = []
  const ticks = coalesce(() => {
    const calls = waiting
    waiting = []
    return admitAll(pool, limits, calls)
  })

  return {
    admit: (hash, bytes = 0) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingCalls) throw new Unavailable('too many calls are waiting')
        waiting.push({ hash, id: hash.toString('latin1'), bytes, resolve, reject })
        ticks.ask()
      }),
    charge: (companyId, bytes) => charge(pool, limits.bytesPerDay, companyId, bytes),
  }
}

/** Runs one statement for all requests and resolves each; never rejects. */
async function admitAll(pool: Pool, limits: QuotaLimits, calls: readonly Waiting[]): Promise<void> {
  try {
    const { keys, companies } = await count(pool, limits, calls)
    for (const call of calls) {
      const key = keys.get(call.id)
      const company = key && companies.get(key.company_id)
      call.resolve(company ? admission(key, company, limits) : INVALID)
    }
  } catch (error) {
    const unavailable = new Unavailable('calls cannot be counted', { cause: error })
    for (const call of calls) call.reject(unavailable)
  }
}

/** Windows of a company, and how many of its requests in the tick were resolved and admitted so far. */
interface Serving {
  readonly windows: CountedCompany
  readonly letThrough: number
  readonly bytes: number
  answered: number
  served: number
  servedBytes: number
}

interface Counted {
  /** Valid keys by the text of their hash. */
  readonly keys: Map<string, AuthenticatedKey>
  readonly companies: Map<number, Serving>
}

async function count(pool: Pool, limits: QuotaLimits, calls: readonly Waiting[]): Promise<Counted> {
  const positions = new Map<string, number>()
  const hashes: Buffer[] = []
  for (const { id, hash } of calls) if (!positions.has(id)) positions.set(id, hashes.push(hash))
  const { rows } = await pool.query<AuthenticatedKey | CountedCompany>({
    ...COUNT_CALLS,
    values: [
      hashes,
      calls.map(({ id }) => positions.get(id)),
      calls.map(({ bytes }) => bytes),
      limits.perMinute,
      limits.perDay,
      limits.bytesPerDay,
    ],
  })
  const counted: Counted = { keys: new Map(), companies: new Map() }
  const ids = [...positions.keys()]
  for (const row of rows) {
    if (row.position === null) counted.companies.set(row.company_id, serving(row))
    else counted.keys.set(ids[row.position - 1] ?? '', row)
  }
  return counted
}

function serving(windows: CountedCompany): Serving {
  const passed = windows.passed.filter((bytes) => bytes !== null)
  const bytes = passed.reduce((sum, one) => sum + one, 0)
  return { windows, letThrough: passed.length, bytes, answered: 0, served: 0, servedBytes: 0 }
}

/** Result of a company's next request within a tick, in order of arrival. */
function admission(found: AuthenticatedKey, company: Serving, limits: QuotaLimits): AuthenticatedCall {
  const { company_id: companyId, api_key_id: keyId, scopes, plan, timezone, clock_ahead_ms, revision, tables } = found
  const { windows } = company
  const passed = windows.passed[company.answered++] ?? null
  if (passed !== null) {
    company.served += 1
    company.servedBytes += passed
  }
  const later = company.letThrough - company.served
  const minute = rateOf(limits.perMinute, windows.minute_count - later, windows.minute_ends, windows.now)
  const day = rateOf(limits.perDay, windows.day_count - later, windows.day_ends, windows.now)
  const hasCalls = windows.minute_count < limits.perMinute && windows.day_count < limits.perDay
  return {
    // If requests are left, the body exceeded the byte limit.
    kind: passed !== null ? 'admitted' : hasCalls ? 'too_many_bytes' : 'limited',
    companyId,
    keyId,
    scopes,
    plan,
    timezone,
    revision,
    tables,
    now: new Date(windows.now * 1000 + clock_ahead_ms).toISOString(),
    rate: nearer(minute, day),
    bytes: bytesLeft(limits.bytesPerDay, windows.day_bytes - (company.bytes - company.servedBytes), windows),
  }
}

function bytesLeft(
  limit: number,
  used: number,
  { day_ends, now }: Pick<CountedCompany, 'day_ends' | 'now'>,
): BytesLeft {
  return { limit, remaining: Math.max(0, limit - used), retryAfter: Math.max(1, Math.ceil(day_ends - now)) }
}

async function charge(pool: Pool, limit: number, companyId: number, bytes: number): Promise<Charge> {
  type Row = Pick<CountedCompany, 'passed' | 'day_bytes' | 'day_ends' | 'now'>
  const values = [companyId, bytes, limit]
  const { rows } = await pool.query<Row>({ ...CHARGE_BYTES, values }).catch((error: unknown) => {
    throw new Unavailable('bytes cannot be counted', { cause: error })
  })
  const [row] = rows
  if (!row) throw new Error(`there is no company ${companyId} to count bytes of`)
  return { isCounted: row.passed.some((one) => one !== null), bytes: bytesLeft(limit, row.day_bytes, row) }
}

function rateOf(limit: number, used: number, ends: number, now: number): Rate {
  const retryAfter = Math.max(1, Math.ceil(ends - now))
  return { limit, remaining: Math.max(0, limit - used), reset: Math.ceil(ends), retryAfter }
}

/** The window with the smaller share left. If both are exhausted, the one that ends later. */
function nearer(minute: Rate, day: Rate): Rate {
  if (minute.remaining === 0 && day.remaining === 0) return minute.reset > day.reset ? minute : day
  return minute.remaining * day.limit <= day.remaining * minute.limit ? minute : day
}
