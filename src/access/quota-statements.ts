/** A valid key. */
export interface AuthenticatedKey {
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
export interface CountedCompany {
  position: null
  company_id: number
  /** Bytes of each admitted request, in order of arrival; null for a refused one. */
  passed: (number | null)[]
  minute_count: number
  minute_ends: number
  day_count: number
  day_ends: number
  day_bytes: number
  now: number
}

/** The next day ends at least 20 hours after the last one, so that a change of time zone adds no extra day (RATE-4). */
const nextDay = (timezone: string) =>
  `ops.end_of_day(greatest(clock.now, known.day_ends_at + interval '20 hours'), ${timezone})`

/** Sum of the bytes of admitted requests. */
const SUM = '(select coalesce(sum(one), 0) from unnest(passed) as one)'

/** Fast path if all requests fit, which is the usual case: no loop over the requests. */
const FITS = 'asked <= calls_left and asked_bytes <= bytes_left'
const PASSED = `case when ${FITS} then bytes else ops.let_through(bytes, calls_left, bytes_left) end`
const CALLS = `case when ${FITS} then asked else cardinality(array_remove(passed, null)) end`
const BYTES = `case when ${FITS} then asked_bytes else ${SUM} end`

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
export const COUNT_CALLS = {
  name: 'count_calls',
  text: `
with clock as materialized (
  select clock_timestamp() as now, set_config('synchronous_commit', 'off', true)
), found as materialized (
  select asked.position::int, s.api_key_id, c.company_id, c.timezone, c.clock_ahead_ms, c.plan, l.revision, c.tableoid as tables, k.doc -> 'scopes' as scopes
  from unnest($1::bytea[]) with ordinality as asked(hash, position)
  join ops.api_key_secrets s on s.hash = asked.hash
  join api_keys k on k.company_id = s.company_id and k.id = s.api_key_id
  join companies c on c.company_id = s.company_id
  join ops.ledgers l on l.company_id = s.company_id
  cross join clock
  where k.revoked_at is null and (k.expires_at is null or k.expires_at > clock.now)
), asking as materialized (
  select f.company_id, min(f.timezone) as timezone, array_agg(call.bytes order by call.place) as bytes,
    count(*)::int as asked, sum(call.bytes)::bigint as asked_bytes
  from unnest($2::int[], $3::bigint[]) with ordinality as call(position, bytes, place) join found f on f.position = call.position
  group by f.company_id
), counted as (
  insert into ops.quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, passed)
  select company_id, now + interval '1 minute', ${CALLS}, day_ends_at, ${CALLS}, ${BYTES}, passed
  from (
    select *, ${PASSED} as passed
    from (
      select a.*, clock.now, least($4::int, $5::int) as calls_left, $6::bigint as bytes_left,
        case when known.day_ends_at > clock.now then known.day_ends_at
          else ${nextDay('a.timezone')} end as day_ends_at
      from asking a cross join clock left join ops.quotas known on known.company_id = a.company_id
      order by a.company_id
    ) as room
  ) as first
  on conflict (company_id) do update set (minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, passed) = (
    select case when calls = 0 or q.minute_ends_at > now then q.minute_ends_at else excluded.minute_ends_at end,
      minute_used + calls,
      case when q.day_ends_at > now then q.day_ends_at else excluded.day_ends_at end,
      day_used + calls,
      bytes_used + ${BYTES},
      passed
    from (
      select *, ${CALLS} as calls
      from (
        select *, ${PASSED} as passed
        from (
          select used.*, a.*, greatest(0, least($4::int - minute_used, $5::int - day_used)) as calls_left, $6::bigint - bytes_used as bytes_left
          from (
            select now,
              case when q.minute_ends_at > now then q.minute_count else 0 end as minute_used,
              case when q.day_ends_at > now then q.day_count else 0 end as day_used,
              case when q.day_ends_at > now then q.day_bytes else 0 end as bytes_used
            from clock
          ) as used join asking a on a.company_id = q.company_id
        ) as room
        offset 0
      ) as decided
    ) as told
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
  null::bigint[] as passed, null::int as minute_count, null::float8 as minute_ends, null::int as day_count, null::float8 as day_ends,
  null::bigint as day_bytes, null::float8 as now
from found
union all
select null, company_id, null, null, null, null, null, null, null,
  passed, minute_count, date_part('epoch', minute_ends_at), day_count, date_part('epoch', day_ends_at),
  day_bytes, date_part('epoch', clock.now)
from counted cross join clock`,
}

/** $1 company, $2 bytes of one body, $3 bytes per day. Counts the whole body or nothing, and starts no minute. */
export const CHARGE_BYTES = {
  name: 'charge_bytes',
  text: `
with clock as materialized (
  select clock_timestamp() as now, set_config('synchronous_commit', 'off', true)
), counted as (
  insert into ops.quotas as q (company_id, minute_ends_at, minute_count, day_ends_at, day_count, day_bytes, passed)
  select company_id, now, 0, day_ends_at, 0, ${SUM}, passed
  from (select c.company_id, ${nextDay('c.timezone')} as day_ends_at, clock.now, ops.let_through(array[$2::bigint], 1, $3::bigint) as passed
    from companies c cross join clock left join ops.quotas known on known.company_id = c.company_id where c.company_id = $1) as first
  on conflict (company_id) do update set (day_ends_at, day_count, day_bytes, passed) = (
    select case when q.day_ends_at > now then q.day_ends_at else excluded.day_ends_at end, day_used, bytes_used + ${SUM}, passed
    from (
      select used.*, ops.let_through(array[$2::bigint], 1, $3::bigint - bytes_used) as passed
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
select passed, day_bytes, date_part('epoch', day_ends_at) as day_ends, date_part('epoch', clock.now) as now
from counted cross join clock`,
}
