import type { Pool } from 'pg'
import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusal.ts'
import { IS_CANCELLED, type OfflineSaleWarning, type SaleObject } from '#projections/sales.ts'
import type { Order } from '../list-statement.ts'
import { type Look, looking } from '../looking.ts'
import {
  containing,
  type Found,
  getBy,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  NEWEST_FIRST,
  type Page,
  type Paging,
} from '../records.ts'
import { type Sum, sum } from '../sums.ts'

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
}

/** What only people look for. */
interface PeoplesFilters {
  readonly id?: number
  /** A part of the customer's name. */
  readonly customer?: string
  /** One of the ways that it was paid in. */
  readonly payment_type_id?: number
  /** Who recorded it: `user/3`, `api_key/7`, or `system` for nobody. */
  readonly actor?: string
  /** A product or service that it has a line of. */
  readonly item?: number
  /** Only among the last `MOST_LOOKED` before this moment. */
  readonly among?: string
}

interface Days {
  /** First and last day of sale, both inclusive: days of the company's own calendar. */
  readonly sold_from?: string
  readonly sold_to?: string
}

export interface SaleFilters extends Filters, Days {}

/** Of a deleted customer no name is left to be found by; its sales keep the one that they were made with. */
const IS_OF_CUSTOMER = (name: string) =>
  `t.customer_id in (select c.id from customers c where c.company_id = $1 and c.sort_key like ${name}::text)`

/** At most so many sales are looked through, the last sold ones. */
export const MOST_LOOKED = 50_000

/**
 * A line's member in the text of a sale; inside of a string its quotes would be escaped. As it is stored, or, with its members in
 * another order, as Postgres prints it: which one the begin tells, so that the text is read through once.
 */
const HAS_ITEM = (item: string) => `case when left(t.doc::text, 7) = '{"id": '
  then strpos(t.doc::text, '"catalog_item_id": ' || ${item}::bigint || '}') > 0
  else strpos(t.doc::text, '"catalog_item_id":' || ${item}::bigint || ',') > 0 end`

const earliestAmong = (before: string) => `(select m.sold_at from sales m
  where m.company_id = $1 and m.sold_at < ${before}::timestamptz order by m.sold_at desc offset ${MOST_LOOKED} limit 1)`

export const saleListing: Listing<Filters & PeoplesFilters & Period> = {
  resource: 'sales',
  from: 'sales t',
  record: 't.doc',
  lookedUp: ['customers'],
  filters: {
    status: (value) => `t.status = ${value}::text`,
    customer_id: (value) => `t.customer_id = ${value}::bigint`,
    origin: (value) => `t.origin = ${value}::text`,
    external_id: (value) => `t.external_id = ${value}::text`,
    fiscal: (value) => `t.fiscal = ${value}::text`,
    offline_id: (value) =>
      `t.id = (select o.sale_id from offline_sales o where o.company_id = $1 and o.offline_id = ${value}::text)`,
    sold_from: (value) => `t.sold_at >= ${value}::timestamptz`,
    sold_before: (value) => `t.sold_at < ${value}::timestamptz`,
    id: (value) => `t.id = ${value}::bigint`,
    customer: IS_OF_CUSTOMER,
    payment_type_id: (value) => `translate(t.payment_type_ids::text, '[]', ',,') like '%,' || ${value}::bigint || ',%'`,
    actor: (value) => `t.actor is not distinct from nullif(${value}::text, 'system')`,
    item: HAS_ITEM,
    among: (value) => `t.sold_at >= coalesce(${earliestAmong(value)}, '-infinity')`,
  },
}

/** `timezone` is the company's: by it days begin. */
export function listSales(
  pool: Pool,
  companyId: number,
  { timezone, sold_from, sold_to, ...query }: ListPaging & SaleFilters & { readonly timezone: string },
): Promise<Page | Refusal> {
  return list(pool, saleListing, companyId, { ...query, ...periodOf({ sold_from, sold_to }, timezone) })
}

/** Their own index is used only by a statement that names its condition. */
const cancelledListing: typeof saleListing = { ...saleListing, resource: 'cancelled_sales', where: IS_CANCELLED }

type LatestFilters = SaleFilters & PeoplesFilters & { readonly timezone: string }

