import type { Pool } from 'pg'
import { contextOf, openJson } from '#lib/sealed-json.ts'
import type { Vault } from '#lib/vault.ts'
import { livesHere, notInMove } from '#postgres/in-move.ts'
import { type WebhookSecrets, webhookSecrets } from '#projections/webhooks.ts'
import type { Room } from './in-flight.ts'
import type { Sendable } from './sender.ts'

/**
 * A recursive part of statements, `endpoint(company_id, webhook_id, next_attempt_at)`: each endpoint that deliveries wait for,
 * with the earliest of them, but those of companies that move (HOME-44). It jumps from one endpoint to the next in webhook_deliveries_due, so that the length of a
 * backlog does not matter.
 */
export const WAITING_ENDPOINTS = `waiting_endpoint as (
  (select company_id, webhook_id, next_attempt_at from webhook_deliveries
   where status = 'pending' order by company_id, webhook_id, next_attempt_at limit 1)
  union all
  select next.* from waiting_endpoint a cross join lateral (
    select company_id, webhook_id, next_attempt_at from webhook_deliveries d
    where d.status = 'pending' and (d.company_id, d.webhook_id) > (a.company_id, a.webhook_id)
    order by d.company_id, d.webhook_id, d.next_attempt_at limit 1) as next
), endpoint as (
  select * from waiting_endpoint where ${notInMove('company_id')}
)`

/**
 * A part of statements: endpoints that may be delivered to now (HOOK-53), with the scopes of the key that each belongs to,
 * null where it is the company's own.
 */
export const OPEN_ENDPOINTS = `(
  select w.company_id, w.id, w.url, w.watched_since, k.doc -> 'scopes' as scopes
  from webhooks w
  join companies c on c.company_id = w.company_id and c.plan = 'api'
  left join api_keys k on k.company_id = w.company_id and k.id = w.api_key_id
  where w.enabled and (w.api_key_id is null
    or k.id is not null and k.revoked_at is null and (k.expires_at is null or k.expires_at > statement_timestamp()))
)`

/** A delivery that is this process's to send until its lease ends. */
export interface Claim extends Sendable {
  readonly company_id: number
  readonly webhook_id: number
  readonly message_id: string
  /** Attempts made before this one. */
  readonly tries: number
  /** What `next_attempt_at` was set to; while it stands, nobody else has claimed the delivery or asked for it again. */
  readonly leased_until: string
  /** As the endpoint had it, to the microsecond: answers are about this generation of it. */
  readonly watched_since: string
  readonly failing: boolean
  /** Of the key that the endpoint belongs to, as they are now; null where it is the company's own. */
  readonly scopes: readonly string[] | null
}

/** What tells an endpoint from those of all companies. */
export const endpointOf = ({ company_id, webhook_id }: Pick<Claim, 'company_id' | 'webhook_id'>): string =>
  `${company_id}/${webhook_id}`

export interface Claimed {
  readonly claims: readonly Claim[]
  /** Until the next delivery of any endpoint is due; null when none is waiting. */
  readonly next_due_ms: number | null
}

/**
 * Attempts under way at a time, by how an endpoint does. With 8, 16 and 32 a single endpoint got 400, 650 and 1,400 deliveries
 * a second, from one process on two cores that did much else.
 */
const PER_ENDPOINT = {
  /** Its last answer was a success. */
  sound: 32,
  /** Nothing is known of it yet. */
  unproven: 2,
  /** An attempt has been waiting for its answer for more than a moment. */
  slow: 4,
  failing: 1,
}

/** Nobody has a delivery for longer: it is sent and its result recorded within, or somebody else takes it. */
export const LONGEST_LEASE_MS = 20_000

export interface Taking {
  readonly pool: Pool
  readonly vault: Vault
  readonly log: (message: string, error: unknown) => void
}

/**
 * Takes deliveries that are due, oldest first within an endpoint and as many of each endpoint as of any other. Processes
 * share the work: what one has locked or taken is passed over by the others. What nobody here can sign waits for its lease to end.
 */
export async function takeDue(taking: Taking, { sound, strained, busy }: Room, lease_ms: number): Promise<Claimed> {
  const { rows } = await taking.pool.query<Taken | Nothing>({
    ...TAKE_DUE,
    values: [JSON.stringify(busy), sound, strained, lease_ms],
  })
  const taken = rows.filter((row) => row.id !== null)
  return { claims: taken.flatMap((row) => opened(row, taking) ?? []), next_due_ms: rows[0]?.next_due_ms ?? null }
}

interface Nothing {
  readonly next_due_ms: number | null
  readonly id: null
}

interface Taken extends Omit<Claim, 'secret' | 'next_secret'> {
  readonly next_due_ms: number | null
  readonly sealed: Buffer
}

/** Opening takes some microseconds, as signing does: nothing is kept opened. */
function opened({ sealed, ...taken }: Taken, { vault, log }: Taking): Claim | null {
  const context = contextOf(webhookSecrets.name, [taken.company_id, taken.webhook_id])
  try {
    return { ...taken, ...openJson<NonNullable<WebhookSecrets['secrets']>>(vault, sealed, context) }
  } catch (error) {
    log(`secrets of address ${taken.webhook_id} cannot be opened`, error)
    return null
  }
}

