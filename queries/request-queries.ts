import type { Refusal } from '#domain/refusals.ts'
import { limitedText } from '#domain/text.ts'
import type { ListOrder } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getPresented,
  type Listing,
  listInOrder,
  localTime,
  type Page,
  type Paging,
} from './record-queries.ts'
import { t } from './table-names.ts'

export const REQUEST_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A request to the API as its company sees it (KIT-50). */
export interface RequestObject {
  /** X-Request-Id. */
  request_id: string
  at: string
  api_key_id: number
  method: string
  /** Below /api/v1. Personal and secret values are masked, in the query string too. */
  path: string
  query: string | null
  /** Null if the client disconnected before the answer. */
  status: number | null
  code: string | null
  duration_ms: number
  replayed: boolean
  /** W3C trace context that the client sent. */
  traceparent: string | null
  /** The tool of an agent; absent for a program. */
  via?: string
}

/** With the stored details of a failed request. */
export interface RequestDetails extends RequestObject {
  body: unknown
  details: Readonly<Record<string, unknown>> | null
}

/** Error codes and paths as filters. */
export const ErrorCode = limitedText(100).regex(/^[a-z_]{1,100}$/, 'deve ser um código de erro, como not_found')
export const RequestPath = limitedText(301, 'deve ser um caminho abaixo de /api/v1, como /sales').regex(
  /^\/[\x21-\x7e]{0,300}$/,
  'deve ser um caminho abaixo de /api/v1, como /sales',
)

/** Instants are UTC. */
export interface RequestFilters {
  readonly api_key_id?: number
  readonly method?: (typeof REQUEST_METHODS)[number]
  /** A status, or a class of them: `422`, `4xx`. */
  readonly status?: string
  readonly code?: string
  /** This path and all paths below it. */
  readonly path?: string
  /** Inclusive. */
  readonly since?: string
  /** Exclusive. */
  readonly until?: string
}

const CALL_JSON = `json_build_object('request_id', t.id, 'at', t.at, 'api_key_id', t.api_key_id, 'method', t.method, 'path', t.path,
  'query', t.query, 'status', t.status, 'code', t.code, 'duration_ms', t.duration_ms, 'replayed', t.replayed, 'traceparent', t.traceparent, 'via', t.via)`

const present = (record: unknown, timezone: string): RequestObject => {
  const { via, ...call } = record as RequestObject
  return { ...call, at: localTime(call.at, timezone), ...(via && { via }) }
}

const callListing: Listing<RequestFilters> = {
  resource: 'requests',
  from: `${t.request_log} t`,
  record: CALL_JSON,
  filters: {
    api_key_id: (id) => `t.api_key_id = ${id}::bigint`,
    method: (method) => `t.method = ${method}`,
    status: (status) =>
      `case when ${status}::text like '_xx' then t.status / 100 = left(${status}::text, 1)::int else t.status = ${status}::text::int end`,
    code: (code) => `t.code = ${code}`,
    path: (path) => `(t.path = ${path}::text or starts_with(t.path, ${path}::text || '/'))`,
    since: (since) => `t.at >= ${since}::timestamptz`,
    until: (until) => `t.at < ${until}::timestamptz`,
  },
  present,
}

/** Ids are ordered by time. */
const NEWEST_FIRST: ListOrder = { name: 'newest', columns: [{ name: 'id', type: 'uuid' }], descending: true }

/** The company's requests of the last 7 days, newest first. */
export const listRequests = (reader: Reader, query: Paging & RequestFilters): Promise<Page | Refusal> =>
  listInOrder(reader, callListing, NEWEST_FIRST, query)

/** A request of the company with its stored details. */
export function getRequest(reader: Reader, id: string): Promise<FoundRecords> {
  const record = `select json_build_object('call', ${CALL_JSON}, 'body', t.body::json, 'details', t.details::json)
    from ${t.request_log} t where t.company_id = $1 and t.id = $2`
  return getPresented(reader, { name: 'get_call', record, values: [id] }, (found, timezone) => {
    const { call, body, details } = found as { call: RequestObject; body: unknown; details: object | null }
    return { ...present(call, timezone), body, details }
  })
}
