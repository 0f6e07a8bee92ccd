import type { Pool } from 'pg'
import { contextOf, openJson } from '#lib/sealed-json.ts'
import type { Vault } from '#lib/vault.ts'
import { livesHere, notInMove } from '#postgres/in-move.ts'
import { type WebhookSecrets, webhookSecrets } from '#projections/webhooks.ts'
import { OF_COMPANY, type Room } from './in-flight.ts'
import type { Sendable } from './sender.ts'

/** Nobody is sending it. */
const FREE = '(leased_until is null or leased_until <= statement_timestamp())'

/**
 * A recursive part of statements, `endpoint(company_id, webhook_id, next_attempt_at)`: each endpoint that deliveries wait for,
 * with the earliest of them, but those of companies that move (HOME-44) and those under way, which are few. It jumps from one endpoint
 * to the next in webhook_deliveries_due, so that the length of a backlog does not matter.
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
  /** While it stands, nobody else has claimed the delivery or asked for it again. */
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
  /** Whether more may be due than was taken. */
  readonly has_more: boolean
  /** Until the next delivery of any endpoint is due; null when none is waiting. */
  readonly next_due_ms: number | null
}

/** Deliveries of an endpoint that a process has at a time, by how the endpoint does. */
const PER_ENDPOINT = {
  /** Its last answer was a success: 32 under way (lanes.ts), and as many that are next. */
  sound: 64,
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
 * Takes deliveries that are due: companies share the room, endpoints the part of their company, and an endpoint's oldest come first. Processes
 * share the work: what one has locked or taken is passed over by the others. What nobody here can sign waits for its lease to end.
 */
export async function takeDue(taking: Taking, { sound, strained, busy }: Room, lease_ms: number): Promise<Claimed> {
  const { rows } = await taking.pool.query<Taken | Nothing>({
    ...TAKE_DUE,
    values: [JSON.stringify(busy), sound, strained, lease_ms, OF_COMPANY.attempts, OF_COMPANY.strained],
  })
  const taken = rows.filter((row): row is Taken => row.id !== null)
  const [{ next_due_ms, due_endpoints }] = rows as [Taken | Nothing]
  return { claims: opened(taken, taking), has_more: hasMore(taken, due_endpoints), next_due_ms }
}

/** Of what deliveries wait for, as it was found. */
interface Waiting {
  readonly next_due_ms: number | null
  /** Endpoints that something is due for. */
  readonly due_endpoints: number
}

interface Nothing extends Waiting {
  readonly id: null
}

interface Taken extends Waiting, Omit<Claim, 'secret' | 'next_secret'> {
  readonly sealed: Buffer
  /** How many of its endpoint could be taken. */
  readonly claimable: number
}

/** An endpoint of which nothing was taken, or as much as could be, may have more. */
function hasMore(taken: readonly Taken[], due_endpoints: number): boolean {
  const counts = new Map<string, number>()
  for (const each of taken) counts.set(endpointOf(each), (counts.get(endpointOf(each)) ?? 0) + 1)
  return counts.size < due_endpoints || taken.some((each) => counts.get(endpointOf(each)) === each.claimable)
}

/** Secrets are opened once for all that was taken of an endpoint, and not kept opened. */
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
      log(`secrets of address ${webhook_id} cannot be opened`, error)
      return null
    }
  }
}

/**
 * $1 attempts under way by endpoint, $2 and $3 attempts that sound and strained endpoints may get, $4 length of a lease, $5 and $6 attempts
 * of a company, and of its strained endpoints.
 *
 * - A claim is a lease. If the process dies, the delivery is due again when that ends.
 * - `ranked`: the company with the fewest attempts under way comes first, of a company the endpoint that has waited longest.
 * - `wanted`: when many wait, each company gets an equal part of what may start, and each of its endpoints one of that, at least one.
 * - What is picked is locked, and so it is where it was found.
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
), held as materialized (
  select split_part(key, '/', 1)::bigint as company_id, sum((value ->> 'attempts')::int)::int as attempts,
    coalesce(sum((value ->> 'attempts')::int) filter (where (value ->> 'strained')::bool), 0)::int as strained
  from jsonb_each($1::jsonb) group by 1
), waiting as (
  select d.*, case when d.strained then $3::int else $2::int end as room,
    case when d.strained then coalesce(h.strained, 0) else coalesce(h.attempts - h.strained, 0) end as under_way,
    least($5::int - coalesce(h.attempts, 0), case when d.strained then $6::int - coalesce(h.strained, 0) else $5::int end) as company_room,
    row_number() over own as own_place, count(*) over (partition by d.strained, d.company_id) as own
  from due d left join held h on h.company_id = d.company_id
  where free > 0 window own as (partition by d.strained, d.company_id order by next_attempt_at, webhook_id)
), ranked as (
  select *, row_number() over (partition by strained order by under_way + own_place, next_attempt_at, company_id, webhook_id) as place,
    least(free, greatest(1, floor(room / sum(1.0 / own) over (partition by strained) / own)))::int as wanted
  from waiting
), share as (
  select * from (
    select *, least(wanted, room - sum(wanted) over (partition by strained order by place) + wanted,
      company_room - sum(wanted) over (partition by strained, company_id order by place) + wanted)::int as claimable from ranked) as each
  where claimable > 0
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

/** Leaves deliveries to whoever takes them next. */
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

/** Found by the columns of all indexes: while a table is young, one that begins with the company looks as good as any. */
const GIVE_BACK = {
  name: 'give_deliveries_back',
  text: `update webhook_deliveries d set leased_until = null
         from (select * from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::uuid[], $5::timestamptz[])
           as given(company_id, webhook_id, message_id, id, lease) limit cardinality($1)) as g
         where d.company_id = g.company_id and d.webhook_id = g.webhook_id and d.message_id = g.message_id and d.id = g.id
           and d.leased_until = g.lease`,
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
