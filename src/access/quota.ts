import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'
import { Unavailable } from '#lib/unavailable.ts'
import { COUNT_CALLS, type CountedCompany, type FoundKey } from './quota-statement.ts'

/** Calls a company may make, all its keys summed (spec, Limits). */
export interface QuotaLimits {
  /** From the first call on, for 60 seconds. */
  readonly perMinute: number
  /** On the company's own calendar day. */
  readonly perDay: number
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

/** A call with a live key, let through or one too many. */
export interface Admitted {
  readonly kind: 'admitted' | 'limited'
  readonly companyId: number
  readonly keyId: number
  readonly scopes: readonly string[]
  readonly plan: string
  readonly timezone: string
  /** How far the company's ledger was read. */
  readonly revision: number
  /** Identifies the read model's tables at that time; a rebuild puts others in their place. */
  readonly tables: number
  /** Postgres's clock when the call was counted: UTC, milliseconds, `Z`. */
  readonly now: string
  readonly rate: Rate
}

/** `invalid`: no such key, revoked or expired. */
export type Admission = { readonly kind: 'invalid' } | Admitted

export interface Gate {
  /**
   * Looks a key up by its hash and counts the call, exactly, whatever other processes do.
   * @throws Unavailable when Postgres cannot be asked, or too many calls wait.
   */
  admit(keyHash: Buffer): Promise<Admission>
}

interface Waiting {
  readonly hash: Buffer
  /** The same as a text, to find equal ones by. */
  readonly id: string
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
export function createGate(pool: Pool, limits: QuotaLimits, waitingCalls = WAITING_CALLS): Gate {
  let waiting: Waiting[] = []
  const ticks = coalesce(() => {
    const calls = waiting
    waiting = []
    return admitAll(pool, limits, calls)
  })

  return {
    admit: (hash) =>
      new Promise((resolve, reject) => {
        if (waiting.length >= waitingCalls) throw new Unavailable('too many calls are waiting')
        waiting.push({ hash, id: hash.toString('latin1'), resolve, reject })
        ticks.ask()
      }),
  }
}

/** Runs one statement for all calls and answers each; never rejects. */
async function admitAll(pool: Pool, limits: QuotaLimits, calls: readonly Waiting[]): Promise<void> {
  try {
    const { keys, companies } = await count(pool, limits, calls)
    for (const call of calls) {
      const key = keys.get(call.id)
      const company = key && companies.get(key.company_id)
      if (company) company.served += 1
      call.resolve(company ? admission(key, company.windows, company.served, limits) : INVALID)
    }
  } catch (error) {
    const unavailable = new Unavailable('calls cannot be counted', { cause: error })
    for (const call of calls) call.reject(unavailable)
  }
}

interface Counted {
  /** The live ones, by the text of their hash. */
  readonly keys: Map<string, FoundKey>
  readonly companies: Map<number, { readonly windows: CountedCompany; served: number }>
}

async function count(pool: Pool, limits: QuotaLimits, calls: readonly Waiting[]): Promise<Counted> {
  const asked = new Map<string, { readonly id: string; readonly hash: Buffer; calls: number }>()
  for (const { id, hash } of calls) {
    const key = asked.get(id)
    if (key) key.calls += 1
    else asked.set(id, { id, hash, calls: 1 })
  }
  const list = [...asked.values()]
  const { rows } = await pool.query<FoundKey | CountedCompany>({
    ...COUNT_CALLS,
    values: [list.map((key) => key.hash), list.map((key) => key.calls), limits.perMinute, limits.perDay],
  })
  const counted: Counted = { keys: new Map(), companies: new Map() }
  for (const row of rows) {
    if (row.position === null) counted.companies.set(row.company_id, { windows: row, served: 0 })
    else counted.keys.set(list[row.position - 1]?.id ?? '', row)
  }
  return counted
}

/** The answer to the n-th call of a company within a tick: the first ones are granted, in order of arrival. */
function admission(found: FoundKey, windows: CountedCompany, place: number, limits: QuotaLimits): Admitted {
  const { company_id: companyId, api_key_id: keyId, scopes, plan, timezone, revision, tables } = found
  const later = Math.max(0, windows.granted - place)
  const minute = rateOf(limits.perMinute, windows.minute_count - later, windows.minute_ends, windows.now)
  const day = rateOf(limits.perDay, windows.day_count - later, windows.day_ends, windows.now)
  return {
    kind: place <= windows.granted ? 'admitted' : 'limited',
    companyId,
    keyId,
    scopes,
    plan,
    timezone,
    revision,
    tables,
    now: new Date(windows.now * 1000).toISOString(),
    rate: nearer(minute, day),
  }
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
