/** A live key that was found. */
export interface FoundKey {
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
export interface CountedCompany {
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
export const COUNT_CALLS = {
  name: 'count_calls',
  text: `
with clock as materialized (
  select statement_timestamp() as now, set_config('synchronous_commit', 'off', true)
), found as materialized (
  select asked.position::int, asked.calls, s.api_key_id, c.company_id, c.timezone, c.plan, l.revision, c.tableoid as tables, k.doc -> 'scopes' as scopes
  from unnest($1::bytea[], $2::int[]) with ordinality as asked(hash, calls, position)
  join ops.api_key_secrets s on s.hash = asked.hash
  join read.api_keys k on k.company_id = s.company_id and k.id = s.api_key_id
  join read.companies c on c.company_id = s.company_id
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
