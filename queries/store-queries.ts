import { contextOf, openJson, type Vault } from '#crypto/vault.ts'
import type { Queryable } from '#postgres/database.ts'
import { type StoreObject, type StoreSecrets, storeSecrets } from '#projections/stores.ts'
import type { Reader } from './reader.ts'
import { getBy, type FoundRecords as RecordFound } from './record-queries.ts'
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
  const context = contextOf(storeSecrets.name, [store.companyId, store.id])
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
