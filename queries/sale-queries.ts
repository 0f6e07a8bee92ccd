import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { centsSql, sellerKeySql, waysSql } from '#projections/cash-takings.ts'
import type { OfflineSaleWarning } from '#projections/fiscal-documents.ts'
import { IS_CANCELLED, type SaleObject } from '#projections/sales.ts'
import type { FilterValues } from '#records/field.ts'
import type { SALE_FILTERS, SALE_PEOPLE_FILTERS } from '#records/list-filters.ts'
import { type ListOrder, moneySum, orderBy, sumStatement } from './list-statement.ts'
import type { Reader, ReadScope } from './reader.ts'
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
} from './record-queries.ts'
import { type Reconciliation, reconcile, returnedItemsSql, returnsIn, type SumsOfKind } from './sales-sums.ts'
import { t } from './table-names.ts'

interface Period {
  readonly sold_from?: string
  readonly sold_before?: string
}

export type SaleFilters = FilterValues<typeof SALE_FILTERS>

type PanelFilters = FilterValues<typeof SALE_PEOPLE_FILTERS>

interface SaleConditions extends Omit<SaleFilters, 'sold_from' | 'sold_to'>, PanelFilters, Period {
  /** Only among the last `MAX_SCANNED_SALES` sales before this moment. */
  readonly among?: string
}

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

