import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import type { OfflineSaleWarning } from '#projections/offline-sales.ts'
import { sellerOf } from '#projections/sale-payments.ts'
import { IS_CANCELLED } from '#projections/sales.ts'
import { type ListOrder, orderBy } from '../list-statement.ts'
import type { Reader, ReadScope } from '../reader.ts'
import {
  containing,
  type FoundRecords,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  NEWEST_FIRST,
  type Page,
  type Paging,
} from '../records.ts'
import { t } from '../table-names.ts'

interface Period {
  readonly sold_from?: string
  readonly sold_before?: string
}

interface Filters {
  readonly status?: 'completed' | 'cancelled'
  readonly customer_id?: number
  readonly origin?: 'api' | 'pdv' | 'system'
  readonly external_id?: string
  readonly fiscal?: 'missing' | 'present'
  readonly offline_id?: string
  readonly cash_session_id?: string
}

/** Filters for people only. */
interface PanelFilters {
  readonly id?: number
  /** Substring of the customer's name. */
  readonly customer?: string
  /** A payment type among its payments. */
  readonly payment_type_id?: number
  /** The actor: `user/3`, `api_key/7`, or `system`. */
  readonly actor?: string
  /** Who sold, as `sellerOf` names it. */
  readonly seller?: string
  /** An item among its lines. */
  readonly item?: number
  /** Only among the last `MAX_SCANNED_SALES` sales before this moment. */
  readonly among?: string
}

interface Days {
  /** First and last day of sale, both inclusive, in the company's calendar. */
  readonly sold_from?: string
  readonly sold_to?: string
}

export interface SaleFilters extends Filters, Days {}

/** A deleted customer has no name to search by; its sales keep the name at the time of sale. */
const IS_OF_CUSTOMER = (name: string) =>
  `t.customer_id in (select c.id from ${t.customers} c where c.company_id = $1 and c.sort_key like ${name}::text)`

/** Bound of scanned sales, latest first. */
export const MAX_SCANNED_SALES = 50_000

/**
 * Finds a line's member in the sale's JSON text; inside a string its quotes would be escaped. The text is either as
 * stored or as Postgres prints it, with members in another order: its beginning tells which, so that it is scanned
 * once.
 */
const HAS_ITEM = (item: string) => `case when left(t.doc::text, 7) = '{"id": '
  then strpos(t.doc::text, '"catalog_item_id": ' || ${item}::bigint || '}') > 0
  else strpos(t.doc::text, '"catalog_item_id":' || ${item}::bigint || ',') > 0 end`

const earliestAmong = (before: string) => `(select m.sold_at from ${t.sales} m
  where m.company_id = $1 and m.sold_at < ${before}::timestamptz order by m.sold_at desc offset ${MAX_SCANNED_SALES} limit 1)`

