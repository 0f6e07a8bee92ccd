import type { Pool } from 'pg'
import type { Sendable } from './sender.ts'
import type { Room } from './slots.ts'
import { WAITING_ADDRESSES } from './waiting-addresses.ts'

/** A delivery that is this process's to send until its lease ends. */
export interface Claim extends Sendable {
  readonly company_id: number
  readonly webhook_id: number
  readonly message_id: string
  /** Attempts made before this one. */
  readonly tries: number
  /** What `next_attempt_at` was set to; while it stands, nobody else has claimed the delivery or asked for it again. */
  readonly leased_until: string
  /** As the address had it, to the microsecond: answers are about this generation of it. */
  readonly watched_since: string
  readonly failing: boolean
}

export interface Claimed {
  readonly claims: readonly Claim[]
  /** Until the next delivery of any address is due; null when none is waiting. */
  readonly next_due_ms: number | null
}

/**
 * Attempts under way at a time, by how an address does. With 8, 16 and 32 a single address got 400, 650 and 1,400 deliveries
 * a second, from one process on two cores that did much else.
 */
const PER_ADDRESS = {
  /** Its last answer was a success. */
  sound: 32,
  /** Nothing is known of it yet. */
  unproven: 2,
  /** An attempt has been waiting for its answer for more than a moment. */
  slow: 4,
  failing: 1,
}

/**
 * Takes deliveries that are due, oldest first within an address and as many of each address as of any other. Processes
 * share the work: what one has locked or taken is passed over by the others.
 */
export async function takeDue(pool: Pool, { sound, strained, busy }: Room, lease_ms: number): Promise<Claimed> {
  const { rows } = await pool.query<Claim & { next_due_ms: number | null; id: string | null }>({
    ...TAKE_DUE,
    values: [JSON.stringify(busy), sound, strained, lease_ms],
  })
  return { claims: rows.filter(({ id }) => id !== null), next_due_ms: rows[0]?.next_due_ms ?? null }
}

/**
 * $1 attempts under way by address, $2 and $3 attempts that sound and strained addresses may get, $4 length of a lease.
 *
 * - A claim pushes next_attempt_at ahead. If the process dies, the delivery is due again after that.
 * - `share`: when many addresses wait, each gets an equal part of what may start, at least one.
 * - Rows are looked up by all columns that any index of theirs has, so that each index finds them at once: while a table is
 *   young, Postgres takes them all for equally good, and one that begins with the company would read all of its rows.
 * - `picked` is materialized, because it locks as many rows again whenever it is evaluated again.
 * - A claim that is lost in a crash of Postgres does no harm, so the commit does not wait for the disk.
 */
const TAKE_DUE = {
  name: 'take_due_deliveries',
  text: `
with recursive clock as materialized (
  select date_trunc('milliseconds', statement_timestamp()) as now, set_config('synchronous_commit', 'off', true)
), ${WAITING_ADDRESSES}, due as (
  select a.company_id, a.webhook_id, a.next_attempt_at, w.url, w.watched_since, state.failing, state.failing or state.slow as strained,
    case when state.failing then ${PER_ADDRESS.failing} when h.last_success_at is null then ${PER_ADDRESS.unproven}
      when state.slow then ${PER_ADDRESS.slow} else ${PER_ADDRESS.sound} end
      - coalesce(($1::jsonb -> a.webhook_id::text -> 'flights')::int, 0) as free
  from address a cross join clock
  join webhooks w on w.company_id = a.company_id and w.id = a.webhook_id and w.enabled
  left join webhook_health h on h.company_id = a.company_id and h.webhook_id = a.webhook_id
  cross join lateral (
    select coalesce(h.failing_since >= w.watched_since, false) as failing,
      coalesce(($1::jsonb -> a.webhook_id::text -> 'slow')::bool, false) as slow) as state
  where a.next_attempt_at <= clock.now
), ranked as (
  select *, case when strained then $3::int else $2::int end as room,
    row_number() over same as place, count(*) over (partition by strained) as waiting
  from due where free > 0 window same as (partition by strained order by next_attempt_at, webhook_id)
), share as (
  select *, least(free, greatest(1, room / waiting)) as claimable from ranked where place <= room
), picked as materialized (
  select s.company_id, one.id, s.webhook_id, one.message_id, s.url, s.watched_since, s.failing
  from share s cross join clock cross join lateral (
    select id, message_id from webhook_deliveries x
    where x.status = 'pending' and x.webhook_id = s.webhook_id and x.next_attempt_at <= clock.now
    order by x.next_attempt_at limit s.claimable for no key update skip locked) as one
), taken as (
  update webhook_deliveries d set next_attempt_at = clock.now + make_interval(secs => $4::float8 / 1000)
  from picked p cross join clock
  where d.company_id = p.company_id and d.id = p.id and d.webhook_id = p.webhook_id and d.message_id = p.message_id
  returning d.company_id, d.id, d.webhook_id, d.message_id, d.event, d.revision, d.sequence, d.tries,
    d.next_attempt_at as leased_until, p.url, p.watched_since::text, p.failing
)
select waiting.next_due_ms, t.*, s.secret, s.next_secret, s.switch_at, coalesce(m.body, test.body) as body
from (
  select extract(epoch from min(next_attempt_at) - clock.now)::float8 * 1000 as next_due_ms
  from clock left join address on next_attempt_at > clock.now group by clock.now) as waiting
left join (taken t
  join webhook_secrets s on s.company_id = t.company_id and s.webhook_id = t.webhook_id
  left join webhook_messages m on m.company_id = t.company_id and m.id = t.message_id and m.revision = t.revision
  left join webhook_messages test on t.revision is null
    and test.company_id = t.company_id and test.id = t.message_id and test.revision is null) on true`,
}
