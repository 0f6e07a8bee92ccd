import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { isDeliverable, type WebhookEvent } from '#events/catalogue.ts'
import { coalesce, repeat } from '#lib/background-loops.ts'
import { DURATION_BOUNDS_MS } from '#queries/webhook-queries.ts'
import {
  type AttemptOutcome,
  EndpointLanes,
  endpointKey,
  type FreeSlots,
  type InFlightDelivery,
  InFlightLimiter,
  type LeasedDelivery,
  type LeaseOptions,
  LONGEST_LEASE_MS,
  leaseDue,
  releaseLeases,
} from './delivery-leases.ts'
import { type AttemptResult, retryDelay_ms, type Sender, type SentAttempt } from './sender.ts'

/** An attempt and its consequences. */
export interface DeliveryResult {
  readonly claim: LeasedDelivery
  readonly attempt: AttemptResult
  readonly status: 'delivered' | 'failed' | 'pending' | 'cancelled'
  /** Until the next attempt; null if there is none. */
  readonly retry_ms: number | null
}

/** Decides what an attempt means for its delivery. `random` is in [0, 1). */
export function decideDeliveryResult(
  claim: LeasedDelivery,
  { retry_after_ms, ...attempt }: SentAttempt,
  retrySeconds: readonly number[],
  random: number,
): DeliveryResult {
  if (attempt.error === null) return { claim, attempt, status: 'delivered', retry_ms: null }
  if (attempt.error === 'insufficient_scope') return { claim, attempt, status: 'cancelled', retry_ms: null }
  // A test is sent once; an endpoint that is gone gets no retries.
  const isLast = claim.sequence === null || attempt.error === 'gone'
  const retry_ms = isLast ? null : retryDelay_ms(retrySeconds, claim.tries + 1, random, retry_after_ms)
  return { claim, attempt, status: retry_ms === null ? 'failed' : 'pending', retry_ms }
}

/** Summary of an endpoint's attempts. */
interface Health {
  readonly company_id: number
  readonly webhook_id: number
  readonly watched_since: string
  succeeded: boolean
  /** A failure after the last success. */
  failing: boolean
  /** An exhausted delivery after the last success. */
  exhausted: boolean
}

/** Tests and unsent deliveries do not count for health. */
const counts = ({ claim, status }: DeliveryResult): boolean => claim.sequence !== null && status !== 'cancelled'

/** Sums results up by endpoint, in order of arrival. */
export function sumEndpointHealth(results: readonly DeliveryResult[]): Health[] {
  const byEndpoint = new Map<string, Health>()
  for (const { claim, status } of results.filter(counts)) {
    const { company_id, webhook_id, watched_since } = claim
    const key = `${endpointKey(claim)} ${watched_since}`
    const known = byEndpoint.get(key)
    const health = known ?? {
      company_id,
      webhook_id,
      watched_since,
      succeeded: false,
      failing: false,
      exhausted: false,
    }
    if (!known) byEndpoint.set(key, health)
    if (status === 'delivered') Object.assign(health, { succeeded: true, failing: false, exhausted: false })
    else Object.assign(health, { failing: true, exhausted: health.exhausted || status === 'failed' })
  }
  return [...byEndpoint.values()]
}

/** Records attempts and their consequences in one statement; idempotent. */
async function recordResults(pool: Pool, results: readonly DeliveryResult[]): Promise<void> {
  const health = sumEndpointHealth(results)
  await pool.query({
    ...RECORD_RESULTS,
    values: [
      results.map(({ claim }) => claim.company_id),
      results.map(({ claim }) => claim.webhook_id),
      results.map(({ claim }) => claim.message_id),
      results.map(({ claim }) => claim.id),
      results.map(({ claim }) => claim.leased_until),
      results.map(({ status }) => status),
      results.map(({ retry_ms }) => retry_ms),
      results.map(({ attempt }) => JSON.stringify(attempt)),
      health.map(({ company_id }) => company_id),
      health.map(({ webhook_id }) => webhook_id),
      health.map(({ watched_since }) => watched_since),
      health.map(({ succeeded }) => succeeded),
      health.map(({ failing }) => failing),
      health.map(({ exhausted }) => exhausted),
      results.map(counts),
      DURATION_BOUNDS_MS,
    ],
  })
}

/** Attempts kept per delivery, newest ones. */
const KEPT_ATTEMPTS = 20

