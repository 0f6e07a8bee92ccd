import type { Pool } from 'pg'
import { coalesce } from '#lib/repeat.ts'
import { Unavailable } from '#lib/unavailable.ts'

/** Calls a company may make, all its keys summed (RATE-1). */
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

/** A live key that was found. */
interface FoundKey {
  /** Of the key's hash in the statement's array, from 1. */
  position: number
  company_id: number
  timezone: string
  revision: number
  tables: number
  plan: string
  api_key_id: number
  scopes: string[]
}

/** The windows of a company after all its calls of the tick; times are in seconds since 1970. */
interface CountedCompany {
  position: null
  company_id: number
  /** How many of the calls were let through. */
  granted: number
  minute_count: number
  minute_ends: number
  day_count: number
  day_ends: number
  now: number
}

/**
 * One tick: looks the keys up, counts the calls of their companies, notes the use of the keys.
 * $1 hashes, $2 calls of each, $3 calls a minute, $4 calls a day.
 *
 * - Keys are read as of the statement, so that a revocation counts at once in every process.
 * - `on conflict do update` decides on the newest row under its lock, so that the counts are exact whoever else counts.
 * - Rows are locked in order: quotas by company, then uses by key. `used` sorts what `counted` returns, so it cannot begin
 *   before that is done, and two processes can never wait for each other.
 * - An exhausted day leaves the minute alone: what is granted is the lesser of what both windows leave.
 * - Counting need not survive a crash of Postgres, so the commit does not wait for the disk.
 */
const COUNT_CALLS = {
  name: 'count_calls',
  text: `
with clock as materialized (
  select statement_timestamp() as now, set_config('synchronous_commit', 'off', true)
), found as materialized (
  select asked.position::int, asked.calls, s.api_key_id, c.company_id, c.timezone, c.plan, l.revision, c.tableoid as tables, k.doc -> 'scopes' as scopes
  from unnest($1::bytea[], $2::int[]) with ordinality as asked(hash, calls, position)
  join ops.api_key_secrets s on s.hash = asked.hash
  join api_keys k on k.company_id = s.company_id and k.id = s.api_key_id
  join companies c on c.company_id = s.company_id
  join ops.ledgers l on l.company_id = s.company_id
  cross join clock
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock.now)
), counted as (
  insert into ops.quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count, granted)
  select company_id, now + interval '1 minute', calls, day_ends_at, calls, calls
  from (
    select f.company_id, clock.now, least(sum(f.calls), $3, $4)::int as calls,
      case when known.day_ends_at > clock.now then known.day_ends_at
        else ops.end_of_day(clock.now, min(f.timezone)) end as day_ends_at
    from found f cross join clock left join ops.quotas known on known.company_id = f.company_id
    group by f.company_id, clock.now, known.day_ends_at
    order by f.company_id
  ) as asking
  on conflict (company_id) do update set (minute_ends_at, minute_count, day_ends_at, day_count, granted) = (
    select case when grantable = 0 or q.minute_ends_at > now then q.minute_ends_at else excluded.minute_ends_at end,
      minute_used + grantable,
      case when q.day_ends_at > now then q.day_ends_at else excluded.day_ends_at end,
      day_used + grantable,
      grantable
    from (
      select now, minute_used, day_used, greatest(0, least(excluded.granted, $3 - minute_used, $4 - day_used)) as grantable
      from (
        select now,
          case when q.minute_ends_at > now then q.minute_count else 0 end as minute_used,
          case when q.day_ends_at > now then q.day_count else 0 end as day_used
        from clock
      ) as used
    ) as decided
  )
  returning *
), used as (
  insert into ops.api_key_uses as u (api_key_id, last_used_at)
  select f.api_key_id, clock.now
  from found f
  cross join clock
  left join ops.api_key_uses known on known.api_key_id = f.api_key_id
  where (select count(*) from counted) > 0
    and (known.api_key_id is null or known.last_used_at < clock.now - interval '1 minute')
  order by f.api_key_id
  on conflict (api_key_id) do update set last_used_at = greatest(u.last_used_at, excluded.last_used_at)
)
select position, company_id, timezone, plan, revision, tables, api_key_id, scopes,
  null::int as granted, null::int as minute_count, null::float8 as minute_ends, null::int as day_count, null::float8 as day_ends, null::float8 as now
from found
union all
select null, company_id, null, null, null, null, null, null,
  granted, minute_count, date_part('epoch', minute_ends_at), day_count, date_part('epoch', day_ends_at), date_part('epoch', clock.now)
from counted cross join clock`,
}
