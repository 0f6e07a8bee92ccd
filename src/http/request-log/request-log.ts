import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from 'pg'
import { coalesce } from '#background/repeat.ts'
import type { LimiterFigures } from '#lib/fair-share-limiter.ts'
import { REQUEST_LOG_BOUNDS, type RequestLogBounds } from './bounds.ts'

/** A logged request; path, query and body are masked (masking.ts). */
export interface LoggedRequest {
  readonly companyId: number
  readonly keyId: number
  /** X-Request-Id. */
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at_ms: number
  readonly method: string
  readonly path: string
  readonly query: string | null
  /** Null if the client disconnected before the answer. */
  readonly status: number | null
  readonly code: string | null
  readonly duration_ms: number
  readonly replayed: boolean
  /** W3C trace context that the client sent. */
  readonly traceparent: string | null
  /** JSON text, for failed requests. */
  readonly body: string | null
  readonly details: string | null
}

/**
 * Logs requests beside their answers, which do not wait for it; what exceeds the bounds is dropped and counted
 * (KIT-52).
 */
export interface RequestLog extends LimiterFigures {
  add(call: LoggedRequest): void
  /** Resolves when queued requests were written or dropped. */
  flush(): Promise<void>
  /** Writes the rest within a short time limit. */
  stop(): Promise<void>
}

interface CallLogOptions {
  readonly pool: Pool
  readonly bounds?: RequestLogBounds
  /** Interval between batches. */
  readonly every_ms?: number
  readonly onError: (error: unknown) => void
}

const EVERY_MS = 1_000
/** Bounds of queued requests: in total and per company. */
const [WAITING, WAITING_OF_COMPANY] = [5_000, 1_000]
/** A full batch is written at once. */
const BATCH = 1_000
/** Time limit of the last write on shutdown. */
const LAST_MS = 3_000

export function createRequestLog({
  pool,
  bounds = REQUEST_LOG_BOUNDS,
  every_ms = EVERY_MS,
  onError,
}: CallLogOptions): RequestLog {
  let waiting: LoggedRequest[] = []
  let ofCompany = new Map<number, number>()
  let refused = 0
  let timer: NodeJS.Timeout | undefined

  const writing = coalesce(async () => {
    clearTimeout(timer)
    timer = undefined
    const calls = waiting
    if (calls.length === 0) return
    waiting = []
    ofCompany = new Map()
    try {
      refused += calls.length - (await writeCalls(pool, calls, bounds))
    } catch (error) {
      refused += calls.length
      onError(error)
    }
  })

  function flush(): Promise<void> {
    writing.ask()
    return writing.idle()
  }

  return {
    add(call) {
      const own = ofCompany.get(call.companyId) ?? 0
      if (waiting.length >= WAITING || own >= WAITING_OF_COMPANY) {
        refused += 1
        return
      }
      ofCompany.set(call.companyId, own + 1)
      waiting.push(call)
      if (waiting.length >= BATCH) writing.ask()
      else timer ??= setTimeout(writing.ask, every_ms).unref()
    },
    flush,
    async stop() {
      await Promise.race([flush(), pause(LAST_MS, undefined, { ref: false })])
    },
    get used() {
      return waiting.length
    },
    get refused() {
      return refused
    },
  }
}

/** Size of a row without its texts. */
const ROW_BYTES = 120

const bytesOf = ({ path, query, body, details, traceparent }: LoggedRequest): number =>
  ROW_BYTES +
  path.length +
  [query, body, details, traceparent].reduce((sum, text) => sum + (text ? Buffer.byteLength(text) : 0), 0)

/** Returns the number of written rows; companies that exceed twice their bound are skipped. */
async function writeCalls(
  pool: Pool,
  calls: readonly LoggedRequest[],
  { ofCompany }: RequestLogBounds,
): Promise<number> {
  const { rows } = await pool.query<{ written: number }>({
    ...WRITE_CALLS,
    values: [
      calls.map(({ companyId }) => companyId),
      calls.map(({ id }) => id),
      calls.map(({ at_ms }) => at_ms),
      calls.map(({ keyId }) => keyId),
      calls.map(({ method }) => method),
      calls.map(({ path }) => path),
      calls.map(({ query }) => query),
      calls.map(({ status }) => status),
      calls.map(({ code }) => code),
      calls.map(({ duration_ms }) => duration_ms),
      calls.map(({ replayed }) => replayed),
      calls.map(({ body }) => body),
      calls.map(({ details }) => details),
      calls.map(bytesOf),
      calls.map(({ traceparent }) => traceparent),
      2 * ofCompany.calls,
      2 * ofCompany.bytes,
    ],
  })
  return rows[0]?.written ?? 0
}

/** The commit does not wait for the disk: losing the last moment in a crash does no harm. */
const WRITE_CALLS = {
  name: 'write_calls',
  text: `
with clock as materialized (select set_config('synchronous_commit', 'off', true)), given as (
  select g.* from unnest($1::bigint[], $2::uuid[], $3::float8[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::smallint[], $9::text[],
    $10::integer[], $11::bool[], $12::text[], $13::text[], $14::integer[], $15::text[])
    as g(company_id, id, at_ms, api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, bytes, traceparent) cross join clock
), counted as (
  select company_id, count(*) as calls, sum(bytes) as bytes from given group by company_id
), writable as (
  select n.* from counted n left join call_counts c on c.company_id = n.company_id
  where coalesce(c.calls < $16 and c.bytes < $17, true)
), added as (
  insert into calls (company_id, id, at, api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, bytes, traceparent)
  select company_id, id, to_timestamp(at_ms / 1000), api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, given.bytes, traceparent
  from given where company_id in (select company_id from writable) order by company_id, id
), kept as (
  insert into call_counts as c (company_id, calls, bytes) select company_id, calls, bytes from writable order by company_id
  on conflict (company_id) do update set calls = c.calls + excluded.calls, bytes = c.bytes + excluded.bytes
)
select coalesce(sum(calls), 0)::int as written from writable`,
}