/**
 * $1 to $4 deliveries, found by the columns of all indexes (delivery-leases.ts); $5 their leases, $6 new states, $7 next
 * attempts, $8 the attempts; $9 to $14 endpoints and their summaries; $15 which attempts count, $16 bounds of
 * durations.
 *
 * - The limit removes nothing. It makes Postgres expect few rows while the table is young, and look each one up.
 * - If the lease has changed, the delivery was requested again or taken over while this process stood still: only the
 * attempt is added. A cancelled delivery that arrived counts as delivered.
 * - Attempts are concatenated as JSON texts, to keep the order of their members.
 * - The commit does not wait for the disk. Results lost in a crash of Postgres, less than a second's, lead to a second
 * send under the same id. A crash of this process loses none.
 * - Times are Postgres's, like those of endpoints: health belongs to the present generation of an endpoint.
 * - Hourly counts include only what was recorded by this statement, so nothing counts twice.
 */
const RECORD_RESULTS = {
  name: 'record_attempts',
  text: `
with clock as materialized (
  select date_trunc('milliseconds', statement_timestamp()) as now, set_config('synchronous_commit', 'off', true)
), recorded as (
  update webhook_deliveries d set (status, tries, next_attempt_at, leased_until, attempts) = (
    select case when ours then r.status else d.status end,
      case when ours then d.tries + 1 else d.tries end,
      case when ours then clock.now + make_interval(secs => r.retry_ms / 1000) else d.next_attempt_at end,
      case when ours then null else d.leased_until end,
      ('[' || case when earlier = '' then '' else earlier || ',' end || r.attempt || ']')::json
    from (select d.status = 'pending' and d.leased_until = r.lease or d.status = 'cancelled' and r.status = 'delivered' as ours,
      case when json_array_length(d.attempts) < ${KEPT_ATTEMPTS} then substr(left(d.attempts::text, -1), 2)
        else (select string_agg(value::text, ',' order by place)
              from json_array_elements(d.attempts) with ordinality as kept(value, place) where place > 1) end as earlier) as found)
  from (select * from unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::uuid[], $5::timestamptz[], $6::text[], $7::float8[], $8::text[], $15::bool[])
      as given(company_id, webhook_id, message_id, id, lease, status, retry_ms, attempt, counts) limit cardinality($1)) as r
    cross join clock
  where d.company_id = r.company_id and d.webhook_id = r.webhook_id and d.message_id = r.message_id and d.id = r.id
    and right(d.attempts::text, length(r.attempt) + 1) <> r.attempt || ']'
  returning d.company_id, d.webhook_id, d.id, r.counts, r.attempt::json as attempt
), hours as (
  insert into webhook_hours as h (company_id, webhook_id, hour, bucket, attempts, failures, last_failure)
  select company_id, webhook_id, date_trunc('hour', clock.now), bucket, count(*), count(*) filter (where has_failed),
    (array_agg(json_build_object('at', attempt -> 'at', 'status', attempt -> 'status', 'error', attempt -> 'error', 'delivery_id', id)
      order by attempt ->> 'at' desc) filter (where has_failed))[1]
  from recorded cross join clock cross join lateral (
    select attempt ->> 'error' is not null as has_failed,
      case when attempt ->> 'status' is null then -1 else width_bucket((attempt ->> 'duration_ms')::int, $16::int[]) end as bucket) as seen
  where counts group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (company_id, webhook_id, hour, bucket) do update set attempts = h.attempts + excluded.attempts,
    failures = h.failures + excluded.failures, last_failure = coalesce(excluded.last_failure, h.last_failure)
), told as (
  insert into webhook_health as h (company_id, webhook_id, last_success_at, failing_since, no_response_since)
  select w.company_id, w.id, case when a.succeeded then clock.now end, case when a.failing then clock.now end,
    case when a.exhausted then clock.now end
  from unnest($9::bigint[], $10::bigint[], $11::timestamptz[], $12::bool[], $13::bool[], $14::bool[])
      as a(company_id, webhook_id, watched_since, succeeded, failing, exhausted)
    join webhooks w on w.company_id = a.company_id and w.id = a.webhook_id and w.watched_since = a.watched_since
    cross join clock
  order by w.company_id, w.id
  on conflict (company_id, webhook_id) do update set (last_success_at, failing_since, no_response_since) = (
    select coalesce(excluded.last_success_at, h.last_success_at),
      case when excluded.last_success_at is null and h.failing_since >= w.watched_since
        then h.failing_since else excluded.failing_since end,
      case when excluded.last_success_at is null and h.no_response_since >= w.watched_since
        then h.no_response_since else excluded.no_response_since end
    from webhooks w where w.company_id = h.company_id and w.id = h.webhook_id)
)
select 1`,
}

