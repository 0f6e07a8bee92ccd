import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { coalesce } from '#lib/background-loops.ts'
import { Unavailable } from '#lib/errors.ts'

/** 256 bits. */
export const KEY_BYTES = 32

const PREFIX_LENGTH = 12
const FORMAT = /^tb_(?:live|test)_[A-Za-z0-9_-]{43}$/

/** A new key. `key` is shown once and not stored. */
export interface NewKey {
  readonly key: string
  /** First characters, for recognition. */
  readonly prefix: string
  readonly hash: Buffer
}

/** Part of the key that distinguishes test companies from real ones. */
export const toKeyMode = (isTest: boolean): 'live' | 'test' => (isTest ? 'test' : 'live')

/** Creates a key from KEY_BYTES random bytes. */
export function newKey(random: Buffer, mode: 'live' | 'test' = 'live'): NewKey {
  if (random.length !== KEY_BYTES) throw new RangeError(`a key takes ${KEY_BYTES} random bytes`)
  const key = `tb_${mode}_${random.toString('base64url')}`
  return { key, prefix: key.slice(0, PREFIX_LENGTH), hash: hashKey(key) }
}

/** Hash by which a key is stored. 256 random bits need no slow hash: they cannot be guessed. */
export function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest()
}

/** Checks the format, so that other texts are refused without a lookup. */
export function isKey(text: string): boolean {
  return FORMAT.test(text)
}

/** A valid key. */
interface AuthenticatedKey {
  /** Index of the key's hash in the statement's array, from 1. */
  position: number
  company_id: number
  timezone: string
  /** Offset of a test company's clock. */
  clock_ahead_ms: number
  revision: number
  tables: number
  plan: string
  api_key_id: number
  scopes: string[]
}

/** Windows of a company after all its requests of the tick; times in Unix seconds. */
interface CountedCompany {
  position: null
  company_id: number
  /** Bytes of each admitted request, in order of arrival; null for a refused one. */
  admitted_bytes: (number | null)[]
  minute_count: number
  minute_ends: number
  day_count: number
  day_ends: number
  day_bytes: number
  now: number
}

/** The next day ends at least 20 hours after the last one, so that a change of time zone adds no extra day. */
const nextDay = (timezone: string) =>
  `ops.end_of_day(greatest(clock.now, known.day_ends_at + interval '20 hours'), ${timezone})`

/** Sum of the bytes of admitted requests. */
const SUM = '(select coalesce(sum(one), 0) from unnest(admitted_bytes) as one)'

/** Fast path if all requests fit, which is the usual case: no loop over the requests. */
const FITS = 'requested <= calls_left and requested_bytes <= bytes_left'
const ADMITTED = `case when ${FITS} then bytes else ops.admit_requests(bytes, calls_left, bytes_left) end`
const CALLS = `case when ${FITS} then requested else cardinality(array_remove(admitted_bytes, null)) end`
const BYTES = `case when ${FITS} then requested_bytes else ${SUM} end`

/**
 * One tick: looks up the keys, counts their companies' requests and body bytes, and records the use of the keys.
 * $1 hashes, $2 of each request the position of its hash, $3 its bytes, $4 requests per minute, $5 requests per day, $6
 * bytes per day.
 *
 * - Keys are read as of the statement, so that a revocation takes effect at once in every process.
 * - `on conflict do update` decides on the newest row under its lock, so that concurrent counts are exact.
 * - Rows are locked in order: quotas by company, then uses by key. `used` sorts the output of `counted`, so it starts
 *   after `counted` has ended, and two processes cannot deadlock.
 * - An exhausted day does not consume the minute: the grant is the minimum of both windows, as far as bodies fit.
 * - Counts need not survive a crash of Postgres, so the commit does not wait for the disk.
 */
