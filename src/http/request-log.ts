import { setTimeout as pause } from 'node:timers/promises'
import type { Pool, QueryConfig } from 'pg'
import { bareTaxNumber, isCnpj, isCpf, MASKED } from '#domain/person-values.ts'
import { coalesce } from '#lib/background-loops.ts'
import type { LimiterFigures } from '#lib/fair-sharing.ts'

/** Bounds of the request log (KIT-53): per company and in total. */
export interface RequestLogBounds {
  readonly ofCompany: { readonly requests: number; readonly bytes: number }
  readonly ofAll: { readonly requests: number; readonly bytes: number }
}

const REQUEST_LOG_BOUNDS: RequestLogBounds = {
  ofCompany: { requests: 100_000, bytes: 33_554_432 },
  ofAll: { requests: 5_000_000, bytes: 2_147_483_648 },
}

/**
 * Fields whose values the request log stores, each with the accepted format. Of all other fields, including unknown
 * ones, it stores only their presence: names, documents, addresses, contacts, free texts, URLs and tokens.
 */
const FIGURES =
  'advance_days after amount authorized_at catalog_item_id category_id cost customer_id delivery_fee discount due_date due_from due_to expires_in_minutes from id installments limit now overlap_hours paid_at paid_from paid_to payment_type_id price quantity repeat_until revision since size sold_at sold_from sold_to stock stock_adjustment stock_updated_since supplier_id to unit_cost unit_price until updated_since user_id'
const CODES =
  'alarm api_key_id barcode brand catalog_item_external_id cbenef cest cfop code cofins_cst csosn customer_external_id event events external_id fiscal fresh ground gtin hash ibs_cbs_class ibs_cbs_cst icms_cst ie_indicator kind messages method model ncm offline_id opened origin person_type pis_cst protocol provider_payment_id queue replayed series sku status store_alias subject supplier_external_id type types unit'

const FIGURE = /^[-+\d.:,TZ]{1,40}$/
/** Callers choose codes: values that could be personal or secret are masked under these names too. */
const CODE = /^[\w.:*+/-]{1,64}$/
const SECRET = /^(tb_|whsec_|eyJ|sk_|APP_USR)/i

const LOOKS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ...FIGURES.split(' ').map((name) => [name, isFigure] as const),
  ...CODES.split(' ').map((name) => [name, isCode] as const),
])

function isFigure(text: string): boolean {
  return FIGURE.test(text) && !isTaxNumber(text)
}

function isCode(text: string): boolean {
  return CODE.test(text) && !SECRET.test(text) && !isTaxNumber(text)
}

function isTaxNumber(text: string): boolean {
  const bare = bareTaxNumber(text)
  return isCpf(bare) || isCnpj(bare)
}

const shown = (name: string, text: string): string => (LOOKS.get(name)?.(text) ? text : MASKED)

/** A misspelt field name is shown; anything that is no identifier is masked. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,39}$/
const shownName = (name: string): string => (NAME.test(name) && !SECRET.test(name) ? name : MASKED)

const SEGMENT_WORDS = /^(?:\/[a-z][a-z-]{0,30}|\/\d{1,10})+$/

/** The storable form of a path below `/api/v1`. */
export function maskPath(path: string): string {
  if (SEGMENT_WORDS.test(path)) return path
  return path
    .slice(0, LONGEST_PATH)
    .split('/')
    .map((segment) => (segment === '' || isCode(decoded(segment)) ? segment : MASKED))
    .join('/')
}

const LONGEST_PATH = 300

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return '%'
  }
}

const MOST_PARAMETERS = 30

/** The storable form of a query string; null without one. */
export function maskQuery(query: string): string | null {
  if (query === '') return null
  const given = [...new URLSearchParams(query)].slice(0, MOST_PARAMETERS)
  return given.map(([name, value]) => `${shownName(name)}=${shown(name, value)}`).join('&')
}

/** Bounds of a stored text in bytes, and of its depth. */
const [MOST_BYTES, DEEPEST] = [4_096, 8]
/** Bytes of a member besides its name and value. */
const MARKS = 8
const MORE = '…'

