import type { Pool } from 'pg'
import { contextOf, openJson } from '#lib/sealed-json.ts'
import type { Vault } from '#lib/vault.ts'
import { livesHere, notInMove } from '#postgres/in-move.ts'
import { type WebhookSecrets, webhookSecrets } from '#projections/webhooks.ts'
import type { Room } from './in-flight.ts'
import type { Sendable } from './sender.ts'

/** No process holds its lease. */
const FREE = '(leased_until is null or leased_until <= statement_timestamp())'

/**
 * CTE `endpoint(company_id, webhook_id, next_attempt_at)`: endpoints with pending deliveries and the earliest due time,
 * without companies that migrate (HOME-44) and without the few under way. It skips through webhook_deliveries_due from
 * endpoint to endpoint, so the length of a backlog does not matter.
 */
export const WAITING_ENDPOINTS = `waiting_endpoint as (
  (select company_id, webhook_id, next_attempt_at from webhook_deliveries
   where status = 'pending' and ${FREE} order by company_id, webhook_id, next_attempt_at limit 1)
  union all
  select next.* from waiting_endpoint a cross join lateral (
    select company_id, webhook_id, next_attempt_at from webhook_deliveries d
    where d.status = 'pending' and ${FREE} and (d.company_id, d.webhook_id) > (a.company_id, a.webhook_id)
    order by d.company_id, d.webhook_id, d.next_attempt_at limit 1) as next
), endpoint as (
  select * from waiting_endpoint where ${notInMove('company_id')}
)`

/**
 * CTE of endpoints that may be delivered to now (HOOK-53), with the scopes of the owning key; null for company
 * endpoints.
 */
export const OPEN_ENDPOINTS = `(
  select w.company_id, w.id, w.url, w.watched_since, k.doc -> 'scopes' as scopes
  from webhooks w
  join companies c on c.company_id = w.company_id and c.plan = 'api'
  left join api_keys k on k.company_id = w.company_id and k.id = w.api_key_id
  where w.enabled and (w.api_key_id is null
    or k.id is not null and k.revoked_at is null and (k.expires_at is null or k.expires_at > statement_timestamp()))
)`

/** A delivery leased by this process. */
export interface Claim extends Sendable {
  readonly company_id: number
  readonly webhook_id: number
  readonly message_id: string
  /** Earlier attempts. */
  readonly tries: number
  /** Version of the lease: it changes if the delivery is leased or requested again. */
  readonly leased_until: string
  /** The endpoint's generation, to the microsecond: results count for this generation only. */
  readonly watched_since: string
  readonly failing: boolean
  /** Current scopes of the owning key; null for company endpoints. */
  readonly scopes: readonly string[] | null
}

/** Unique key of an endpoint over all companies. */
export const endpointOf = ({ company_id, webhook_id }: Pick<Claim, 'company_id' | 'webhook_id'>): string =>
  `${company_id}/${webhook_id}`

export interface Claimed {
  readonly claims: readonly Claim[]
  /** Whether more may be due. */
  readonly has_more: boolean
  /** Time until the next due delivery; null if none is pending. */
  readonly next_due_ms: number | null
}

/** Leased deliveries per endpoint and process, by the endpoint's state. */
const PER_ENDPOINT = {
  /** Last attempt succeeded: 32 under way (lanes.ts) and as many queued. */
  sound: 64,
  /** No attempt yet. */
  unproven: 2,
  /** An attempt has been waiting for its answer for over a second. */
  slow: 4,
  failing: 1,
}

/** Longest lease: sending and recording fit into it, or another process takes over. */
export const LONGEST_LEASE_MS = 20_000

export interface Taking {
  readonly pool: Pool
  readonly vault: Vault
  readonly log: (message: string, error: unknown) => void
}

/**
 * Leases due deliveries, oldest first within an endpoint, evenly over endpoints. Processes skip each other's locks and
 * leases. A delivery that this process cannot sign waits for its lease to end.
 */
export async function takeDue(taking: Taking, { sound, strained, busy }: Room, lease_ms: number): Promise<Claimed> {
  const { rows } = await taking.pool.query<Taken | Nothing>({
    ...TAKE_DUE,
    values: [JSON.stringify(busy), sound, strained, lease_ms],
  })
  const taken = rows.filter((row): row is Taken => row.id !== null)
  const [{ next_due_ms, due_endpoints }] = rows as [Taken | Nothing]
  return { claims: opened(taken, taking), has_more: hasMore(taken, due_endpoints), next_due_ms }
}

/** State of the backlog as found. */
interface Waiting {
  readonly next_due_ms: number | null
  /** Endpoints with due deliveries. */
  readonly due_endpoints: number
}

interface Nothing extends Waiting {
  readonly id: null
}

interface Taken extends Waiting, Omit<Claim, 'secret' | 'next_secret'> {
  readonly sealed: Buffer
  /** Deliveries of the endpoint that could be leased. */
  readonly claimable: number
}