/** Batches items to be written. */
interface Recorder<T> {
  add(item: T): void
  /** Resolves when the queue is empty or the last attempt has failed. */
  drain(): Promise<void>
}

interface RecorderOptions<T> {
  /** Writes a batch. */
  readonly record: (items: readonly T[]) => Promise<void>
  /** Called with what was written. */
  readonly onRecorded: (items: readonly T[]) => void
  readonly onError: (error: unknown) => void
}

/** Bounds a statement, and how many items a failing one delays. */
const BATCH = 256
/** Rest between batches: a statement costs Postgres as much as recording ten attempts. */
const REST_MS = 25
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** Attempts on shutdown while Postgres does not answer. */
const LAST_TRIES = 3

/**
 * Writes items in batches: those that arrive while a batch is written, or within 25 ms of its end, form the next one.
 * Failures are retried with growing pauses without end, so the caller must bound the queue.
 */
export function createRecorder<T>({ record, onRecorded, onError }: RecorderOptions<T>): Recorder<T> {
  let waiting: T[] = []
  let failures = 0
  const ending = new AbortController()
  const writeBatch = async () => {
    const items = waiting.slice(0, BATCH)
    try {
      await record(items)
    } catch (error) {
      onError(error)
      failures += 1
      if (ending.signal.aborted && failures >= LAST_TRIES) return
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS))
      return batches.ask()
    }
    failures = 0
    waiting = waiting.slice(items.length)
    onRecorded(items)
    if (waiting.length > 0) batches.ask()
  }
  const batches = coalesce(writeBatch, { rest_ms: REST_MS, signal: ending.signal })

  return {
    add(item) {
      waiting.push(item)
      batches.ask()
    },
    drain() {
      ending.abort()
      return batches.idle()
    },
  }
}

interface SendingOptions extends LeaseOptions {
  readonly sender: Sender
  readonly retrySeconds: readonly number[]
  /** Milliseconds since 1970. */
  readonly clock: () => number
  /** In [0, 1). */
  readonly random: () => number
  /** An endpoint answered 410. */
  readonly onGone: (claim: LeasedDelivery) => void
  /** Called with recorded attempts. */
  readonly onRecorded?: ((results: readonly DeliveryResult[]) => void) | undefined
}

/** Bound of unrecorded results: beyond it nothing is sent. */
const UNRECORDED = 512

/** Deliveries queued under another owner, or before scopes applied, are not sent to the present owner. */
const isAllowed = ({ event, sequence, scopes }: LeasedDelivery): boolean =>
  sequence === null || isDeliverable(scopes, event as WebhookEvent)

const withheld = (now: number): AttemptResult => ({
  at: new Date(now).toISOString(),
  status: null,
  duration_ms: 0,
  error: 'insufficient_scope',
  response: null,
})

/** Queued deliveries older than this are released: sending must fit into the lease. */
const LONGEST_WAIT_MS = 4_000

interface SendingDelivery {
  readonly claim: LeasedDelivery
  readonly inFlight: InFlightDelivery
  readonly takenAt: number
}

interface Finished {
  readonly inFlight: InFlightDelivery
  readonly result: DeliveryResult
}

const claimsOf = (taken: readonly SendingDelivery[]): LeasedDelivery[] => taken.map(({ claim }) => claim)
const resultsOf = (finished: readonly Finished[]): DeliveryResult[] => finished.map(({ result }) => result)

/** Sends leased deliveries, queued by endpoint, and records the results. */
export interface Sending {
  /** Free slots; releases queued deliveries of slow endpoints. */
  room(): FreeSlots
  /** True at the bound of unrecorded results. */
  isFull(): boolean
  start(claim: LeasedDelivery): void
  /** Releases unsent deliveries, waits for attempts under way and records them. */
  stop(): Promise<void>
}

/**
 * `onRoom` is called when slots become free. The limiter bounds attempts under way; unrecorded results are bounded too.
 */
