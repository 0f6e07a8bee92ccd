import { openJson, sealContext, type Vault } from '#crypto/vault.ts'
import { inZone } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { type AdjustedRoles, baseRoleSql, type LimitedPermission } from '#domain/rights.ts'
import type { Queryable } from '#postgres/database.ts'
import { type CompanyObject, companysTimeSql, MASKED_NAME, testCompany } from '#projections/companies.ts'
import { IS_TO_DELIVER } from '#projections/orders.ts'
import { type StoreObject, type StoreSecrets, storeSecrets } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { VOUCHER_DAYS } from '#records/company-settings.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  type Listing,
  listInOrder,
  ORDER_BY_ID,
  type Page,
  type Paging,
  type FoundRecords as RecordFound,
} from './record-queries.ts'
import { openReturn } from './return-queries.ts'
import { t } from './table-names.ts'

/** The online stores of a company, oldest first: the first `limit`, or all of them. There are few: no pages. */
export async function listStores(reader: Reader, limit: number | null = null): Promise<StoreObject[]> {
  const { rows } = await reader.query<{ doc: StoreObject }>({
    name: 'list_stores',
    text: `select doc from ${t.stores} where company_id = $1 order by id limit $2`,
    values: [limit],
  })
  return rows.map(({ doc }) => doc)
}

/** One of them. */
export const getStore = (reader: Reader, id: number): Promise<RecordFound> =>
  getBy(reader, { resource: 'stores', from: `${t.stores} t`, record: 't.doc' }, 'id', id)

/** Newest orders that are looked at for refusals. */
const RECENT_ORDERS = 100

/** An enabled store that cannot be paid. */
export interface UnpayableStore {
  readonly id: number
  readonly alias: string
  readonly problem: 'no_token' | 'connection_refused' | 'misconfigured'
}

/**
 * Enabled stores of a company that cannot be paid: without an access token, with a connection that the provider refused
 * to renew, or with latest attempts that it refused with `refusal`.
 */
export async function unpayableStores(reader: Reader, refusal: string): Promise<UnpayableStore[]> {
  const { rows } = await reader.query<UnpayableStore>({
    name: 'unpayable_stores',
    text: `with recent as (select store_id, doc from ${t.orders} where company_id = $1 order by id desc limit $3),
           latest as (
             select distinct on (store_id) store_id, payment->>'refusal' as refusal
             from recent, json_array_elements(doc->'payments') payment
             order by store_id, (payment->>'started_at')::timestamptz desc),
           judged as (
             select s.id, s.alias, case
               when s.doc#>>'{connection,refusal}' is not null then 'connection_refused'
               when not (s.doc->>'has_access_token')::boolean then 'no_token'
               when starts_with(latest.refusal, $2) then 'misconfigured' end as problem
             from ${t.stores} s join ${t.companies} c on c.company_id = s.company_id left join latest on latest.store_id = s.id
             where s.company_id = $1 and s.enabled and not c.is_test)
           select id, alias, problem from judged where problem is not null order by id`,
    values: [refusal, RECENT_ORDERS],
  })
  return rows
}

/** Connected stores of all companies of which the provider refused to renew the access token. */
export async function countRefusedConnections(pool: Queryable): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from stores where doc#>>'{connection,refusal}' is not null`,
  )
  return rows[0]?.count ?? 0
}

/** Credentials of a store at the payment provider. Contains secrets: never logged, answered or put in an event. */
export interface StoreAccess {
  readonly companyId: number
  readonly id: number
  readonly alias: string
  readonly enabled: boolean
  readonly sandbox: boolean
  /** Whether the company is a test company: its stores need no token. */
  readonly isTest: boolean
  readonly accessToken: string | null
  readonly notificationSecret: string | null
  /**
   * Whether a notification secret was ever set: unsigned notifications are then refused, even while the secret is lost.
   */
  readonly isSigning: boolean
}

/**
 * The store with an alias, of any company; null if there is none. Secrets are null if they were never set, or if a
 * process died between an append to an external event store and the commit that stores them.
 */
