import { inZone } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { limitedText } from '#domain/text.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { ApiKeyObject } from '#projections/webhooks.ts'
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

interface MeRow {
  company: Pick<
    CompanyObject,
    'id' | 'name' | 'cnpj' | 'state_registration' | 'tax_regime' | 'logo_url' | 'brand_color' | 'test'
  >
  plan: string
  timezone: string
  key: ApiKeyObject
  now: string
  revision: number
}

const GET_ME = {
  name: 'get_me',
  text: `select json_build_object('id', c.company_id, 'name', c.doc->'name', 'cnpj', c.doc->'cnpj',
                  'state_registration', c.doc->'state_registration', 'tax_regime', c.doc->'tax_regime',
                  'logo_url', c.doc->'logo_url', 'brand_color', c.doc->'brand_color', 'test', c.is_test) as company, c.plan, c.timezone, k.doc as key,
                date_trunc('milliseconds', clock_timestamp()) as now, l.revision
         from ${t.companies} c
         join ${t.api_keys} k on k.company_id = c.company_id and k.id = $2
         join ${t.ledgers} l on l.company_id = c.company_id
         where c.company_id = $1`,
}

/** The authenticated company and key: scopes, plan and quotas. */
export async function getMe(reader: Reader, keyId: number): Promise<{ me: object; revision: number } | null> {
  const { rows } = await reader.query<MeRow>({ ...GET_ME, values: [keyId] })
  const [row] = rows
  if (!row) return null
  const { company, plan, timezone, key, revision } = row
  const { id, prefix, scopes, created_at, expires_at, max_amount_per_call = null, max_amount_per_day = null } = key
  const local = (instant: string) => inZone(instant, timezone)
  return {
    revision,
    me: {
      company,
      key: {
        id,
        name: key.name,
        prefix,
        scopes,
        created_at: local(created_at),
        expires_at: expires_at && local(expires_at),
        max_amount_per_call,
        max_amount_per_day,
      },
      plan,
      server_time: local(row.now),
    },
  }
}

/** A key with its last use, rounded to the minute; null if it was never used. */
export interface ListedApiKey extends ApiKeyObject {
  readonly last_used_at: string | null
}

const LISTED_KEY = `k.id, k.doc, u.last_used_at
  from ${t.api_keys} k left join ${t.api_key_uses} u on u.company_id = k.company_id and u.api_key_id = k.id
  where k.company_id = $1`

interface ListedKeyRow {
  readonly doc: ApiKeyObject
  readonly last_used_at: string | null
}

const listedKey = ({ doc, last_used_at }: ListedKeyRow): ListedApiKey => ({ ...doc, last_used_at })

/** Keys of a company, oldest first, revoked and expired ones included: all, or `limit` of them, those in use before the newest others. */
export async function listApiKeys(reader: Pick<Reader, 'query'>, limit: number | null = null): Promise<ListedApiKey[]> {
  const { rows } = await reader.query<ListedKeyRow>({
    name: 'list_api_keys',
    text: `select doc, last_used_at from (
             select ${LISTED_KEY}
             order by k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) desc, k.id desc
             limit $2) listed
           order by id`,
    values: [limit],
  })
  return rows.map(listedKey)
}

/** A key, or a store's connection to the provider, that ends soon. */
interface ExpiringAccess {
  readonly kind: 'key' | 'store'
  readonly id: number
  readonly name: string
  readonly expires_at: string
}

/** Days before the end. */
const WARNED_DAYS = 14

/** What ends within two weeks of real time, soonest first. */
export async function findExpiringAccess(reader: Pick<Reader, 'query'>): Promise<readonly ExpiringAccess[]> {
  const { rows } = await reader.query<ExpiringAccess>({
    name: 'expiring_access',
    text: `with ending as (
             select 'key' as kind, k.id, k.doc ->> 'name' as name, k.expires_at from ${t.api_keys} k
             where k.company_id = $1 and k.revoked_at is null
             union all
             select 'store', s.id, s.alias, (s.doc #>> '{connection,expires_at}')::timestamptz from ${t.stores} s
             where s.company_id = $1 and s.enabled and s.doc #>> '{connection,refusal}' is null)
           select * from ending
           where expires_at > clock_timestamp() and expires_at < clock_timestamp() + interval '${WARNED_DAYS} days'
           order by expires_at, kind, id limit $2`,
    values: [MOST_EXPIRING],
  })
  return rows
}

const MOST_EXPIRING = 10

/** One of them. */
export async function getApiKey(reader: Reader, id: number): Promise<ListedApiKey | null> {
  const { rows } = await reader.query<ListedKeyRow>({
    name: 'get_api_key',
    text: `select ${LISTED_KEY} and k.id = $2`,
    values: [id],
  })
  return rows[0] ? listedKey(rows[0]) : null
}

interface CountedCalls {
  readonly minute: number
  readonly day: number
  /** Body bytes of the current day. */
  readonly bytes: number
}

/** Usage of the company's quota in the current minute and day. */
export async function getCalls(reader: Reader): Promise<CountedCalls> {
  const { rows } = await reader.query<CountedCalls>({
    name: 'get_calls',
    text: `select case when minute_ends_at > now() then minute_count else 0 end as minute,
                  case when day_ends_at > now() then day_count else 0 end as day,
                  case when day_ends_at > now() then day_bytes else 0 end as bytes
           from ${t.quotas} where company_id = $1`,
  })
  return rows[0] ?? { minute: 0, day: 0, bytes: 0 }
}

const IS_LIVE_KEY = {
  name: 'is_live_key',
  text: `select from ${t.api_keys} k join ${t.companies} c on c.company_id = k.company_id
         where k.company_id = $1 and k.id = $2 and k.revoked_at is null
           and (k.expires_at is null or k.expires_at > clock_timestamp()) and c.plan = 'api'`,
}

/** Whether an authenticated key is still valid. */
export async function isLiveKey(reader: Reader, keyId: number): Promise<boolean> {
  const { rowCount } = await reader.query({ ...IS_LIVE_KEY, values: [keyId] })
  return rowCount === 1
}

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
