import type { Pool } from 'pg'
import { recordsEvents } from '#background/records-events.ts'
import { type RoundRobin, roundRobinOrder } from '#background/round-robin.ts'
import { companysTimeSql } from '#projections/companies.ts'
import type { PaymentObject } from '#projections/order-payments.ts'
import type { RefundObject } from '#projections/order-refunds.ts'

/** Order to poll, leased to this process. */
export interface SweepClaim {
  readonly company_id: number
  readonly orderId: number
  readonly storeAlias: string
  readonly reference: string
  readonly totalCents: number
  /** Recorded payments. */
  readonly payments: readonly PaymentObject[]
  readonly refunds: readonly RefundObject[]
  /** Cancelled by its store. */
  readonly isCancelled: boolean
  /** Company time, by the database's clock. */
  readonly polledAt: string
  /** Whether it was leased because a payment expired. */
  readonly isExpired: boolean
}

/** Columns of leased orders. */
const CLAIMED = `
    select o.company_id, o.id as "orderId", o.store_alias as "storeAlias", o.total_cents as "totalCents",
           o.provider_reference as reference, o.doc -> 'payments' as payments, o.doc -> 'refunds' as refunds,
           o.doc ->> 'cancelled_at' is not null as "isCancelled", ${companysTimeSql('clock_timestamp()')} as "polledAt"
    from claimed join orders o on o.company_id = claimed.company_id and o.id = claimed.order_id
    join companies c on c.company_id = o.company_id`

/** Upper bound for one order: two provider calls for each of its payments, and waits for slots. */
const LEASE_SECONDS = 300
const LEASE = `(select clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}) as ends) lease`
/** Time after the last poll of the schedule, for polls missed in an outage. */
const GRACE_SECONDS = 86_400

/** A subquery rather than a join, so that orders are found by their time and not by company. */
const IS_OF_TEST = '(select is_test from companies own where own.company_id = o.company_id)'

/** Parts of a statement: the rows of `waiting` that are leased, the oldest of each company first, companies in turn. */
const dueInTurn = (column: string, limit: string, after: string): string => `ranked as (
      select *, row_number() over (partition by company_id order by ${column}) as place from waiting
    ), due as (
      select * from ranked where place <= ${limit} order by place, ${roundRobinOrder('company_id', after)} limit ${limit}
    )`

/**
 * Leases orders with a scheduled poll since their latest attempt. Missed polls become one. The upsert lets one process
 * win; it runs in key order, which excludes deadlocks. Uses `now()`, which an index can be searched for: only recent
 * orders are read.
 */
const CLAIM = {
  name: 'claim_payment_sweeps',
  text: `
    with waiting as materialized (
      select o.company_id, o.id, o.attempted_at, m.passes
      from orders o
      cross join lateral (
        select width_bucket(extract(epoch from now() - o.attempted_at)::float8, $1::float8[]) as passes
      ) m
      left join payment_sweeps w on w.company_id = o.company_id and w.order_id = o.id and w.attempted_at = o.attempted_at
        and w.attempted_at > now() - make_interval(secs => $2)
      where o.attempted_at > now() - make_interval(secs => $2)
        and m.passes > coalesce(w.passes, 0)
        and (w.next_poll_at is null or w.next_poll_at < now()) and ${recordsEvents('o.company_id')}
        and o.store_alias not in (select unnest($5::text[])) and ${IS_OF_TEST} = $4
      order by o.attempted_at
    ), ${dueInTurn('attempted_at', '$3', '$6')}, claimed as (
      insert into payment_sweeps as w (company_id, order_id, attempted_at, claimed_passes, next_poll_at, leased_until)
      select company_id, id, attempted_at, passes, lease.ends, lease.ends
      from due cross join ${LEASE} order by company_id, id
      on conflict (company_id, order_id) do update
        set attempted_at = excluded.attempted_at, claimed_passes = excluded.claimed_passes, next_poll_at = excluded.next_poll_at,
            leased_until = excluded.leased_until,
            passes = case when w.attempted_at = excluded.attempted_at then w.passes else 0 end
        where (w.next_poll_at is null or w.next_poll_at < clock_timestamp())
          and (w.attempted_at <> excluded.attempted_at or w.passes < excluded.claimed_passes)
      returning company_id, order_id
    )
    ${CLAIMED}`,
}