export async function findStore(pool: Queryable, vault: Vault, alias: string): Promise<StoreAccess | null> {
  const { rows } = await pool.query<StoreAccessRow>({
    name: 'find_store',
    text: `select t.company_id as "companyId", t.id, t.alias, t.enabled, (t.doc->>'sandbox')::boolean as sandbox, c.is_test as "isTest",
                  k.secrets as sealed,
                  (t.doc->>'has_notification_secret')::boolean as "isSigning"
           from stores t join companies c on c.company_id = t.company_id
           left join store_secrets k on k.company_id = t.company_id and k.store_id = t.id
           where t.alias = $1
           order by k.store_id nulls last limit 1`,
    values: [alias],
  })
  if (!rows[0]) return null
  const { sealed, ...store } = rows[0]
  const context = sealContext(storeSecrets.name, [store.companyId, store.id])
  const secrets = sealed && openJson<StoreSecrets['secrets']>(vault, sealed, context)
  return {
    ...store,
    accessToken: secrets?.access_token ?? (store.isTest ? `TEST-${alias}` : null),
    notificationSecret: secrets?.notification_secret ?? null,
  }
}

interface StoreAccessRow extends Omit<StoreAccess, 'accessToken' | 'notificationSecret'> {
  readonly sealed: Buffer | null
}

/**
 * JSON text of a till's configuration: company, payment types, user. An uploaded logo gets its whole URL.
 */
export async function getConfig(reader: Reader, userId: number, publicUrl: string): Promise<string> {
  const { rows } = await reader.query<{ config: string }>({ ...TILL_CONFIG, values: [userId, publicUrl] })
  const [found] = rows
  if (!found) throw new Error(`user ${userId} of company ${reader.companyId} does not exist`)
  return found.config
}

const TILL_CONFIG = {
  name: 'get_sync_config',
  text: `select '{"company":' || json_build_object(
             'id', c.company_id, 'name', c.doc -> 'name', 'cnpj', c.doc -> 'cnpj', 'logo_url',
             case when c.doc ->> 'logo_url' like '/%' then $3::text else '' end || coalesce(c.doc ->> 'logo_url', ''),
             'pix_key', coalesce(c.doc ->> 'pix_key', ''), 'pix_city', coalesce(c.doc ->> 'pix_city', ''),
             'voucher_days', coalesce((c.doc ->> 'voucher_days')::integer, ${VOUCHER_DAYS}))::text
           || ',"payment_types":[' || coalesce((
             select string_agg('{"id":' || p.id
               || ',"name":' || (p.doc -> 'name')::text
               || ',"kind":' || (p.doc -> 'kind')::text
               || ',"is_cash":' || (p.doc -> 'is_cash')::text
               || ',"fee_percentage":' || (p.doc ->> 'fee_percentage')
               || ',"due_days":' || (p.doc -> 'due_days')::text || '}', ',' order by p.id)
             -- That of the online store is for orders only.
             from ${t.payment_types} p where p.company_id = c.company_id and p.doc ->> 'kind' <> 'online'), '')
           || '],"user":' || json_build_object('id', u.id, 'name', u.doc -> 'name', 'role', ${baseRoleSql("u.doc ->> 'role'")})::text
           || ',"drawer":' || coalesce((
             select json_build_object('session_id', s.value -> 'session_id', 'opened_at', s.value -> 'opened_at')::text
             from ${t.cash_drawers} d cross join json_array_elements(d.sessions::json) with ordinality s (value, place)
             where d.company_id = c.company_id and d.user_id = u.id and s.value ->> 'closed_at' is null
             order by s.place limit 1), 'null')
           || '}' as config
         from ${t.companies} c
         join ${t.users} u on u.company_id = c.company_id and u.id = $2
         where c.company_id = $1`,
}

/** The company's name, as documents for outside show it, and its time zone. */
export async function getNameAndZone(reader: Reader): Promise<{ readonly name: string; readonly timezone: string }> {
  const { rows } = await reader.query<{ name: string; timezone: string }>({
    text: `select ${MASKED_NAME} as name, c.timezone from ${t.companies} c where c.company_id = $1`,
  })
  if (!rows[0]) throw new Error(`company ${reader.companyId} is not registered`)
  return rows[0]
}

const ADJUSTED_ROLES = { name: 'adjusted_roles', text: `select roles from ${t.companies} where company_id = $1` }

/** Roles with other permissions than their presets. */
export async function loadAdjustedRoles(reader: Reader): Promise<AdjustedRoles> {
  const { rows } = await reader.query<{ roles: AdjustedRoles }>({ ...ADJUSTED_ROLES })
  return rows[0]?.roles ?? {}
}

