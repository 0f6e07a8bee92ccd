import type { Pool } from 'pg'
import { openJson, sealContext, type Vault } from '#crypto/vault.ts'
import { isOpenCompany } from '#ledger/ledgers.ts'
import type { LogError } from '#lib/errors.ts'
import { type WebhookSecrets, webhookSecrets } from '#projections/webhooks.ts'
import type { Sendable } from './sender.ts'

/** A leased delivery: queued, under way, or with an unrecorded result. */
export interface InFlightDelivery {
  /** Key as made by `endpointKey`. */
  readonly endpoint: string
  /** The endpoint was failing when the delivery was leased. */
  readonly failing: boolean
  /** Time of sending in ms, on the clock of `room`; null while queued. */
  startedAt: number | null
}

/** Free slots. */
export interface FreeSlots {
  /** Slots for endpoints that answer, and for those that fail or are slow. */
  readonly sound: number
  readonly strained: number
  /** Attempts under way by endpoint. */
  readonly busy: Readonly<Record<string, Busy>>
}

interface Busy {
  readonly attempts: number
  readonly slow: boolean
  /** Slow or failing: it uses the slots of strained endpoints. */
  readonly strained: boolean
}

/** Age of the oldest attempt from which an endpoint counts as slow, until it ends. */
const SLOW_MS = 1_000

const SOUND_ATTEMPTS = 256
const STRAINED_ATTEMPTS = 64
/** More than both together: an endpoint may become slow with many attempts under way. */
const ATTEMPTS = 512

/**
 * Attempts of a company: all, and those of its strained endpoints. Half of the slots, so that others find room when all
 * of its endpoints turn slow.
 */
const OF_COMPANY = { attempts: ATTEMPTS / 2, strained: STRAINED_ATTEMPTS / 2 }

/**
 * Bulkheads: counts attempts by endpoint and gives failing and slow endpoints slots of their own, so that they cannot
 * use up those of the others.
 */