/** The storable form of a body as JSON text: bounded, with its structure intact. */
export function maskBody(body: unknown): string {
  let room = MOST_BYTES - MARKS
  function visit(value: unknown, name: string, depth: number): unknown {
    room -= MARKS
    if (depth > DEEPEST) return MORE
    if (Array.isArray(value)) return listed(value, name, depth)
    if (typeof value === 'object' && value !== null) return Object.fromEntries(members(value, depth))
    const kept = typeof value === 'string' || typeof value === 'number' ? shown(name, String(value)) : value
    room -= String(kept).length
    return kept === String(value) ? value : kept
  }
  function listed(values: readonly unknown[], name: string, depth: number): unknown[] {
    const kept: unknown[] = []
    for (const value of values) {
      if (room <= 0) return [...kept, MORE]
      kept.push(visit(value, name, depth + 1))
    }
    return kept
  }
  function* members(object: object, depth: number): Iterable<readonly [string, unknown]> {
    for (const [name, value] of Object.entries(object)) {
      const key = room <= 0 ? MORE : shownName(name)
      yield [key, room <= 0 ? MORE : visit(value, name, depth + 1)]
      if (key === MORE) return
      room -= key.length
    }
  }
  return bounded(visit(body, '', 0))
}

/** JSON text of an error's details: the service's own words, except unknown field names. */
export function formatDetails(details: Readonly<Record<string, unknown>>): string {
  const { unknown_fields, ...rest } = details
  const names = Array.isArray(unknown_fields) ? { unknown_fields: unknown_fields.map(String).map(shownName) } : {}
  return bounded({ ...rest, ...names })
}

function bounded(value: unknown): string {
  const text = JSON.stringify(value)
  return Buffer.byteLength(text) <= MOST_BYTES ? text : JSON.stringify(MORE)
}

/** A logged request; path, query and body are masked. */
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
  /** The tool of an agent, as `mcp:createSale`. */
  readonly via: string | null
  /** JSON text, for failed requests. */
  readonly body: string | null
  readonly details: string | null
}

/**
 * Logs requests beside their answers, which do not wait for it; what exceeds the bounds is dropped and counted.
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
    const requests = waiting
    if (requests.length === 0) return
    waiting = []
    ofCompany = new Map()
    try {
      refused += requests.length - (await writeRequests(pool, requests, bounds))
    } catch (error) {
      refused += requests.length
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

const bytesOf = ({ path, query, body, details, traceparent, via }: LoggedRequest): number =>
  ROW_BYTES +
  path.length +
  [query, body, details, traceparent, via].reduce((sum, text) => sum + (text ? Buffer.byteLength(text) : 0), 0)

/** Returns the number of written rows; companies that exceed twice their bound are skipped. */
async function writeRequests(
  pool: Pool,
  requests: readonly LoggedRequest[],
  { ofCompany }: RequestLogBounds,
): Promise<number> {
  const { rows } = await pool.query<{ written: number }>({
    ...WRITE_CALLS,
    values: [
      requests.map(({ companyId }) => companyId),
      requests.map(({ id }) => id),
      requests.map(({ at_ms }) => at_ms),
      requests.map(({ keyId }) => keyId),
      requests.map(({ method }) => method),
      requests.map(({ path }) => path),
      requests.map(({ query }) => query),
      requests.map(({ status }) => status),
      requests.map(({ code }) => code),
      requests.map(({ duration_ms }) => duration_ms),
      requests.map(({ replayed }) => replayed),
      requests.map(({ body }) => body),
      requests.map(({ details }) => details),
      requests.map(bytesOf),
      requests.map(({ traceparent }) => traceparent),
      requests.map(({ via }) => via),
      2 * ofCompany.requests,
      2 * ofCompany.bytes,
    ],
  })
  return rows[0]?.written ?? 0
}