export const saleListing: Listing<SaleConditions> = {
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
    seller: (value) => `${sellerKeySql('t')} = ${value}::text`,
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

type LatestSaleFilters = SaleFilters & PanelFilters & { readonly timezone: string }

type LatestQuery = Paging &
  LatestSaleFilters & { readonly order?: ListOrder | undefined; readonly isWhole?: boolean | undefined }

/** Latest sale first: uploads may bring sales of earlier hours. */
export const LAST_SOLD_FIRST: ListOrder = { ...orderBy('last_sold', 'sold_at', 'timestamptz'), descending: true }

/** Converts people's filters to a listing and its conditions. */
function toSaleConditions({ timezone, sold_from, sold_to, status, customer, ...filters }: LatestSaleFilters) {
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

const periodOf = ({ sold_from, sold_to }: Pick<SaleFilters, 'sold_from' | 'sold_to'>, timezone: string): Period => ({
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

/** Sums of the filtered sales. */
export interface SaleSums extends Reconciliation {
  /** Of the payment type in the filter. */
  readonly way: Reconciliation | null
  /** Of the item in the filter, less its part of discounts. */
  readonly item: ItemSums | null
  /** Scanned sales; one more than `MAX_SCANNED_SALES` means that there are earlier ones. */
  readonly scanned: number
}

/** Quantity and amount of an item in completed and in cancelled sales, and in returns of the days. */
interface ItemSums {
  readonly completed: ItemFigure
  readonly cancelled: ItemFigure
  readonly returned: ItemFigure
  /** Completed less returned; may be negative. */
  readonly net: ItemFigure
}

interface ItemFigure {
  readonly quantity: string
  readonly amount: string
}

/** Filters that an index answers; the others are checked on the rows that it finds. */
const INDEXED: readonly string[] = ['id', 'external_id', 'cash_session_id', 'sold_from', 'sold_before']

/** Cents and quantity of an item in a sale `s`. */
const itemIn = (item: string): string => `lateral (
  select sum(${centsSql("line ->> 'total'")} - coalesce((s.line_discounts ->> (place - 1)::integer)::bigint, 0)) as cents,
    sum((line ->> 'quantity')::numeric) as quantity
  from json_array_elements(s.doc -> 'items') with ordinality as lines (line, place)
  where line ->> 'catalog_item_id' = ${item}::bigint::text) i on s.is_found`

/** Quantity and cents of an item in sales of a status, and in returns `b`, as SQL. */
const soldItem = (status: SaleObject['status']) => ({
  quantity: `coalesce(sum(i.quantity) filter (where s.status = '${status}'), 0)`,
  cents: `coalesce(sum(i.cents) filter (where s.status = '${status}'), 0)`,
})
const RETURNED_ITEM = { quantity: 'coalesce(max(b.thousandths), 0) * 0.001', cents: 'coalesce(max(b.cents), 0)' }

const itemFigure = ({ quantity, cents }: { readonly quantity: string; readonly cents: string }): string =>
  `json_build_object('quantity', (${quantity})::numeric(30, 3)::text, 'amount', ${moneySum(`(${cents})`)})`

function itemFigures(): string {
  const [completed, cancelled] = [soldItem('completed'), soldItem('cancelled')]
  const net = {
    quantity: `${completed.quantity} - ${RETURNED_ITEM.quantity}`,
    cents: `${completed.cents} - ${RETURNED_ITEM.cents}`,
  }
  const figures = Object.entries({ completed, cancelled, returned: RETURNED_ITEM, net })
  return `json_build_object(${figures.map(([name, of]) => `'${name}', ${itemFigure(of)}`).join(', ')})`
}

/** A figure of `SumsOfKind` as JSON. */
const figure = (kind: SumsOfKind['kind'], count: string, cents: string): string =>
  `json_build_object('kind', '${kind}', 'way', null, 'count', ${count}, 'cents', coalesce(${cents}, 0)::text)`

/** Figures of the found sales `s` by status, as JSON of `SumsOfKind[]`. */
function figuresByStatus(cents: string): string {
  const figures = (['completed', 'cancelled'] as const).map((status) => {
    const filter = `filter (where s.is_found and s.status = '${status}')`
    return figure(status, `count(*) ${filter}`, `sum(${cents}) ${filter}`)
  })
  return `json_build_array(${figures.join(', ')})`
}

/** SQL of a filter in use. */
interface SaleCondition {
  readonly name: string
  readonly sql: string
}

const conjunction = (conditions: readonly SaleCondition[]): string =>
  conditions.map(({ sql }) => ` and ${sql}`).join('')

interface SumsRow {
  readonly sales: readonly SumsOfKind[]
  readonly way: readonly SumsOfKind[] | null
  readonly item: ItemSums | null
  readonly scanned: number
  readonly returned: readonly SumsOfKind[]
  readonly returned_way: readonly SumsOfKind[]
}

/**
 * Counts and sums people's filters. Returns are those of the days, of sales that the other filters find.
 */
export async function sumLatestSales(reader: Reader, filters: LatestSaleFilters): Promise<SaleSums> {
  const { listing, conditions } = toSaleConditions(filters)
  const given = Object.entries(conditions).filter(([, value]) => value !== undefined)
  const parameterOf = (name: string) => `$${given.findIndex(([one]) => one === name) + 3}`
  const sqlOf = given.map(([name]) => {
    const condition = listing.filters[name as keyof typeof listing.filters]
    return { name, sql: condition(parameterOf(name), '') }
  })
  const indexed = sqlOf.filter(({ name }) => INDEXED.includes(name))
  const checked = sqlOf.filter(({ name }) => !INDEXED.includes(name))
  const [isOfWay, isOfItem] = [conditions.payment_type_id !== undefined, conditions.item !== undefined]
  const needsDoc = isOfWay || isOfItem
  const returned = returnedBy(sqlOf, parameterOf, conditions)
  const text = `select ${figuresByStatus('s.total_cents')} as sales, count(s.status) as scanned,
      ${isOfWay ? figuresByStatus('w.cents') : 'null'} as way,
      ${isOfItem ? itemFigures() : 'null'} as item,
      ${returned.whole} as returned, ${returned.way} as returned_way
    from ${isOfItem ? `${returned.item} b left join ` : ''}(
      select t.total_cents, t.status${needsDoc ? ', t.doc, t.line_discounts' : ''}, true${conjunction(checked)} as is_found
      from ${t.sales} t
      where t.company_id = $1${listing.where ? ` and ${listing.where}` : ''}${conjunction(indexed)}
      order by t.sold_at desc
      limit (select $2::bigint + 1)
    ) s${isOfItem ? ' on true' : ''}
    ${isOfWay ? `left join lateral ${waysSql('s')} w on s.is_found and w.way = ${parameterOf('payment_type_id')}::bigint::text` : ''}
    ${isOfItem ? `left join ${itemIn(parameterOf('item'))}` : ''}`
  const values = [MAX_SCANNED_SALES, ...given.map(([, value]) => value)]
  const readSet = { ...(!needsDoc && { sales: 'columns' as const }), customers: 'columns' as const }
  const statement = sumStatement('sum_sales', text, given.length)
  const { rows } = await reader.query<SumsRow>({ ...statement, values, readSet })
  const { sales, way, returned: back, returned_way, ...row } = rows[0] as SumsRow
  return { ...row, ...reconcile([...sales, ...back]), way: way && reconcile([...way, ...returned_way]) }
}

/**
 * Returns of the days, as SQL: of whole sales, of the payment type in the filter, and of the item in it. The other
 * conditions are of the sale, which may have been paid in another way than a return of it.
 */
function returnedBy(
  conditions: readonly SaleCondition[],
  parameterOf: (name: string) => string,
  { status, item, payment_type_id, sold_from, sold_before }: Partial<Record<string, unknown>>,
): { readonly whole: string; readonly way: string; readonly item: string } {
  const from = sold_from === undefined ? `'-infinity'` : `${parameterOf('sold_from')}::timestamptz`
  const to = sold_before === undefined ? `'infinity'` : `${parameterOf('sold_before')}::timestamptz`
  const ofSale = (...others: readonly string[]) =>
    conjunction(conditions.filter(({ name }) => !['sold_from', 'sold_before', ...others].includes(name)))
  const sum = (way: string, ...others: readonly string[]) =>
    status === 'cancelled'
      ? `'[]'::json`
      : `(select json_build_array(${figure('returned', 'coalesce(sum(r.count), 0)', 'sum(r.cents)')})
          from (${returnsIn(from, to, '', ofSale(...others))}) r where r.way ${way})`
  return {
    whole: sum('is null'),
    way: sum(
      payment_type_id === undefined ? 'is null' : `= ${parameterOf('payment_type_id')}::bigint::text`,
      'payment_type_id',
    ),
    item: `(select sum(cents) as cents, sum(thousandths) as thousandths
      from (${returnedItemsSql(from, to, ofSale('item'))}) r
      where r.key = ${item === undefined ? `''` : `${parameterOf('item')}::bigint::text`})`,
  }
}

/** The revisions of a sale's events. */
interface SaleEvents {
  /** Of the event that created it. */
  readonly revision: number
  /** Of later events, ascending. */
  readonly later: readonly number[]
  readonly isCancelled: boolean
  /** Revision of the read model. */
  readonly head: number
}

const SALE_EVENTS = `
  select s.first_revision, s.revision, s.past_revisions, s.status, l.revision as head,
    (select json_agg(p.revisions) from ${t.row_histories} p
     where p.company_id = s.company_id and p.table_name = 'sales' and p.row_id = s.id) as pasts
  from ${t.sales} s join ${t.ledgers} l on l.company_id = s.company_id
  where s.company_id = $1 and s.id = $2`

interface SaleEventsRow {
  first_revision: number
  revision: number
  past_revisions: readonly number[] | null
  status: SaleObject['status']
  head: number
  pasts: readonly (readonly number[])[] | null
}

/** Null if the sale does not exist. */
export async function findSaleEvents(reader: Reader, id: number): Promise<SaleEvents | null> {
  const { rows } = await reader.query<SaleEventsRow>({ name: 'sale_events', text: SALE_EVENTS, values: [id] })
  const [row] = rows
  if (!row) return null
  const changes = new Set([...(row.pasts ?? []).flat(), ...(row.past_revisions ?? []), row.revision])
  changes.delete(row.first_revision)
  const later = [...changes].sort((a, b) => a - b)
  return { revision: row.first_revision, later, isCancelled: row.status === 'cancelled', head: row.head }
}
