import { addDays, startOfDay } from '#domain/instant.ts'
import type { Refusal } from '#domain/refusals.ts'
import { HAS_WARNINGS } from '#projections/fiscal-documents.ts'
import type { SaleObject } from '#projections/sales.ts'
import { type ListOrder, type Sum, sumColumn } from './list-statement.ts'
import type { Reader } from './reader.ts'
import { type Listing, listInOrder, localTime, type Page, type Paging } from './record-queries.ts'
import type { SaleUpload } from './sale-queries.ts'
import { t } from './table-names.ts'

/** A sale uploaded by a till. `recorded_at` is the time of the upload, on the company's clock. */
export interface UploadedSale extends SaleUpload {
  readonly sale: SaleObject
}

const LATEST_FIRST: ListOrder = { name: 'latest', columns: [{ name: 'sale_id', type: 'bigint' }], descending: true }

/** Looks the sale up per listed upload: a join would scan all sales for a few uploads with warnings. */
const uploads: Listing<object> = {
  resource: 'uploads',
  from: `${t.offline_sales} t`,
  record: `json_build_object('offline_id', t.offline_id, 'recorded_at', t.recorded_at, 'actor', t.actor,
    'warnings', t.warnings, 'sale', (select s.doc from ${t.sales} s where s.company_id = t.company_id and s.id = t.sale_id))`,
  filters: {},
  present: (record, timezone) => {
    const entry = record as UploadedSale
    return { ...entry, recorded_at: localTime(entry.recorded_at, timezone) }
  },
}

const withWarnings: Listing<object> = { ...uploads, resource: 'uploads_with_warnings', where: HAS_WARNINGS }

/** Uploaded sales, newest first: all, or those with warnings to review. */
export const listUploads = (
  reader: Reader,
  { warned, ...paging }: Paging & { readonly warned: boolean },
): Promise<Page | Refusal> => listInOrder(reader, warned ? withWarnings : uploads, LATEST_FIRST, paging)

/** An uploaded sale that was refused, as the panel shows it until it is resolved. */
export interface RefusedSale {
  readonly id: number
  /** As sent; null if it was no text. */
  readonly offline_id: string | null
  /** The user of the last upload. */
  readonly user: { readonly id: number; readonly name: string | null }
  readonly first_refused_at: string
  readonly last_refused_at: string
  readonly times: number
  readonly code: string
  readonly message: string
  readonly errors: Readonly<Record<string, readonly string[]>>
  /** The body as sent; null if it was too large to store. */
  readonly payload: unknown
}

interface RefusedSales {
  readonly total: number
  readonly sales: readonly RefusedSale[]
}

export interface RefusedSaleRecord extends RefusedSale {
  /** Null while it is open. */
  readonly resolved_at: string | null
  /** Null also if the till resolved it by a corrected upload. */
  readonly resolved_by: { readonly id: number; readonly name: string | null } | null
  /** The resolution, in the user's words. */
  readonly resolution_note: string | null
}

export interface RefusedSaleDetails extends RefusedSaleRecord {
  /** The JSON text as sent; null if it was too large to store. */
  readonly sent: string | null
  /** Its SHA-256, in hex. */
  readonly digest: string
  /** The sale recorded from it, or the sale with the same identifier of the till. */
  readonly sale_id: number | null
}

const COLUMNS = `r.id, r.offline_id, json_build_object('id', r.user_id, 'name', u.doc->>'name') as user,
  r.first_refused_at, r.last_refused_at, r.times, r.code, r.message, r.errors, r.payload`
const FROM = `${t.refused_sales} r left join ${t.users} u on u.company_id = r.company_id and u.id = r.user_id`

const RESOLUTION = `r.resolved_at, r.resolution_note,
  case when r.resolved_by is not null then json_build_object('id', r.resolved_by, 'name', s.doc->>'name') end as resolved_by`
const FROM_RESOLVED = `${FROM} left join ${t.users} s on s.company_id = r.company_id and s.id = r.resolved_by`

/** Number of open refused sales. */
export async function countRefusedSales(reader: Reader): Promise<number> {
  const { rows } = await reader.query<{ total: number }>({
    name: 'count_refused_sales',
    text: `select count(*)::integer as total from ${t.refused_sales} where company_id = $1 and resolved_at is null`,
  })
  return rows[0]?.total ?? 0
}

/** Counts by user of the last upload. */
export async function countRefusedByUser(reader: Reader): Promise<ReadonlyMap<number, number>> {
  const { rows } = await reader.query<{ user_id: number; total: number }>({
    name: 'count_refused_by_user',
    text: `select user_id, count(*)::integer as total from ${t.refused_sales}
      where company_id = $1 and resolved_at is null group by user_id`,
  })
  return new Map(rows.map(({ user_id, total }) => [user_id, total] as const))
}