const COUNT_CALLS = {
  name: 'count_calls',
  text: `
with clock as materialized (
  select clock_timestamp() as now, set_config('synchronous_commit', 'off', true)
), found as materialized (
  select sent.position::int, s.api_key_id, c.company_id, c.timezone, c.clock_ahead_ms, c.plan, l.revision, c.tableoid as tables, k.doc -> 'scopes' as scopes
  from unnest($1::bytea[]) with ordinality as sent(hash, position)
  join ops.api_key_secrets s on s.hash = sent.hash
  join api_keys k on k.company_id = s.company_id and k.id = s.api_key_id
  join companies c on c.company_id = s.company_id
  join ops.ledgers l on l.company_id = s.company_id
  cross join clock
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock.now)
), requesting as materialized (
  select f.company_id, min(f.timezone) as timezone, array_agg(call.bytes order by call.place) as bytes,
    count(*)::int as requested, sum(call.bytes)::bigint as requested_bytes
  from unnest($2::int[], $3::bigint[]) with ordinality as call(position, bytes, place) join found f on f.position = call.position
  group by f.company_id
), counted as (
  insert into ops.quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, admitted_bytes)
  select company_id, now + interval '1 minute', ${CALLS}, day_ends_at, ${CALLS}, ${BYTES}, admitted_bytes
  from (
    select *, ${ADMITTED} as admitted_bytes
    from (
      select a.*, clock.now, least($4::int, $5::int) as calls_left, $6::bigint as bytes_left,
        case when known.day_ends_at > clock.now then known.day_ends_at
          else ${nextDay('a.timezone')} end as day_ends_at
      from requesting a cross join clock left join ops.quotas known on known.company_id = a.company_id
      order by a.company_id
    ) as room
  ) as first
  on conflict (company_id) do update set (minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, admitted_bytes) = (
    select case when calls = 0 or q.minute_ends_at > now then q.minute_ends_at else excluded.minute_ends_at end,
      minute_used + calls,
      case when q.day_ends_at > now then q.day_ends_at else excluded.day_ends_at end,
      day_used + calls,
      bytes_used + ${BYTES},
      admitted_bytes
    from (
      select *, ${CALLS} as calls
      from (
        select *, ${ADMITTED} as admitted_bytes
        from (
          select used.*, a.*, greatest(0, least($4::int - minute_used, $5::int - day_used)) as calls_left, $6::bigint - bytes_used as bytes_left
          from (
            select now,
              case when q.minute_ends_at > now then q.minute_count else 0 end as minute_used,
              case when q.day_ends_at > now then q.day_count else 0 end as day_used,
              case when q.day_ends_at > now then q.day_bytes else 0 end as bytes_used
            from clock
          ) as used join requesting a on a.company_id = q.company_id
        ) as room
        offset 0
      ) as decided
    ) as result
  )
  returning *
), used as (
  insert into ops.api_key_uses as u (company_id, api_key_id, last_used_at)
  select f.company_id, f.api_key_id, clock.now
  from found f
  cross join clock
  left join ops.api_key_uses known on known.company_id = f.company_id and known.api_key_id = f.api_key_id
  where (select count(*) from counted) > 0
    and (known.api_key_id is null or known.last_used_at < clock.now - interval '1 minute')
  order by f.company_id, f.api_key_id
  on conflict (company_id, api_key_id) do update set last_used_at = greatest(u.last_used_at, excluded.last_used_at)
)
select position, company_id, timezone, clock_ahead_ms, plan, revision, tables, api_key_id, scopes,
  null::bigint[] as admitted_bytes, null::int as minute_count, null::float8 as minute_ends, null::int as day_count, null::float8 as day_ends,
  null::bigint as day_bytes, null::float8 as now
from found
union all
select null, company_id, null, null, null, null, null, null, null,
  admitted_bytes, minute_count, date_part('epoch', minute_ends_at), day_count, date_part('epoch', day_ends_at),
  day_bytes, date_part('epoch', clock.now)
from counted cross join clock`,
}

/** $1 company, $2 bytes of one body, $3 bytes per day. Counts the whole body or nothing, and starts no minute. */
const CHARGE_BYTES = {
  name: 'charge_bytes',
  text: `
with clock as materialized (
  select clock_timestamp() as now, set_config('synchronous_commit', 'off', true)
), counted as (
  insert into ops.quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, admitted_bytes)
  select company_id, now, 0, day_ends_at, 0, ${SUM}, admitted_bytes
  from (select c.company_id, ${nextDay('c.timezone')} as day_ends_at, clock.now, ops.admit_requests(array[$2::bigint], 1, $3::bigint) as admitted_bytes
    from companies c cross join clock left join ops.quotas known on known.company_id = c.company_id where c.company_id = $1) as first
  on conflict (company_id) do update set (day_ends_at, day_count, day_bytes, admitted_bytes) = (
    select case when q.day_ends_at > now then q.day_ends_at else excluded.day_ends_at end, day_used, bytes_used + ${SUM}, admitted_bytes
    from (
      select used.*, ops.admit_requests(array[$2::bigint], 1, $3::bigint - bytes_used) as admitted_bytes
      from (
        select now,
          case when q.day_ends_at > now then q.day_count else 0 end as day_used,
          case when q.day_ends_at > now then q.day_bytes else 0 end as bytes_used
        from clock
      ) as used
    ) as decided
  )
  returning *
)
select admitted_bytes, day_bytes, date_part('epoch', day_ends_at) as day_ends, date_part('epoch', clock.now) as now
from counted cross join clock`,
}

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
  const admitted = windows.admitted_bytes.filter((bytes) => bytes !== null)
  const bytes = admitted.reduce((sum, one) => sum + one, 0)
  return { windows, letThrough: admitted.length, bytes, answered: 0, served: 0, servedBytes: 0 }
}

/** Result of a company's next request within a tick, in order of arrival. */
function admission(found: AuthenticatedKey, company: Serving, limits: QuotaLimits): AuthenticatedCall {
  const { company_id: companyId, api_key_id: keyId, scopes, plan, timezone, clock_ahead_ms, revision, tables } = found
  const { windows } = company
  const bytes = windows.admitted_bytes[company.answered++] ?? null
  if (bytes !== null) {
    company.served += 1
    company.servedBytes += bytes
  }
  const later = company.letThrough - company.served
  const minute = rateOf(limits.perMinute, windows.minute_count - later, windows.minute_ends, windows.now)
  const day = rateOf(limits.perDay, windows.day_count - later, windows.day_ends, windows.now)
  const hasCalls = windows.minute_count < limits.perMinute && windows.day_count < limits.perDay
  return {
    // If requests are left, the body exceeded the byte limit.
    kind: bytes !== null ? 'admitted' : hasCalls ? 'too_many_bytes' : 'limited',
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
  type Row = Pick<CountedCompany, 'admitted_bytes' | 'day_bytes' | 'day_ends' | 'now'>
  const values = [companyId, bytes, limit]
  const { rows } = await pool.query<Row>({ ...CHARGE_BYTES, values }).catch((error: unknown) => {
    throw new Unavailable('bytes cannot be counted', { cause: error })
  })
  const [row] = rows
  if (!row) throw new Error(`there is no company ${companyId} to count bytes of`)
  return { isCounted: row.admitted_bytes.some((one) => one !== null), bytes: bytesLeft(limit, row.day_bytes, row) }
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