/**
 * $1 attempts under way by endpoint, $2 and $3 attempts that sound and strained endpoints may get, $4 length of a lease.
 *
 * - A claim pushes next_attempt_at ahead. If the process dies, the delivery is due again after that.
 * - `share`: when many endpoints wait, each gets an equal part of what may start, at least one.
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
), ${WAITING_ENDPOINTS}, due as (
  select a.company_id, a.webhook_id, a.next_attempt_at, w.url, w.watched_since, w.scopes, state.failing, state.failing or state.slow as strained,
    case when state.failing then ${PER_ENDPOINT.failing} when h.last_success_at is null then ${PER_ENDPOINT.unproven}
      when state.slow then ${PER_ENDPOINT.slow} else ${PER_ENDPOINT.sound} end
      - coalesce(($1::jsonb -> (a.company_id || '/' || a.webhook_id) -> 'attempts')::int, 0) as free
  from endpoint a cross join clock
  join ${OPEN_ENDPOINTS} w on w.company_id = a.company_id and w.id = a.webhook_id
  left join webhook_health h on h.company_id = a.company_id and h.webhook_id = a.webhook_id
  cross join lateral (
    select coalesce(h.failing_since >= w.watched_since, false) as failing,
      coalesce(($1::jsonb -> (a.company_id || '/' || a.webhook_id) -> 'slow')::bool, false) as slow) as state
  where a.next_attempt_at <= clock.now
), ranked as (
  select *, case when strained then $3::int else $2::int end as room,
    row_number() over same as place, count(*) over (partition by strained) as waiting
  from due where free > 0 window same as (partition by strained order by next_attempt_at, company_id, webhook_id)
), share as (
  select *, least(free, greatest(1, room / waiting)) as claimable from ranked where place <= room
), picked as materialized (
  select s.company_id, one.id, s.webhook_id, one.message_id, s.url, s.watched_since, s.scopes, s.failing
  from share s cross join clock cross join lateral (
    select id, message_id from webhook_deliveries x
    where x.status = 'pending' and x.company_id = s.company_id and x.webhook_id = s.webhook_id and x.next_attempt_at <= clock.now
    order by x.next_attempt_at limit s.claimable for no key update skip locked) as one
), taken as (
  update webhook_deliveries d set next_attempt_at = clock.now + make_interval(secs => $4::float8 / 1000)
  from picked p cross join clock
  where d.company_id = p.company_id and d.id = p.id and d.webhook_id = p.webhook_id and d.message_id = p.message_id
  returning d.company_id, d.id, d.webhook_id, d.message_id, d.event, d.revision, d.sequence, d.tries,
    d.next_attempt_at as leased_until, p.url, p.watched_since::text, p.scopes, p.failing
)
select waiting.next_due_ms, t.*, s.secrets as sealed, s.switch_at, coalesce(m.body, test.body) as body
from (
  select extract(epoch from min(next_attempt_at) - clock.now)::float8 * 1000 as next_due_ms
  from clock left join endpoint on next_attempt_at > clock.now group by clock.now) as waiting
left join (taken t
  join webhook_secrets s on s.company_id = t.company_id and s.webhook_id = t.webhook_id and s.secrets is not null
  left join webhook_messages m on m.company_id = t.company_id and m.id = t.message_id and m.revision = t.revision
  left join webhook_messages test on t.revision is null
    and test.company_id = t.company_id and test.id = t.message_id and test.revision is null) on true`,
}

/** Deliveries that are still to be made, of all companies. */
interface Backlog {
  /** Counted up to MOST_COUNTED. */
  readonly pending: number
  /** How long ago the one that has waited longest was due; 0 when none is. */
  readonly oldest_due_seconds: number
}

/** More than this is much, however much it is: counting must not cost more than delivering. */
const MOST_COUNTED = 100_000
/** Figures that are asked for again within this are the same. */
const FRESH_MS = 5_000

/** Reads the backlog, not more often than is worth it. `now_ms` is any clock that never goes back. */
export function createBacklog(pool: Pool, now_ms: () => number): () => Promise<Backlog> {
  let asked_ms = Number.NEGATIVE_INFINITY
  let found: Promise<Backlog> | undefined
  return () => {
    if (!found || now_ms() - asked_ms > FRESH_MS) {
      asked_ms = now_ms()
      found = readBacklog(pool)
    }
    return found
  }
}

async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await pool.query<Backlog>(READ_BACKLOG)
  return rows[0] as Backlog
}

const READ_BACKLOG = {
  name: 'read_delivery_backlog',
  text: `
with recursive ${WAITING_ENDPOINTS}
select
  (select count(*)::int from (
    select from webhook_deliveries where status = 'pending' and ${livesHere('company_id')} limit ${MOST_COUNTED}) as counted) as pending,
  (select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(a.next_attempt_at)), 0))::float8
   from endpoint a join ${OPEN_ENDPOINTS} w on w.company_id = a.company_id and w.id = a.webhook_id) as oldest_due_seconds`,
}