/** An endpoint with no lease, or with as many as allowed, may have more due. */
function hasMore(taken: readonly Taken[], due_endpoints: number): boolean {
  const counts = new Map<string, number>()
  for (const each of taken) counts.set(endpointOf(each), (counts.get(endpointOf(each)) ?? 0) + 1)
  return counts.size < due_endpoints || taken.some((each) => counts.get(endpointOf(each)) === each.claimable)
}

/** Opens each endpoint's secrets once per batch and does not keep them. */
function opened(taken: readonly Taken[], { vault, log }: Taking): Claim[] {
  const secrets = new Map<string, NonNullable<WebhookSecrets['secrets']> | null>()
  return taken.flatMap(({ sealed, claimable: _, due_endpoints: __, ...claim }) => {
    const endpoint = endpointOf(claim)
    if (!secrets.has(endpoint)) secrets.set(endpoint, openSecrets(claim, sealed))
    const own = secrets.get(endpoint)
    return own ? [{ ...claim, ...own }] : []
  })

  function openSecrets({ company_id, webhook_id }: Pick<Claim, 'company_id' | 'webhook_id'>, sealed: Buffer) {
    try {
      return openJson<NonNullable<WebhookSecrets['secrets']>>(
        vault,
        sealed,
        contextOf(webhookSecrets.name, [company_id, webhook_id]),
      )
    } catch (error) {
      log(`webhooks: secrets of endpoint ${webhook_id} cannot be opened`, error)
      return null
    }
  }
}

/**
 * $1 attempts under way by endpoint, $2 and $3 free slots for sound and strained endpoints, $4 length of a lease.
 *
 * - If the process dies, the delivery is due again when the lease ends.
 * - `share`: with many endpoints each gets an equal part of the slots, at least one.
 * - A locked row is a current row.
 * - `picked` is materialized: each evaluation would lock as many rows again.
 * - The commit does not wait for the disk: a lease lost in a crash of Postgres does no harm.
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
  select one.place, s.url, s.watched_since, s.scopes, s.failing, s.claimable
  from share s cross join clock cross join lateral (
    select ctid as place from webhook_deliveries x
    where x.status = 'pending' and ${FREE} and x.company_id = s.company_id and x.webhook_id = s.webhook_id and x.next_attempt_at <= clock.now
    order by x.next_attempt_at limit s.claimable for no key update skip locked) as one
), taken as (
  update webhook_deliveries d set leased_until = clock.now + make_interval(secs => $4::float8 / 1000)
  from picked p cross join clock
  where d.ctid = p.place
  returning d.company_id, d.id, d.webhook_id, d.message_id, d.event, d.revision, d.sequence, d.tries,
    d.leased_until, p.url, p.watched_since::text, p.scopes, p.failing, p.claimable
)
select waiting.next_due_ms, waiting.due_endpoints, t.*, s.secrets as sealed, s.switch_at, coalesce(m.body, (
    select body from webhook_messages test
    where test.company_id = t.company_id and test.id = t.message_id and test.revision is null and t.revision is null)) as body
from (
  select extract(epoch from min(next_attempt_at) - clock.now)::float8 * 1000 as next_due_ms, (select count(*)::int from due) as due_endpoints
  from clock left join endpoint on next_attempt_at > clock.now group by clock.now) as waiting
left join (taken t
  join webhook_secrets s on s.company_id = t.company_id and s.webhook_id = t.webhook_id and s.secrets is not null
  left join webhook_messages m on m.company_id = t.company_id and m.id = t.message_id and m.revision = t.revision) on true`,
}

/** Releases leases, so that another process can take the deliveries. */
export async function giveBack(pool: Pool, claims: readonly Claim[]): Promise<void> {
  await pool.query({
    ...GIVE_BACK,
    values: [
      claims.map(({ company_id }) => company_id),
      claims.map(({ webhook_id }) => webhook_id),
      claims.map(({ message_id }) => message_id),
      claims.map(({ id }) => id),
      claims.map(({ leased_until }) => leased_until),
    ],
  })
}

/** Names the columns of all indexes: in a young table the planner may choose one that begins with the company only. */
const GIVE_BACK = {
  name: 'give_deliveries_back',
  text: `update webhook_deliveries d set leased_until = null
         from (select * from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::uuid[], $5::timestamptz[])
           as given(company_id, webhook_id, message_id, id, lease) limit cardinality($1)) as g
         where d.company_id = g.company_id and d.webhook_id = g.webhook_id and d.message_id = g.message_id and d.id = g.id
           and d.leased_until = g.lease`,
}

/** Pending deliveries of all companies. */
interface Backlog {
  /** Counted up to MOST_COUNTED. */
  readonly pending: number
  /** Age of the longest overdue delivery; 0 if none is due. */
  readonly oldest_due_seconds: number
}

/** Bound of counting, which must not cost more than delivering. */
const MOST_COUNTED = 100_000
/** Figures are cached for this long. */
const FRESH_MS = 5_000

/** Reads the backlog at most once per cache period. `now_ms` is a monotonic clock. */
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