export class InFlightLimiter {
  readonly #byEndpoint = new Map<string, Set<InFlightDelivery>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  take(attempt: InFlightDelivery): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint) ?? new Set()
    this.#byEndpoint.set(attempt.endpoint, attempts.add(attempt))
    this.#count += 1
  }

  release(attempt: InFlightDelivery): void {
    const attempts = this.#byEndpoint.get(attempt.endpoint)
    if (!attempts?.delete(attempt)) return
    if (attempts.size === 0) this.#byEndpoint.delete(attempt.endpoint)
    this.#count -= 1
  }

  room(now: number): FreeSlots {
    const busy: Record<string, Busy> = {}
    let strained = 0
    for (const [endpoint, attempts] of this.#byEndpoint) {
      // Sets keep insertion order: the first is the oldest.
      const [oldest] = attempts as Set<InFlightDelivery> & [InFlightDelivery]
      const slow = oldest.startedAt !== null && now - oldest.startedAt > SLOW_MS
      const isStrained = slow || oldest.failing
      busy[endpoint] = { attempts: attempts.size, slow, strained: isStrained }
      if (isStrained) strained += attempts.size
    }
    const free = ATTEMPTS - this.#count
    const forSound = clamp(SOUND_ATTEMPTS - (this.#count - strained), free)
    return { sound: forSound, strained: clamp(STRAINED_ATTEMPTS - strained, free - forSound), busy }
  }
}

const clamp = (wanted: number, available: number): number => Math.max(0, Math.min(wanted, available))

/** Whether the attempt succeeded; null if none was made. */
export type AttemptOutcome = boolean | null

/** Makes an attempt, or is called with true if it was given up; never throws. */
type Attempt = (isGivenUp: boolean) => Promise<AttemptOutcome>

interface Lane {
  running: number
  /** The last finished attempt failed. */
  failing: boolean
  readonly waiting: Attempt[]
}

/** Concurrent attempts per endpoint, while it succeeds and while it fails. */
const WIDTH = 32
const WIDTH_WHILE_FAILING = 1

/**
 * Queues leased deliveries by endpoint, so that an endpoint gets its next delivery right after an answer and leases are
 * taken in batches.
 */
export class EndpointLanes {
  readonly #lanes = new Map<string, Lane>()

  /** Makes an attempt in its turn and resolves when it has ended. */
  enter(endpoint: string, attempt: Attempt): Promise<void> {
    const lane = this.#lanes.get(endpoint) ?? { running: 0, failing: false, waiting: [] }
    this.#lanes.set(endpoint, lane)
    return new Promise((resolve) => {
      lane.waiting.push((isGivenUp) => attempt(isGivenUp).finally(resolve))
      this.#go(endpoint, lane)
    })
  }

  /** Gives up queued attempts of some endpoints, or of all. */
  giveUp(endpoints: Iterable<string> = this.#lanes.keys()): void {
    for (const endpoint of endpoints) {
      for (const attempt of this.#lanes.get(endpoint)?.waiting.splice(0) ?? []) void attempt(true)
    }
  }

  #go(endpoint: string, lane: Lane): void {
    while (lane.running < (lane.failing ? WIDTH_WHILE_FAILING : WIDTH)) {
      const next = lane.waiting.shift()
      if (!next) break
      lane.running += 1
      void next(false).then((succeeded) => {
        lane.running -= 1
        if (succeeded !== null) lane.failing = !succeeded
        this.#go(endpoint, lane)
      })
    }
    if (lane.running === 0) this.#lanes.delete(endpoint)
  }
}

/** No process holds its lease. */
const FREE = '(leased_until is null or leased_until <= statement_timestamp())'

/**
 * CTE `endpoint(company_id, webhook_id, next_attempt_at)`: endpoints with pending deliveries and the earliest due time,
 * without the few under way. It skips through webhook_deliveries_due from endpoint to endpoint, so the length of a
 * backlog does not matter.
 */
export const WAITING_ENDPOINTS = `endpoint as (
  (select company_id, webhook_id, next_attempt_at from webhook_deliveries
   where status = 'pending' and ${FREE} order by company_id, webhook_id, next_attempt_at limit 1)
  union all
  select next.* from endpoint a cross join lateral (
    select company_id, webhook_id, next_attempt_at from webhook_deliveries d
    where d.status = 'pending' and ${FREE} and (d.company_id, d.webhook_id) > (a.company_id, a.webhook_id)
    order by d.company_id, d.webhook_id, d.next_attempt_at limit 1) as next
)`

/**
 * CTE of endpoints that may be delivered to now, with the scopes of the owning key; null for company
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
export interface LeasedDelivery extends Sendable {
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
export const endpointKey = ({ company_id, webhook_id }: Pick<LeasedDelivery, 'company_id' | 'webhook_id'>): string =>
  `${company_id}/${webhook_id}`

export interface LeasedBatch {
  readonly claims: readonly LeasedDelivery[]
  /** Whether more may be due. */
  readonly has_more: boolean
  /** Time until the next due delivery; null if none is pending. */
  readonly next_due_ms: number | null
}

/** Leased deliveries per endpoint and process, by the endpoint's state. */
const PER_ENDPOINT = {
  /** Last attempt succeeded: 32 under way and as many queued. */
  sound: 64,
  /** No attempt yet. */
  unproven: 2,
  /** An attempt has been waiting for its answer for over a second. */
  slow: 4,
  failing: 1,
}

/** Longest lease: sending and recording fit into it, or another process takes over. */
export const LONGEST_LEASE_MS = 20_000

export interface LeaseOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly log: LogError
}

/**
 * Leases due deliveries: companies share the slots, the endpoints of a company its part; oldest first within an endpoint.
 * Processes skip each other's locks and leases. A delivery that this process cannot sign waits for its lease to end.
 */