type LatestQuery = Paging &
  LatestFilters & { readonly order?: Order | undefined; readonly isWhole?: boolean | undefined }

/** The last sold first: an hour of yesterday may be uploaded today. */
export const LAST_SOLD_FIRST: Order = {
  name: 'last_sold',
  columns: [
    { name: 'sold_at', type: 'timestamptz' },
    { name: 'id', type: 'bigint' },
  ],
  descending: true,
}

/** Filters of people as the conditions of a listing. */
function latest({ timezone, sold_from, sold_to, status, customer, ...filters }: LatestFilters) {
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

/** No index finds these: they are looked for among the last sold. */
const WALKED = ['payment_type_id', 'origin', 'actor', 'item'] as const

/**
 * The same for people, by time of sale, or in another order that has an index. What has none is looked for among the last sold,
 * unless all are wanted, however long that takes.
 */
export function listLatestSales(
  pool: Pool,
  companyId: number,
  { limit, cursor, order, isWhole = false, ...filters }: LatestQuery,
): Promise<Page | Refusal> {
  const { listing, conditions } = latest(filters)
  // Sales that lack a document have an index by number.
  const usual = filters.fiscal === undefined ? LAST_SOLD_FIRST : NEWEST_FIRST
  const isWalked = WALKED.some((name) => filters[name] !== undefined)
  const among = isWalked && !isWhole ? (conditions.sold_before ?? 'infinity') : undefined
  return listInOrder(pool, listing, order ?? usual, companyId, { ...conditions, among, limit, cursor })
}

/** What filters find among the sales of their days. */
export interface SaleSums {
  readonly completed: Sum
  readonly cancelled: Sum
  /** Sales that were looked through; one more than `MOST_LOOKED` says that there are earlier ones. */
  readonly looked: number
}

/** Conditions by which few rows are entered; the others are looked at in the rows of the days. */
const ENTERED: readonly string[] = ['id', 'external_id', 'sold_from', 'sold_before']

/** Counts and adds up what filters of people find (PANEL-140). */
export async function sumLatestSales(pool: Pool, companyId: number, filters: LatestFilters): Promise<SaleSums> {
  const { listing, conditions } = latest(filters)
  const given = Object.entries(conditions).filter(([, value]) => value !== undefined)
  const sqlOf = given.map(([name], place) => {
    const condition = listing.filters[name as keyof typeof listing.filters]
    return { name, sql: condition(`$${place + 3}`, '') }
  })
  const all = (wanted: (typeof sqlOf)[number][]) => wanted.map(({ sql }) => ` and ${sql}`).join('')
  const entered = sqlOf.filter(({ name }) => ENTERED.includes(name))
  const lookedAt = sqlOf.filter(({ name }) => !ENTERED.includes(name))
  const text = `select ${sum('total_cents', "is_found and status = 'completed'")} as completed,
      ${sum('total_cents', "is_found and status = 'cancelled'")} as cancelled, count(*) as looked
    from (
      select t.total_cents, t.status, true${all(lookedAt)} as is_found
      from sales t
      where t.company_id = $1${listing.where ? ` and ${listing.where}` : ''}${all(entered)}
      order by t.sold_at desc
      limit (select $2::bigint + 1)
    ) looked`
  const values = [companyId, MOST_LOOKED, ...given.map(([, value]) => value)]
  const looks = { ...(conditions.item === undefined && { sales: 'columns' as const }), customers: 'columns' as const }
  const { rows } = await pool.query<SaleSums>(looking({ text, values, looks }))
  return rows[0] as SaleSums
}

const periodOf = ({ sold_from, sold_to }: Days, timezone: string): Period => ({
  sold_from: sold_from && startOfDay(sold_from, timezone),
  sold_before: sold_to && startOfDay(addDays(sold_to, 1), timezone),
})

export const getSale = (pool: Pool, companyId: number, id: number): Promise<Found> =>
  getBy(pool, saleListing, companyId, 'id', id)

/** A cancelled sale keeps its external id. */
export const getSaleByExternalId = (pool: Pool, companyId: number, externalId: string): Promise<Found> =>
  getBy(pool, saleListing, companyId, 'external_id', externalId)

/** What a sale has left outside its own record. */
export interface SaleTraces {
  /** Whether it has a customer that is not deleted. */
  readonly has_customer: boolean
  /** What its payments on credit made, deleted ones included. */
  readonly receivables: readonly OwedForSale[]
  /** How a till uploaded it; null where none did. */
  readonly upload: SaleUpload | null
}

export interface OwedForSale {
  readonly id: number
  readonly amount: string
  readonly due_date: string
  readonly status: 'pending' | 'settled'
  readonly is_deleted: boolean
}

export interface SaleUpload {
  readonly offline_id: string
  /** As Postgres prints it, with an offset. */
  readonly recorded_at: string
  /** Who uploaded it, as `user/3`. */
  readonly actor: string | null
  readonly warnings: readonly OfflineSaleWarning[]
}

const TRACES = `
  select coalesce(owed.list, '[]') as receivables, upload.entry as upload,
    exists (select from customers c where c.company_id = s.company_id and c.id = s.customer_id and c.deleted_at is null) as has_customer
  from sales s
  left join lateral (
    select json_agg(json_build_object('id', r.id, 'amount', r.doc->>'amount', 'due_date', r.due_date, 'status', r.status,
      'is_deleted', r.deleted_at is not null) order by r.id) as list
    from json_array_elements_text(s.receivable_ids) made
    join receivables r on r.company_id = s.company_id and r.id = made.value::bigint) owed on true
  left join lateral (
    select json_build_object('offline_id', t.offline_id, 'recorded_at', t.recorded_at, 'actor', t.actor,
      'warnings', t.warnings) as entry
    from offline_sales t where t.company_id = s.company_id and t.sale_id = s.id) upload on true
  where s.company_id = $1 and s.id = $2`

const CUSTOMER_OF =
  'select s.customer_id as id from sales s where s.company_id = $1 and s.id = $2 and s.customer_id is not null'
const RECEIVABLES_OF = `select made.value::bigint as id from sales s cross join json_array_elements_text(s.receivable_ids) made
  where s.company_id = $1 and s.id = $2`

/** Null when there is no such sale. */
export async function getSaleTraces(pool: Pool, companyId: number, id: number): Promise<SaleTraces | null> {
  const values = [companyId, id]
  const ofSale = (text: string): Look => ({ text, values, looks: { sales: [id] } })
  const looks = { sales: [id], customers: ofSale(CUSTOMER_OF), receivables: ofSale(RECEIVABLES_OF) }
  const { rows } = await pool.query<SaleTraces>(looking({ name: 'sale_traces', text: TRACES, values, looks }))
  return rows[0] ?? null
}

/** The events of a sale, by their revisions. */
export interface SaleEvents {
  /** Of the one that made it. */
  readonly revision: number
  /** Of those that changed it since, ascending. */
  readonly later: readonly number[]
  readonly isCancelled: boolean
  /** Of the ledger, as far as the read model has come. */
  readonly head: number
}

const SALE_EVENTS = `
  select s.first_revision, s.revision, s.past_revisions, s.status, l.revision as head,
    (select json_agg(p.revisions) from row_pasts p
     where p.company_id = s.company_id and p.of_table = 'sales' and p.row_id = s.id) as pasts
  from sales s join ledgers l on l.company_id = s.company_id
  where s.company_id = $1 and s.id = $2`

interface FoundEvents {
  first_revision: number
  revision: number
  past_revisions: readonly number[] | null
  status: SaleObject['status']
  head: number
  pasts: readonly (readonly number[])[] | null
}

/** Null when there is no such sale. */
export async function findSaleEvents(pool: Pool, companyId: number, id: number): Promise<SaleEvents | null> {
  const { rows } = await pool.query<FoundEvents>({ name: 'sale_events', text: SALE_EVENTS, values: [companyId, id] })
  const [row] = rows
  if (!row) return null
  const changes = new Set([...(row.pasts ?? []).flat(), ...(row.past_revisions ?? []), row.revision])
  changes.delete(row.first_revision)
  const later = [...changes].sort((a, b) => a - b)
  return { revision: row.first_revision, later, isCancelled: row.status === 'cancelled', head: row.head }
}