/**
 * Leases orders with an expired pending payment, regardless of the schedule; `sooner` covers test companies with a
 * moved clock. They stay due until the provider has ended the payment, and are retried after RETRY_SECONDS.
 */
const CLAIM_EXPIRED = {
  name: 'claim_expired_orders',
  text: `
    with expired as materialized (
      select o.company_id, o.id, o.attempted_at, o.expires_at, o.store_alias
      from orders o
      where o.expires_at > now() - make_interval(secs => $1) and o.expires_at <= now() and ${IS_OF_TEST} = $3
      order by o.expires_at
    ), sooner as (
      select o.company_id, o.id, o.attempted_at, o.expires_at, o.store_alias
      from companies c
      join orders o on o.company_id = c.company_id and o.expires_at > now() and o.expires_at <= ${companysTimeSql('now()')}
      where c.clock_ahead_ms > 0 and c.is_test = $3
    ), waiting as (
      select o.* from (select * from expired union all select * from sooner) o
      left join payment_sweeps w on w.company_id = o.company_id and w.order_id = o.id
      where (w.next_poll_at is null or w.next_poll_at < now()) and ${recordsEvents('o.company_id')}
        and o.store_alias not in (select unnest($4::text[]))
    ), ${dueInTurn('expires_at', '$2', '$5')}, claimed as (
      insert into payment_sweeps as w (company_id, order_id, attempted_at, claimed_passes, next_poll_at, leased_until)
      select company_id, id, attempted_at, 0, lease.ends, lease.ends
      from due cross join ${LEASE} order by company_id, id
      on conflict (company_id, order_id) do update
        set next_poll_at = excluded.next_poll_at, leased_until = excluded.leased_until, claimed_passes = w.passes
        where w.next_poll_at is null or w.next_poll_at < clock_timestamp()
      returning company_id, order_id
    )
    ${CLAIMED}`,
}

interface ClaimShare {
  readonly limit: number
  readonly companies: RoundRobin
  /** Orders of test companies, or of all others. */
  readonly isTest: boolean
  /** Aliases of stores that are left out. */
  readonly failing: readonly string[]
}

const windowOf = (schedule: readonly number[]): number => (schedule.at(-1) ?? 0) + GRACE_SECONDS

/** `schedule`: seconds after the attempt, ascending. */
export async function claimSweeps(
  pool: Pool,
  schedule: readonly number[],
  { limit, companies, isTest, failing }: ClaimShare,
): Promise<SweepClaim[]> {
  const values = [schedule, windowOf(schedule), limit, isTest, failing]
  const rows = await companies.take<SweepClaim>(pool, CLAIM, values)
  return rows.map((claim) => ({ ...claim, isExpired: false }))
}

export async function claimExpired(
  pool: Pool,
  schedule: readonly number[],
  { limit, companies, isTest, failing }: ClaimShare,
): Promise<SweepClaim[]> {
  const rows = await companies.take<SweepClaim>(pool, CLAIM_EXPIRED, [windowOf(schedule), limit, isTest, failing])
  return rows.map((claim) => ({ ...claim, isExpired: true }))
}

/** Delay before a failed order is polled again, so that others come first. */
const RETRY_SECONDS = 120

/** Releases the lease: marks the poll as done, or leaves it for a retry. */
export async function endSweep(
  pool: Pool,
  { company_id: companyId, orderId, isExpired }: SweepClaim,
  { isDone }: { readonly isDone: boolean },
): Promise<void> {
  await pool.query({
    name: 'end_payment_sweep',
    text: `update payment_sweeps set next_poll_at = case when $3 and not $4 then null else clock_timestamp() + make_interval(secs => ${RETRY_SECONDS}) end,
               leased_until = null, passes = case when $3 then claimed_passes else passes end
           where company_id = $1 and order_id = $2`,
    values: [companyId, orderId, isDone, isExpired],
  })
}