/** The commit does not wait for the disk: losing the last moment in a crash does no harm. */
const WRITE_CALLS = {
  name: 'write_requests',
  text: `
with clock as materialized (select set_config('synchronous_commit', 'off', true)), given as (
  select g.* from unnest($1::bigint[], $2::uuid[], $3::float8[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::smallint[], $9::text[],
    $10::integer[], $11::bool[], $12::text[], $13::text[], $14::integer[], $15::text[], $16::text[])
    as g(company_id, id, at_ms, api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, bytes, traceparent, via) cross join clock
), counted as (
  select company_id, count(*) as requests, sum(bytes) as bytes from given group by company_id
), writable as (
  select n.* from counted n left join request_counts c on c.company_id = n.company_id
  where coalesce(c.requests < $17 and c.bytes < $18, true)
), added as (
  insert into request_log (company_id, id, at, api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, bytes, traceparent, via)
  select company_id, id, to_timestamp(at_ms / 1000), api_key_id, method, path, query, status, code, duration_ms, replayed, body, details, given.bytes, traceparent, via
  from given where company_id in (select company_id from writable) order by company_id, id
), kept as (
  insert into request_counts as c (company_id, requests, bytes) select company_id, requests, bytes from writable order by company_id
  on conflict (company_id) do update set requests = c.requests + excluded.requests, bytes = c.bytes + excluded.bytes
)
select coalesce(sum(requests), 0)::int as written from writable`,
}

const KEPT_DAYS = 7

/**
 * Deletes requests older than 7 days. Returns their number. Not a rule of retention, because the counts of the
 * companies change with their rows.
 */
export const purgeOldRequests = (pool: Pool, limit: number): Promise<number> =>
  countOf(pool, { ...DELETE_OLD, values: [KEPT_DAYS, limit] })

/**
 * Deletes the oldest requests of companies beyond their bound. If the total is exceeded, each company keeps an
 * equal part: a busy company displaces only its own. Returns the number of deleted rows; repeat it until that is 0.
 */
export const purgeExcessRequests = (
  pool: Pool,
  limit: number,
  { ofCompany, ofAll }: RequestLogBounds = REQUEST_LOG_BOUNDS,
): Promise<number> =>
  countOf(pool, { ...DELETE_EXCESS, values: [ofCompany.requests, ofCompany.bytes, ofAll.requests, ofAll.bytes, limit] })

async function countOf(pool: Pool, statement: QueryConfig): Promise<number> {
  const { rows } = await pool.query<{ deleted: number }>(statement)
  return rows[0]?.deleted ?? 0
}

/** CTE that deletes `doomed` and counts it. */
const DELETE_DOOMED = `gone as (
  delete from request_log where (company_id, id) in (select company_id, id from doomed) returning company_id, bytes
), sums as (
  select company_id, count(*) as requests, sum(bytes) as bytes from gone group by company_id
), counted as (
  update request_counts c set requests = c.requests - s.requests, bytes = c.bytes - s.bytes from sums s where c.company_id = s.company_id
)
select coalesce(sum(requests), 0)::int as deleted from sums`

/** Ids start with their time. */
const DELETE_OLD = {
  name: 'delete_old_requests',
  text: `
with bound as materialized (
  select rpad(lpad(to_hex((extract(epoch from now() - make_interval(days => $1)) * 1000)::bigint), 12, '0'), 32, '0')::uuid as id
), doomed as materialized (
  select old.company_id, old.id from request_counts c cross join bound cross join lateral (
    select o.company_id, o.id from request_log o where o.company_id = c.company_id and o.id < bound.id order by o.id limit $2::int) as old
  where c.requests > 0 limit $2::int
), ${DELETE_DOOMED}`,
}

const DELETE_EXCESS = {
  name: 'delete_excess_requests',
  text: `
with counts as materialized (
  select company_id, requests, bytes, sum(requests) over () as all_requests, sum(bytes) over () as all_bytes, count(*) over () as companies
  from request_counts where requests > 0
), may as (
  select company_id, requests, bytes, case when all_requests > $3 then least($1::bigint, $3::bigint / companies) else $1 end as may_requests,
    case when all_bytes > $4 then least($2::bigint, $4::bigint / companies) else $2 end as may_bytes
  from counts
), doomed as materialized (
  select o.company_id, o.id from may cross join lateral (
    select company_id, id from request_log where company_id = may.company_id order by id
    limit least($5::bigint, greatest(may.requests - may_requests, ceil(may.requests * (may.bytes - may_bytes)::float8 / may.bytes)::bigint, 0))) as o
  where may.requests > may_requests or may.bytes > may_bytes limit $5::int
), ${DELETE_DOOMED}`,
}
