import { groupBy } from '#lib/group-by.ts'
import type { Reader } from './reader.ts'
import { type FoundRecords, localTime } from './records.ts'
import { t } from './table-names.ts'

/** A failed attempt. */
interface FailedAttempt {
  at: string
  status: number | null
  error: string | null
  delivery_id: string
}

/** Attempts of some hours. */
export interface HealthOfSpan {
  attempts: number
  failures: number
  /** Percent with two decimals, rounded down, so that `100.00` means all; null without attempts. */
  success_rate: string | null
  /** 95th percentile in ms, estimated from DURATION_BOUNDS_MS; null without answers. */
  p95_ms: number | null
  last_failure: FailedAttempt | null
}

/** Health of an endpoint (HOOK-71). */
export interface HealthObject {
  webhook_id: number
  /** Start of the outage that the company was notified of; null if there is none. */
  outage_since: string | null
  last_24_hours: HealthOfSpan
  last_7_days: HealthOfSpan
}

/** Upper bounds of the duration buckets, in ms; the first bucket is 0. An attempt has 10 s. */
export const DURATION_BOUNDS_MS = [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2500, 5000]
const LONGEST_MS = 10_000

/** The present hour and those before it. */
const [HOURS_OF_DAY, HOURS_OF_WEEK] = [24, 7 * 24]

/** Attempts of a span in one bucket. */
interface BucketCounts {
  readonly bucket: number
  readonly attempts: number
  readonly failures: number
  readonly last_failure: FailedAttempt | null
}

/** Adds up attempts by bucket. */
export function healthOfSpan(counted: readonly BucketCounts[], timezone: string): HealthOfSpan {
  const sum = (of: (one: BucketCounts) => number) => counted.reduce((total, one) => total + of(one), 0)
  const [attempts, failures] = [sum((one) => one.attempts), sum((one) => one.failures)]
  const failed = counted.flatMap(({ last_failure }) => last_failure ?? []).sort((a, b) => (a.at < b.at ? 1 : -1))[0]
  return {
    attempts,
    failures,
    success_rate: attempts === 0 ? null : percentOf(attempts - failures, attempts),
    p95_ms: percentile95(counted.filter(({ bucket }) => bucket >= 0)),
    last_failure: failed ? { ...failed, at: localTime(failed.at, timezone) } : null,
  }
}

function percentOf(part: number, whole: number): string {
  const hundredths = String(Math.floor((part * 10_000) / whole)).padStart(3, '0')
  return `${hundredths.slice(0, -2)}.${hundredths.slice(-2)}`
}

/** Assumes an even distribution within the bucket. */
function percentile95(answered: readonly BucketCounts[]): number | null {
  const byBucket = new Map<number, number>()
  for (const { bucket, attempts } of answered) byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + attempts)
  const all = [...byBucket.values()].reduce((total, one) => total + one, 0)
  const wanted = Math.ceil((all * 95) / 100)
  let before = 0
  for (const [bucket, attempts] of [...byBucket].sort(([a], [b]) => a - b)) {
    if (before + attempts >= wanted) {
      const from = DURATION_BOUNDS_MS[bucket - 1] ?? 0
      const to = DURATION_BOUNDS_MS[bucket] ?? LONGEST_MS
      return Math.round(from + ((to - from) * (wanted - before)) / attempts)
    }
    before += attempts
  }
  return null
}

interface HealthRow extends BucketCounts {
  readonly webhook_id: number
  readonly outage_since: string | null
  readonly timezone: string
  readonly revision: number
  readonly is_today: boolean | null
}

/** Start of the notified outage of an enabled endpoint; failures before `watched_since` do not count. */
const OUTAGE = 'case when w.enabled and h.outage_since >= w.watched_since then h.outage_since end'

/** An endpoint without attempts has one row, without a bucket. */
const READ_HEALTH = {
  name: 'read_webhook_health',
  text: `select w.id as webhook_id, ${OUTAGE} as outage_since, c.timezone, l.revision, s.*
         from ${t.ledgers} l
         join ${t.companies} c on c.company_id = l.company_id
         join ${t.webhooks} w on w.company_id = l.company_id and w.deleted_at is null and ($2::bigint is null or w.id = $2)
         left join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
         left join lateral (
           select hour > now() - make_interval(hours => ${HOURS_OF_DAY}) as is_today, bucket, sum(attempts)::int as attempts, sum(failures)::int as failures,
             (array_agg(last_failure order by last_failure ->> 'at' desc) filter (where last_failure is not null))[1] as last_failure
           from ${t.webhook_hours} s
           where s.company_id = w.company_id and s.webhook_id = w.id and s.hour > now() - make_interval(hours => ${HOURS_OF_WEEK})
           group by 1, 2) as s on true
         where l.company_id = $1 order by w.id`,
}

/** Health of a company's endpoints by id, or of one if `webhookId` is given. */
async function readHealth(reader: Reader, webhookId: number | null): Promise<Map<number, HealthRow[]>> {
  const { rows } = await reader.query<HealthRow>({ ...READ_HEALTH, values: [webhookId] })
  return groupBy(rows, ({ webhook_id }) => webhook_id)
}

function healthOf(webhook_id: number, rows: readonly HealthRow[]): HealthObject {
  const [first] = rows
  const { outage_since, timezone } = first as HealthRow
  const counted = rows.filter(({ is_today }) => is_today !== null)
  return {
    webhook_id,
    outage_since: outage_since && localTime(outage_since, timezone),
    last_24_hours: healthOfSpan(
      counted.filter(({ is_today }) => is_today),
      timezone,
    ),
    last_7_days: healthOfSpan(counted, timezone),
  }
}

/** Health of an endpoint; no record if it does not exist or is another company's. */
export async function getHealth(reader: Reader, webhookId: number): Promise<FoundRecords> {
  const rows = (await readHealth(reader, webhookId)).get(webhookId)
  if (!rows) return { record: null, revision: 0 }
  return { record: JSON.stringify(healthOf(webhookId, rows)), revision: rows[0]?.revision ?? 0 }
}

/** Health of all endpoints of a company, by id. */
export async function listHealth(reader: Reader): Promise<ReadonlyMap<number, HealthObject>> {
  const found = await readHealth(reader, null)
  return new Map([...found].map(([id, rows]) => [id, healthOf(id, rows)]))
}

/** An endpoint that needs attention. */
export interface FailingEndpoint {
  readonly webhook_id: number
  readonly url: string
  /** Time of its first failure, UTC. */
  readonly outage_since: string
}

/** Enabled endpoints that have failed for some minutes, longest first (HOOK-74). */
export async function failingEndpoints(reader: Reader): Promise<FailingEndpoint[]> {
  const { rows } = await reader.query<FailingEndpoint>({
    name: 'failing_endpoints',
    text: `select w.id as webhook_id, w.url, h.outage_since
           from ${t.webhooks} w join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
           where w.company_id = $1 and w.deleted_at is null and w.enabled and h.outage_since >= w.watched_since
           order by h.outage_since, w.id`,
  })
  return rows
}
