import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'
import { Unavailable } from '#lib/errors.ts'
import { WrongShardError } from '#lib/moved.ts'
import { type AuthenticatedKey, CHARGE_BYTES, COUNT_CALLS, type CountedCompany } from './quota-statements.ts'

/** Calls a company may make, all its keys summed (RATE-1), and bytes that it may send (RATE-6). */
export interface QuotaLimits {
  /** Calls from the first one on, for 60 seconds. */
  readonly perMinute: number
  /** Calls on the company's own calendar day. */
  readonly perDay: number
  /** Bytes of bodies on that day, those of tills too. */
  readonly bytesPerDay: number
}

/** What X-RateLimit-* and Retry-After say, of the window that is nearer to exhaustion. */
export interface Rate {
  readonly limit: number
  readonly remaining: number
  /** Unix seconds at which the window is over. */
  readonly reset: number
  /** Seconds until then, at least 1. */
  readonly retryAfter: number
}

/** What X-RateLimit-Bytes-* say. */
export interface BytesLeft {
  readonly limit: number
  readonly remaining: number
  /** Seconds until the company's day is over, at least 1. */
  readonly retryAfter: number
}

/** A call with a live key, let through, one too many, or one whose body is too much. */
export interface AuthenticatedCall {
  readonly kind: 'admitted' | 'limited' | 'too_many_bytes'
  readonly companyId: number
  readonly keyId: number
  readonly scopes: readonly string[]
  readonly plan: string
  readonly timezone: string
  /** How far the company's ledger was read. */
  readonly revision: number
  /** Identifies the read model's tables at that time; a rebuild puts others in their place. */
  readonly tables: number
  /** The company's time when the call was counted, by Postgres's clock: UTC, milliseconds, `Z`. */
  readonly now: string
  readonly rate: Rate
  readonly bytes: BytesLeft
}

/** `invalid`: no such key, revoked or expired. */
export type Admission = { readonly kind: 'invalid' } | AuthenticatedCall

export interface ApiAuthenticator {
  /**
   * Looks a key up by its hash and counts the call and the bytes of its body, exactly, whatever other processes do.
   * @throws Unavailable when Postgres cannot be asked, or too many calls wait; Moved where the company lives elsewhere (HOME-42).
   */
  admit(keyHash: Buffer, bytes?: number): Promise<Admission>
  /**
   * Counts the bytes of a body that came without a key, or whose size nobody knew before it was read. @throws Unavailable
   */
  charge(companyId: number, bytes: number): Promise<Charge>
}

/** A body that was counted, or was not because it is too much. */
export interface Charge {
  readonly isCounted: boolean
  readonly bytes: BytesLeft
}

interface Waiting {
  readonly hash: Buffer
  /** The same as a text, to find equal ones by. */
  readonly id: string
  readonly bytes: number
  readonly resolve: (admission: Admission) => void
  readonly reject: (error: unknown) => void
}

/** Calls waiting for their turn; far more than a tick takes, so that only a Postgres in trouble lets them pile up. */
const WAITING_CALLS = 10_000

const INVALID: Admission = { kind: 'invalid' }

/**
 * Admits calls in ticks: whatever arrived while the previous statement was under way is counted by the next one. There
 * is one statement at a time, so `pool` lends one connection at most; with `keyLookupsOnly` no statistics can mislead it.
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

/** Runs one statement for all calls and answers each; never rejects. */
async function admitAll(pool: Pool, limits: QuotaLimits, calls: readonly Waiting[]): Promise<void> {
  try {
    const { keys, companies } = await count(pool, limits, calls)
    for (const call of calls) {
      const key = keys.get(call.id)
      const company = key && companies.get(key.company_id)
      if (key?.is_elsewhere) call.reject(new WrongShardError(key.company_id))
      else call.resolve(company ? admission(key, company, limits) : INVALID)
    }
  } catch (error) {
    const unavailable = new Unavailable('calls cannot be counted', { cause: error })
    for (const call of calls) call.reject(unavailable)
  }
}

/** The windows of a company, and how many of its calls within the tick were answered and let through so far. */
interface Serving {
  readonly windows: CountedCompany
  readonly letThrough: number
  readonly bytes: number
  answered: number
  served: number
  servedBytes: number
}

interface Counted {
  /** The live ones, by the text of their hash. */
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

/** The answer to the next call of a company within a tick, in order of arrival. */
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
    // Where calls are left it was the body.
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

/** The window with the smaller share left; of two exhausted ones that which ends later, because the other's end would not help. */
function nearer(minute: Rate, day: Rate): Rate {
  if (minute.remaining === 0 && day.remaining === 0) return minute.reset > day.reset ? minute : day
  return minute.remaining * day.limit <= day.remaining * minute.limit ? minute : day
}