/** Progress of a new company's setup. */
export interface FirstSteps {
  /** What the shop sells was said, and with it ways of paying and categories. */
  readonly has_business: boolean
  readonly has_data: boolean
  readonly has_item: boolean
  readonly has_sale: boolean
  /** An online store that can be paid exists. */
  readonly has_store: boolean
}

export async function firstSteps(reader: Reader): Promise<FirstSteps> {
  const { rows } = await reader.query<FirstSteps>({ ...FIRST_STEPS })
  if (!rows[0]) throw new Error(`company ${reader.companyId} is not registered`)
  return rows[0]
}

const FIRST_STEPS = {
  name: 'panel_first_steps',
  text: `select doc ->> 'business_type' is not null as has_business,
      coalesce(doc ->> 'state_registration', doc ->> 'tax_regime', doc ->> 'address', doc ->> 'phone') is not null as has_data,
      exists (select from ${t.catalog_items} t where t.company_id = $1) as has_item,
      exists (select from ${t.sales} t where t.company_id = $1) as has_sale,
      exists (select from ${t.stores} t where t.company_id = $1 and (t.doc ->> 'has_access_token')::boolean) as has_store
    from ${t.companies} where company_id = $1`,
}

interface TestCompanyRow {
  readonly doc: CompanyObject
  readonly timezone: string
  readonly erased_at: string | null
  readonly is_test: boolean
  readonly now: string
  readonly revision: number
}

const GET_TEST_COMPANY = {
  name: 'get_test_company',
  text: `select c.doc, c.timezone, c.erased_at, c.is_test, l.revision,
                date_trunc('milliseconds', ${companysTimeSql('clock_timestamp()')}) as now
         from ${t.companies} c join ${t.ledgers} l on l.company_id = c.company_id where c.company_id = $1`,
}

/** JSON text of a test company with its clock; null for a real company. */
export async function getTestCompany(
  reader: Reader,
): Promise<{ readonly record: string | null; readonly revision: number }> {
  const { rows } = await reader.query<TestCompanyRow>({ ...GET_TEST_COMPANY })
  const [row] = rows
  if (!row) throw new Error(`company ${reader.companyId} is not registered`)
  return { record: row.is_test ? JSON.stringify(testCompany(row, row.now)) : null, revision: row.revision }
}

/** Whether a company is real or a test company, and its twin. */
export interface TestCompanyState {
  readonly is_test: boolean
  /** The test company of a real one; null if it has none. */
  readonly twin_id: number | null
  /** The company's time (UTC). */
  readonly now: string
  readonly clock_ahead_ms: number
  readonly erased_at: string | null
}

export async function getTestCompanyState(reader: Reader): Promise<TestCompanyState | null> {
  const { rows } = await reader.query<TestCompanyState>({
    name: 'get_test_standing',
    text: `select c.is_test, c.twin_id, ${companysTimeSql('clock_timestamp()')} as now, c.clock_ahead_ms, c.erased_at
           from ${t.companies} c where c.company_id = $1`,
  })
  return rows[0] ?? null
}

/** Users as the panel shows them: {id, name, email, role, status, created_at, updated_at}, inactive ones included. */
const userListing: Listing<object> = {
  resource: 'users',
  from: `${t.users} t`,
  record: 't.doc',
  filters: {},
  present(record, timezone) {
    const { company_id: _, created_at, updated_at, ...user } = record as UserObject
    return { ...user, created_at: inZone(created_at, timezone), updated_at: inZone(updated_at, timezone) }
  },
}

export function listUsers(reader: Reader, query: Paging): Promise<Page | Refusal> {
  return listInOrder(reader, userListing, ORDER_BY_ID, query)
}

export function getUser(reader: Reader, id: number): Promise<FoundRecords> {
  return getBy(reader, userListing, 'id', id)
}

/** Cents that a user gave under a limited permission on a day. */
export async function getUsedOn(
  reader: Reader,
  userId: number,
  permission: LimitedPermission,
  day: string,
): Promise<number> {
  const { rows } = await reader.query<{ cents: number }>({
    name: 'limit_used',
    text: `select coalesce(sum((use ->> $3)::bigint), 0)::bigint as cents
      from ${t.limit_uses}, json_array_elements(days) use
      where company_id = $1 and user_id = $2 and use ->> 'day' = $4`,
    values: [userId, permission, day],
  })
  return rows[0]?.cents ?? 0
}