function createSending(options: SendingOptions, onRoom: () => void): Sending {
  const { pool, sender, clock, log } = options
  const limiter = new InFlightLimiter()
  const lanes = new EndpointLanes()
  const underWay = new Set<Promise<void>>()
  let unrecorded = 0

  const recorder = createRecorder<Finished>({
    record: (finished) => recordResults(pool, resultsOf(finished)),
    onRecorded(finished) {
      for (const { inFlight } of finished) limiter.release(inFlight)
      options.onRecorded?.(resultsOf(finished))
      unrecorded -= finished.length
      onRoom()
    },
    onError: (error) => log('webhooks: recording results failed, will retry', error),
  })

  const returned = createRecorder<SendingDelivery>({
    record: (taken) => releaseLeases(pool, claimsOf(taken)),
    onRecorded(taken) {
      for (const { inFlight } of taken) limiter.release(inFlight)
      onRoom()
    },
    onError: (error) => log('webhooks: releasing leases failed, will retry', error),
  })

  async function attempt(taken: SendingDelivery, isGivenUp: boolean): Promise<AttemptOutcome> {
    const { claim, inFlight, takenAt } = taken
    if (isGivenUp || clock() - takenAt > LONGEST_WAIT_MS) {
      returned.add(taken)
      return null
    }
    inFlight.startedAt = clock()
    const outcome = isAllowed(claim) ? await sender.send(claim) : withheld(clock())
    const result = decideDeliveryResult(claim, outcome, options.retrySeconds, options.random())
    if (outcome.error === 'gone' && claim.sequence !== null) options.onGone(claim)
    unrecorded += 1
    // The effect of a failure on the endpoint must be recorded before its next delivery.
    if (outcome.error === null || outcome.error === 'insufficient_scope') limiter.release(inFlight)
    recorder.add({ inFlight, result })
    onRoom()
    return outcome.error === 'insufficient_scope' ? null : outcome.error === null
  }

  return {
    room() {
      const room = limiter.room(clock())
      // Slow endpoints must not hold leases that others could use.
      lanes.giveUp(Object.keys(room.busy).filter((endpoint) => room.busy[endpoint]?.slow))
      return room
    },
    isFull: () => unrecorded >= UNRECORDED,
    start(claim) {
      const inFlight: InFlightDelivery = { endpoint: endpointKey(claim), failing: claim.failing, startedAt: null }
      limiter.take(inFlight)
      const taken = { claim, inFlight, takenAt: clock() }
      const attempting = lanes.enter(inFlight.endpoint, (isGivenUp) => attempt(taken, isGivenUp))
      underWay.add(attempting)
      void attempting.then(() => underWay.delete(attempting))
    },
    async stop() {
      lanes.giveUp()
      await Promise.all(underWay)
      await Promise.all([recorder.drain(), returned.drain()])
    },
  }
}

/** Sends due deliveries while it runs. */
export interface Dispatcher {
  /** Signals that deliveries may be due. */
  wake(): void
  /** Stops leasing, waits for attempts under way and records their results. */
  stop(): Promise<void>
}

/** The pool needs at least two connections: one to lease, one to record. */
export interface DispatcherOptions extends SendingOptions {
  /** Longest time from sending to a result; another process takes over soon after. */
  readonly attempt_ms: number
  /** Polls this often even without a signal. */
  readonly poll_ms: number
}

/** Margin in a lease for a busy process and for recording. */
const LEASE_MARGIN_MS = 9_000

/** Minimum interval between leases under load: a statement costs Postgres as much as ten deliveries. */
const GATHER_MS = 5

/** Leases due deliveries when woken, when slots become free, when the next delivery is due, and every `poll_ms`. */
export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { poll_ms, log } = options
  const lease_ms = Math.min(options.attempt_ms + LEASE_MARGIN_MS, LONGEST_LEASE_MS)
  let wait_ms = poll_ms
  let takenAt = Number.NEGATIVE_INFINITY
  /** Whether deliveries were left for lack of slots, and whether slots have become free since. */
  let hasMore = true
  let hasRoom = true

  function makeRoom(): void {
    hasRoom = true
    if (hasMore) taking.now()
  }
  const sending = createSending(options, makeRoom)

  async function take(): Promise<void> {
    wait_ms = poll_ms
    const early_ms = takenAt + GATHER_MS - performance.now()
    if (hasMore && early_ms > 0) await pause(early_ms)
    const room = sending.room()
    hasRoom = false
    hasMore = true
    // No free slot: results and their recording free slots and wake the loop.
    if (room.sound + room.strained === 0 || sending.isFull()) return
    takenAt = performance.now()
    const { claims, has_more, next_due_ms } = await leaseDue(options, room, lease_ms)
    for (const claim of claims) sending.start(claim)
    hasMore = has_more
    if (hasRoom) makeRoom()
    wait_ms = Math.min(poll_ms, Math.max(1, Math.ceil(next_due_ms ?? poll_ms)))
  }

  const taking = repeat(
    take,
    () => wait_ms,
    (error) => log('webhooks: leasing due deliveries failed, will retry', error),
  )
  return {
    wake: taking.now,
    async stop() {
      await taking.stop()
      await sending.stop()
    },
  }
}