/**
 * Open refused sales of a day by user of the last upload. A sale that a till sent in several forms counts once, one
 * that took nothing never.
 */
export async function sumRefusedOfDay(
  reader: Reader,
  { day, timezone }: { readonly day: string; readonly timezone: string },
): Promise<ReadonlyMap<string, Sum>> {
  const { rows } = await reader.query<{ user_id: number; refused: Sum }>({
    name: 'sum_refused_of_day',
    text: `select user_id, ${sumColumn('total_cents', 'true')} as refused
      from (
        select distinct on (coalesce(offline_id, id::text)) user_id, total_cents
        from ${t.refused_sales}
        where company_id = $1 and resolved_at is null and total_cents is distinct from 0
          and coalesce(sold_at, first_refused_at) >= $2::timestamptz and coalesce(sold_at, first_refused_at) < $3::timestamptz
        order by coalesce(offline_id, id::text), last_refused_at desc, id desc) r
      group by user_id`,
    values: [startOfDay(day, timezone), startOfDay(addDays(day, 1), timezone)],
  })
  return new Map(rows.map(({ user_id, refused }) => [`user/${user_id}`, refused] as const))
}

/** Open refused sales, oldest first: up to `limit` after the id `after`. */
export async function listRefusedSales(
  reader: Reader,
  { after = 0, limit = 50 }: { readonly after?: number; readonly limit?: number } = {},
): Promise<RefusedSales> {
  const [total, page] = await Promise.all([
    countRefusedSales(reader),
    reader.query<StoredRefusedSale<RefusedSale>>({
      text: `select ${COLUMNS} from ${FROM}
       where r.company_id = $1 and r.resolved_at is null and r.id > $2 order by r.id limit $3`,
      values: [after, limit],
    }),
  ])
  return { total, sales: page.rows.map(parsed) }
}

/** Resolved refused sales, latest refusal first, within their retention: up to `limit` before the id `before`. */
export async function listResolvedSales(
  reader: Reader,
  { before, limit = 50 }: { readonly before?: number | undefined; readonly limit?: number } = {},
): Promise<RefusedSaleRecord[]> {
  const { rows } = await reader.query<StoredRefusedSale<RefusedSaleRecord>>({
    text: `select ${COLUMNS}, ${RESOLUTION} from ${FROM_RESOLVED}
     where r.company_id = $1 and r.resolved_at is not null and ($2::bigint is null or r.id < $2) order by r.id desc limit $3`,
    values: [before ?? null, limit],
  })
  return rows.map(parsed)
}

/** Null if the company has no such refused sale, or it was purged. */
export async function getRefusedSale(reader: Reader, id: number): Promise<RefusedSaleDetails | null> {
  const { rows } = await reader.query<StoredRefusedSale<RefusedSaleDetails>>({
    text: `select ${COLUMNS}, ${RESOLUTION}, r.payload as sent, encode(r.digest, 'hex') as digest,
       coalesce(r.sale_id,
         (select o.sale_id from ${t.offline_sales} o where o.company_id = r.company_id and o.offline_id = r.offline_id)) as sale_id
     from ${FROM_RESOLVED} where r.company_id = $1 and r.id = $2`,
    values: [id],
  })
  return rows[0] ? parsed(rows[0]) : null
}

type StoredRefusedSale<T extends RefusedSale> = Omit<T, 'payload'> & { readonly payload: string | null }

const parsed = <T extends RefusedSale>(row: StoredRefusedSale<T>): T =>
  ({ ...row, payload: row.payload === null ? null : JSON.parse(row.payload) }) as unknown as T

/** Names of records that tills name by id only. */
export interface NamesForTill {
  readonly products: ReadonlyMap<number, string>
  readonly paymentTypes: ReadonlyMap<number, string>
}

/** Includes deactivated products. Ids are safe integers. */
export async function findNamesForTill(
  reader: Reader,
  { products, paymentTypes }: { readonly products: readonly number[]; readonly paymentTypes: readonly number[] },
): Promise<NamesForTill> {
  const { rows } = await reader.query<{ is_product: boolean; id: number; name: string }>({
    name: 'names_for_till',
    text: `select true as is_product, i.id, i.doc->>'name' as name from ${t.catalog_items} i
           where i.company_id = $1 and i.id = any($2::bigint[])
           union all
           select false, t.id, t.doc->>'name' from ${t.payment_types} t where t.company_id = $1 and t.id = any($3::bigint[])`,
    values: [products, paymentTypes],
  })
  const named = (isProduct: boolean) =>
    new Map(rows.filter(({ is_product }) => is_product === isProduct).map(({ id, name }) => [id, name] as const))
  return { products: named(true), paymentTypes: named(false) }
}