/** Bytes of a picture; null if the item has none with this digest (SHA-256 in hex). */
export async function findPicture(reader: Reader, itemId: number, digest: string): Promise<Buffer | null> {
  const { rows } = await reader.query<{ content: Buffer }>({
    name: 'find_item_picture',
    text: `select content from ${t.item_pictures}
      where company_id = $1 and catalog_item_id = $2 and digest = decode($3, 'hex') and content is not null`,
    values: [itemId, digest],
  })
  return rows[0]?.content ?? null
}

/** Bytes of a company's logo; null if it has none with this digest (SHA-256 in hex). */
export async function findLogo(reader: Reader, digest: string): Promise<Buffer | null> {
  const { rows } = await reader.query<{ content: Buffer }>({
    name: 'find_company_logo',
    text: `select content from ${t.company_logos}
      where company_id = $1 and digest = decode($2, 'hex') and content is not null`,
    values: [digest],
  })
  return rows[0]?.content ?? null
}

/** Pending work of a company by the panel section that handles it. */
export interface PendingCounts {
  /** Refused sales, returns and movements of tills. */
  readonly tills: number
  /** Overdue accounts. */
  readonly receivables: number
  readonly payables: number
  /** Orders with an unacknowledged alarm, and paid ones to deliver. */
  readonly store: number
  /** Enabled webhooks that have failed for some minutes. */
  readonly integrations: number
}

/** Bound of each count, which costs as many index rows at most. */
export const MAX_PENDING = 100

const FAILING_MINUTES = 5

const counted = (rows: string): string =>
  `(select count(*)::integer from (select ${rows} limit ${MAX_PENDING}) as waiting)`

/** $1 company, $2 its day, $3 now, $4 and $5 whether refused returns and movements are for the user to decide. */
const WAITING = {
  name: 'panel_waiting',
  text: `select
    ${counted(`from ${t.refused_sales} where company_id = $1 and resolved_at is null`)}
      + ${counted(`from ${t.offline_returns} t where t.company_id = $1 and $4::boolean and ${openReturn('$3')}`)}
      + ${counted(`from ${t.refused_movements} where company_id = $1 and $5::boolean and state = 'refused'`)} as tills,
    ${counted(`from ${t.receivables} where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as receivables,
    ${counted(`from ${t.payables} where company_id = $1 and status = 'pending' and due_date < $2::date and deleted_at is null`)} as payables,
    ${counted(`from ${t.orders} where company_id = $1 and (has_open_alarm or (${IS_TO_DELIVER}))`)} as store,
    ${counted(`from ${t.webhooks} w join ${t.webhook_health} h on h.company_id = w.company_id and h.webhook_id = w.id
      where w.company_id = $1 and w.enabled and w.deleted_at is null and h.failing_since >= w.watched_since
        and h.failing_since < now() - interval '${FAILING_MINUTES} minutes'`)} as integrations`,
}

/** When the company's work is counted, and which refused uploads the user decides about. */
interface Decider {
  readonly today: string
  readonly now: string
  readonly decidesReturns: boolean
  readonly decidesMovements: boolean
}

/** Counts pending work in one statement. `pool` is the primary's: tills and webhooks are not part of the ledger. */
export async function countPending(reader: Reader, decider: Decider): Promise<PendingCounts> {
  const { today, now, decidesReturns, decidesMovements } = decider
  const { rows } = await reader.query<PendingCounts>({
    ...WAITING,
    values: [today, now, decidesReturns, decidesMovements],
  })
  return rows[0] as PendingCounts
}

/**
 * Payment types of a company by id, also those that the API refuses: the first `limit`, or all of them. There are few: no pages.
 */
export async function listPaymentTypes(
  reader: Reader,
  limit: number | null = null,
): Promise<{ data: string; revision: number }> {
  const { rows } = await reader.query<{ data: string; revision: number }>({
    name: 'list_payment_types',
    text: `select l.revision,
                  coalesce((select string_agg(t.doc::text, ',' order by t.id) from (
                    select id, doc from ${t.payment_types} where company_id = $1 order by id limit $2) t), '') as data
           from ${t.ledgers} l
           where l.company_id = $1`,
    values: [limit],
  })
  const [found] = rows
  if (!found) throw new Error(`company ${reader.companyId} has no ledger`)
  return found
}

/** One of them. */
export const getPaymentType = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, { resource: 'payment_types', from: `${t.payment_types} t`, record: 't.doc' }, 'id', id)