export const saleListing: Listing<Filters & PanelFilters & Period> = {
  resource: 'sales',
  from: `${t.sales} t`,
  record: 't.doc',
  joinedTables: ['customers'],
  filters: {
    status: (value) => `t.status = ${value}::text`,
    customer_id: (value) => `t.customer_id = ${value}::bigint`,
    origin: (value) => `t.origin = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
    fiscal: (value) => `t.fiscal = ${value}::text`,
    offline_id: (value) =>
      `t.id = (select o.sale_id from ${t.offline_sales} o where o.company_id = $1 and o.offline_id = ${value}::text)`,
    // By the sales of the session: a walk through all sales would take long for a session of last year.
    cash_session_id: (value) =>
      `t.id = any(array(select o.id from ${t.sales} o where o.company_id = $1 and o.cash_session_id = ${value}::text))`,
    sold_from: (value) => `t.sold_at >= ${value}::timestamptz`,
    sold_before: (value) => `t.sold_at < ${value}::timestamptz`,
    id: (value) => `t.id = ${value}::bigint`,
    customer: IS_OF_CUSTOMER,
    payment_type_id: (value) => `translate(t.payment_type_ids::text, '[]', ',,') like '%,' || ${value}::bigint || ',%'`,
    actor: (value) => `t.actor is not distinct from nullif(${value}::text, 'system')`,
    seller: (value) => `${sellerOf('t')} = ${value}::text`,
    item: HAS_ITEM,
    among: (value) => `t.sold_at >= coalesce(${earliestAmong(value)}, '-infinity')`,
  },
}

/** `timezone` is the company's; it decides where days begin. */
export function listSales(
  reader: Reader,
  { timezone, sold_from, sold_to, ...query }: ListPaging & SaleFilters & { readonly timezone: string },
): Promise<Page | Refusal> {
  return list(reader, saleListing, { ...query, ...periodOf({ sold_from, sold_to }, timezone) })
}

/** The partial index of cancelled sales is used only if the statement names its condition. */
const cancelledListing: typeof saleListing = { ...saleListing, resource: 'cancelled_sales', where: IS_CANCELLED }

export type LatestSaleFilters = SaleFilters & PanelFilters & { readonly timezone: string }

type LatestQuery = Paging &
  LatestSaleFilters & { readonly order?: ListOrder | undefined; readonly isWhole?: boolean | undefined }

/** Latest sale first: uploads may bring sales of earlier hours. */
export const LAST_SOLD_FIRST: ListOrder = { ...orderBy('last_sold', 'sold_at', 'timestamptz'), descending: true }

/** Converts people's filters to a listing and its conditions. */
export function toSaleConditions({ timezone, sold_from, sold_to, status, customer, ...filters }: LatestSaleFilters) {
  const isOfCancelled = status === 'cancelled'
  return {
    listing: isOfCancelled ? cancelledListing : saleListing,
    conditions: {
      ...filters,
      ...periodOf({ sold_from, sold_to }, timezone),
      status: isOfCancelled ? undefined : status,
      customer: containing(customer),
    },
  }
}

/** Filters without an index: they search among the latest sales. */
const UNINDEXED = ['payment_type_id', 'origin', 'actor', 'seller', 'item'] as const

/**
 * For people, by time of sale or another indexed order. Filters without an index scan the latest sales only, unless the
 * caller wants all, however long it takes.
 */
export function listLatestSales(
  reader: Reader,
  { limit, cursor, order, isWhole = false, ...filters }: LatestQuery,
): Promise<Page | Refusal> {
  const { listing, conditions } = toSaleConditions(filters)
  // Sales without a document have an index by number.
  const usual = filters.fiscal === undefined ? LAST_SOLD_FIRST : NEWEST_FIRST
  const isScanned = UNINDEXED.some((name) => filters[name] !== undefined)
  const among = isScanned && !isWhole ? (conditions.sold_before ?? 'infinity') : undefined
  return listInOrder(reader, listing, order ?? usual, { ...conditions, among, limit, cursor })
}

const periodOf = ({ sold_from, sold_to }: Days, timezone: string): Period => ({
  sold_from: sold_from && startOfDay(sold_from, timezone),
  sold_before: sold_to && startOfDay(addDays(sold_to, 1), timezone),
})

export const getSale = (reader: Reader, id: number): Promise<FoundRecords> => getBy(reader, saleListing, 'id', id)

/** A cancelled sale keeps its external id. */
export const getSaleByExternalId = (reader: Reader, externalId: string): Promise<FoundRecords> =>
  getBy(reader, saleListing, 'external_id', externalId)

/** Records that a sale created outside its own. */
export interface SaleTraces {
  /** Whether its customer exists and is not deleted. */
  readonly has_customer: boolean
  /** Receivables of its credit payments, including deleted ones. */
  readonly receivables: readonly SaleBalance[]
  /** The upload that recorded it; null for other sales. */
  readonly upload: SaleUpload | null
}

export interface SaleBalance {
  readonly id: number
  readonly amount: string
  readonly open_amount: string
  readonly due_date: string
  readonly status: 'pending' | 'settled'
  readonly is_deleted: boolean
}

export interface SaleUpload {
  readonly offline_id: string
  /** As Postgres prints it, with an offset. */
  readonly recorded_at: string
  /** The uploading user, as `user/3`. */
  readonly actor: string | null
  readonly warnings: readonly OfflineSaleWarning[]
}

const TRACES = `
  select coalesce(owed.list, '[]') as receivables, upload.entry as upload,
    exists (select from ${t.customers} c where c.company_id = s.company_id and c.id = s.customer_id and c.deleted_at is null) as has_customer
  from ${t.sales} s
  left join lateral (
    select json_agg(json_build_object('id', r.id, 'amount', r.doc->>'amount', 'open_amount', r.doc->>'open_amount',
      'due_date', r.due_date, 'status', r.status,
      'is_deleted', r.deleted_at is not null) order by r.id) as list
    from json_array_elements_text(s.receivable_ids) made
    join ${t.receivables} r on r.company_id = s.company_id and r.id = made.value::bigint) owed on true
  left join lateral (
    select json_build_object('offline_id', t.offline_id, 'recorded_at', t.recorded_at, 'actor', t.actor,
      'warnings', t.warnings) as entry
    from ${t.offline_sales} t where t.company_id = s.company_id and t.sale_id = s.id) upload on true
  where s.company_id = $1 and s.id = $2`

const CUSTOMER_OF = `select s.customer_id as id from ${t.sales} s where s.company_id = $1 and s.id = $2 and s.customer_id is not null`
const RECEIVABLES_OF = `select made.value::bigint as id from ${t.sales} s cross join json_array_elements_text(s.receivable_ids) made
  where s.company_id = $1 and s.id = $2`

/** Null if the sale does not exist. */
export async function getSaleTraces(reader: Reader, id: number): Promise<SaleTraces | null> {
  const values = [id]
  const ofSale = (text: string): ReadScope => ({ text, values, readSet: { sales: [id] } })
  const readSet = { sales: [id], customers: ofSale(CUSTOMER_OF), receivables: ofSale(RECEIVABLES_OF) }
  const { rows } = await reader.query<SaleTraces>({ name: 'sale_traces', text: TRACES, values, readSet })
  return rows[0] ?? null
}