export async function leaseDue(
  taking: LeaseOptions,
  { sound, strained, busy }: FreeSlots,
  lease_ms: number,
): Promise<LeasedBatch> {
  const { rows } = await taking.pool.query<LeaseRow | Nothing>({
    ...TAKE_DUE,
    values: [JSON.stringify(busy), sound, strained, lease_ms, OF_COMPANY.attempts, OF_COMPANY.strained],
  })
  const taken = rows.filter((row): row is LeaseRow => row.id !== null)
  const [{ next_due_ms, due_endpoints }] = rows as [LeaseRow | Nothing]
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

interface LeaseRow extends Waiting, Omit<LeasedDelivery, 'secret' | 'next_secret'> {
  readonly sealed: Buffer
  /** Deliveries of the endpoint that could be leased. */
  readonly claimable: number
}

/** An endpoint with no lease, or with as many as allowed, may have more due. */
function hasMore(taken: readonly LeaseRow[], due_endpoints: number): boolean {
  const counts = new Map<string, number>()
  for (const each of taken) counts.set(endpointKey(each), (counts.get(endpointKey(each)) ?? 0) + 1)
  return counts.size < due_endpoints || taken.some((each) => counts.get(endpointKey(each)) === each.claimable)
}

/** Opens each endpoint's secrets once per batch and does not keep them. */
function opened(taken: readonly LeaseRow[], { vault, log }: LeaseOptions): LeasedDelivery[] {
  const secrets = new Map<string, NonNullable<WebhookSecrets['secrets']> | null>()
  return taken.flatMap(({ sealed, claimable: _, due_endpoints: __, ...claim }) => {
    const endpoint = endpointKey(claim)
    if (!secrets.has(endpoint)) secrets.set(endpoint, openSecrets(claim, sealed))
    const own = secrets.get(endpoint)
    return own ? [{ ...claim, ...own }] : []
  })

  function openSecrets({ company_id, webhook_id }: Pick<LeasedDelivery, 'company_id' | 'webhook_id'>, sealed: Buffer) {
    try {
      return openJson<NonNullable<WebhookSecrets['secrets']>>(
        vault,
        sealed,
        sealContext(webhookSecrets.name, [company_id, webhook_id]),
      )
    } catch (error) {
      log('webhooks: secrets of an endpoint cannot be opened', error, { company_id, webhook_id })
      return null
    }
  }
}

/**
 * $1 attempts under way by endpoint, $2 and $3 free slots for sound and strained endpoints, $4 length of a lease, $5 and $6
 * bounds of a company's attempts, and of those of its strained endpoints.
 *
 * - If the process dies, the delivery is due again when the lease ends.
 * - `ranked`: the company with the fewest attempts under way first; within a company the endpoint that has waited longest.
 * - `wanted`: each company gets an equal part of the slots, and each of its endpoints a part of that, at least one.
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
  where a.next_attempt_at <= clock.now and ${isOpenCompany('a.company_id')}
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
select waiting.next_due_ms, waiting.due_endpoints, t.*, s.secrets as sealed, s.switch_at, m.traceparent, coalesce(m.body, (
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
export async function releaseLeases(pool: Pool, claims: readonly LeasedDelivery[]): Promise<void> {
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

export async function readBacklog(pool: Pool): Promise<Backlog> {
  const { rows } = await pool.query<Backlog>(READ_BACKLOG)
  return rows[0] as Backlog
}

const READ_BACKLOG = {
  name: 'read_delivery_backlog',
  text: `
with recursive ${WAITING_ENDPOINTS}
select
  (select count(*)::int from (
    select from webhook_deliveries where status = 'pending' limit ${MOST_COUNTED}) as counted) as pending,
  (select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(a.next_attempt_at)), 0))::float8
   from endpoint a join ${OPEN_ENDPOINTS} w on w.company_id = a.company_id and w.id = a.webhook_id) as oldest_due_seconds`,
}
