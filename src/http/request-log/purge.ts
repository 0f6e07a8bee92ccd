import type { Pool, QueryConfig } from 'pg'
import { REQUEST_LOG_BOUNDS, type RequestLogBounds } from './bounds.ts'

const KEPT_DAYS = 7

/**
 * Deletes requests older than 7 days (KIT-53). Returns their number. Not a rule of retention, because the counts of the
 * companies change with their rows.
 */
export const purgeOldRequests = (pool: Pool, limit: number): Promise<number> =>
  countOf(pool, { ...DELETE_OLD, values: [KEPT_DAYS, limit] })

/**
 * Deletes the oldest requests of companies beyond their bound (KIT-53). If the total is exceeded, each company keeps an
 * equal part: a busy company displaces only its own. Returns the number of deleted rows; repeat it until that is 0.
 */
export const purgeExcessRequests = (
  pool: Pool,
  limit: number,
  { ofCompany, ofAll }: RequestLogBounds = REQUEST_LOG_BOUNDS,
): Promise<number> =>
  countOf(pool, { ...DELETE_EXCESS, values: [ofCompany.calls, ofCompany.bytes, ofAll.calls, ofAll.bytes, limit] })

async function countOf(pool: Pool, statement: QueryConfig): Promise<number> {
  const { rows } = await pool.query<{ deleted: number }>(statement)
  return rows[0]?.deleted ?? 0
}

/** CTE that deletes `doomed` and counts it. */
const DELETE_DOOMED = `gone as (
  delete from calls where (company_id, id) in (select company_id, id from doomed) returning company_id, bytes
), sums as (
  select company_id, count(*) as calls, sum(bytes) as bytes from gone group by company_id
), counted as (
  update call_counts c set calls = c.calls - s.calls, bytes = c.bytes - s.bytes from sums s where c.company_id = s.company_id
)
select coalesce(sum(calls), 0)::int as deleted from sums`

/** Ids start with their time. */
const DELETE_OLD = {
  name: 'delete_old_calls',
  text: `
with bound as materialized (
  select rpad(lpad(to_hex((extract(epoch from now() - make_interval(days => $1)) * 1000)::bigint), 12, '0'), 32, '0')::uuid as id
), doomed as materialized (
  select old.company_id, old.id from call_counts c cross join bound cross join lateral (
    select o.company_id, o.id from calls o where o.company_id = c.company_id and o.id < bound.id order by o.id limit $2::int) as old
  where c.calls > 0 limit $2::int
), ${DELETE_DOOMED}`,
}

const DELETE_EXCESS = {
  name: 'delete_excess_calls',
  text: `
with counts as materialized (
  select company_id, calls, bytes, sum(calls) over () as all_calls, sum(bytes) over () as all_bytes, count(*) over () as companies
  from call_counts where calls > 0
), may as (
  select company_id, calls, bytes, case when all_calls > $3 then least($1::bigint, $3::bigint / companies) else $1 end as may_calls,
    case when all_bytes > $4 then least($2::bigint, $4::bigint / companies) else $2 end as may_bytes
  from counts
), doomed as materialized (
  select o.company_id, o.id from may cross join lateral (
    select company_id, id from calls where company_id = may.company_id order by id
    limit least($5::bigint, greatest(may.calls - may_calls, ceil(may.calls * (may.bytes - may_bytes)::float8 / may.bytes)::bigint, 0))) as o
  where may.calls > may_calls or may.bytes > may_bytes limit $5::int
), ${DELETE_DOOMED}`,
}
