import type { EncodedText } from '#lib/fair-sharing.ts'
import type { Database } from '#postgres/database.ts'
import { asRowBytes, type RowsTogether, release, rowsIn } from '#postgres/row-bytes.ts'
import { inReading, type Statement } from '#postgres/transaction.ts'
import { BY_ITEM_CHANGE } from './item-queries.ts'
import {
  type Conditions,
  type ListOrder,
  listStatement,
  type PageStart,
  readRows,
  recordsIn,
  type Source,
  toCursorKey,
} from './list-statement.ts'
import { Reader, transactionSource, WHOLE } from './reader.ts'
import { ORDER_BY_CHANGE, ORDER_BY_ID } from './record-queries.ts'
import { t } from './table-names.ts'

/** SQL of an instant in the sync format: UTC with milliseconds. */
const utc = (moment: string): string => `to_char((${moment}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** About 200 kB of text and a few milliseconds of work; other requests run between chunks. */
const CHUNK_RECORDS = 1_000

/** Receives JSON texts of records, joined by commas; false stops the stream. */
type TakeRecords = (records: EncodedText) => boolean

/** What a till reads of a list, beside the records. */
interface TillDownload {
  /** Time of the snapshot's last event: as the next `last_sync` it misses nothing. */
  readonly syncTimestamp: string
  readonly total: number
  /** Ids that the till must drop, joined by commas; null in a full download. */
  readonly deleted: string | null
}

/** Records of a source in one order, from a start on. */
interface Pass {
  readonly source: Source
  readonly order: ListOrder
  readonly start: PageStart
  readonly bounds: readonly unknown[]
  /** With a value each, in their order. */
  readonly conditions?: Conditions
  readonly values?: readonly unknown[]
}

/** Streams the records of a pass in chunks and returns the ledger's time. Null when `take` stopped the stream. */
async function streamPass(
  reader: Reader,
  { source, order, start: first, bounds: from, conditions = {}, values = [] }: Pass,
  take: TakeRecords,
): Promise<{ time: string; total: number } | null> {
  const present = Object.keys(conditions)
  let [start, bounds] = [first, from]
  for (let total = 0; ; start = 'after') {
    const statement = asRowBytes(listStatement(source, order, conditions, present, start))
    const answer = await reader.query<RowsTogether>({ ...statement, values: [CHUNK_RECORDS, ...values, ...bounds] })
    const rows = rowsIn(answer)
    const [ledger, found] = readRows(rows, order, reader.companyId)
    const listed = found.slice(0, CHUNK_RECORDS)
    if (listed.length > 0 && !take(recordsIn(listed))) return null
    total += listed.length
    const last = found.length > CHUNK_RECORDS ? listed.at(-1) : undefined
    if (last) bounds = toCursorKey(order, last)
    release(rows)
    if (!last) return { time: ledger.last_recorded_at, total }
  }
}

/**
 * Restricts the plan to index scans. With the statistics of a freshly filled table the planner would sort all records
 * for each chunk: 50,000 products would take 30 s instead of 0.5 s.
 */
const BEGIN = `
  begin isolation level repeatable read, read only;
  set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off;
  set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off`

/** Several statements in one snapshot. */
const inSnapshot = <T>(pool: Database, companyId: number, read: (reader: Reader) => Promise<T>): Promise<T> =>
  inReading(pool, BEGIN, (tx) => read(new Reader(companyId, transactionSource(tx), WHOLE)))

/** SQL of a customer's JSON text. `k`: its store credit, which is exact at any size. */
const CUSTOMER_RECORD = `'{"id":' || t.id
  || ',"name":' || to_json(t.doc ->> 'name')::text
  || ',"document":' || coalesce(to_json(t.document)::text, '""')
  || ',"credit":' || coalesce(k.balance, '0.00')
  || ',"updated_at":"' || ${utc('greatest(t.changed_at, k.changed_at)')} || '"}'`

/** An erased customer has no name. */
const IS_CUSTOMER = `t.deleted_at is null and t.doc ->> 'forgotten_at' is null`

const CREDIT = `${t.customer_credits} k on k.company_id = t.company_id and k.id = t.id`

const customers: Source = {
  resource: 'sync_customers',
  from: `${t.customers} t left join ${CREDIT}`,
  record: CUSTOMER_RECORD,
  where: IS_CUSTOMER,
}

/** Those whose credit moved and who did not change themselves. */
const credited: Source = { ...customers, resource: 'sync_credits', from: `${t.customers} t join ${CREDIT}` }
const BY_CREDIT: ListOrder = {
  name: 'credit',
  columns: ORDER_BY_CHANGE.columns.map((column) => ({ ...column, of: 'k' })),
}
const UNCHANGED = { before: (value: string) => `t.changed_at < ${value}::timestamptz` }

const CUSTOMERS_DELETED = {
  name: 'list_sync_customers_deleted',
  text: `select coalesce(string_agg(t.id::text, ',' order by t.changed_at, t.revision, t.id), '') as ids
         from ${t.customers} t where t.company_id = $1 and t.changed_at >= $2 and not (${IS_CUSTOMER})`,
}

/** Since the test company was emptied: the till may know any former customer. */
const CUSTOMERS_ERASED = {
  name: 'list_sync_customers_erased',
  text: `select coalesce(string_agg(given.id::text, ',' order by given.id), '') as ids
         from ${t.companies} c join ${t.ledgers} l on l.company_id = c.company_id
         cross join lateral generate_series(1, (l.ids->>'customer')::bigint) as given(id)
         where c.company_id = $1 and c.erased_at > $2
           and not exists (select from ${t.customers} t where t.company_id = $1 and t.id = given.id and ${IS_CUSTOMER})`,
}

/**
 * Streams all customers of one snapshot, or those changed since `since` (UTC, inclusive). A moved store credit counts as
 * a change. Null when `take` stopped the stream.
 */
export function listCustomersForTill(
  pool: Database,
  companyId: number,
  since: string | undefined,
  take: TakeRecords,
): Promise<TillDownload | null> {
  return inSnapshot(pool, companyId, async (reader) => {
    if (since === undefined) {
      const all = { source: customers, order: ORDER_BY_ID, start: 'first', bounds: [] } as const
      const found = await streamPass(reader, all, take)
      return found && { syncTimestamp: found.time, total: found.total, deleted: '' }
    }
    const changed = { source: customers, order: ORDER_BY_CHANGE, start: 'since', bounds: [since] } as const
    const found = await streamPass(reader, changed, take)
    const moved = { ...changed, source: credited, order: BY_CREDIT, conditions: UNCHANGED, values: [since] }
    const more = found && (await streamPass(reader, moved, take))
    if (!found || !more) return null
    const [erased, deleted] = await Promise.all(
      [CUSTOMERS_ERASED, CUSTOMERS_DELETED].map((statement) =>
        reader.query<{ ids: string }>({ ...statement, values: [since] }),
      ),
    )
    return {
      syncTimestamp: found.time,
      total: found.total + more.total,
      deleted: erased?.rows[0]?.ids || deleted?.rows[0]?.ids || '',
    }
  })
}

/** Stock and category of an item `t`. */
const STOCK = `join ${t.item_stocks} s on s.company_id = t.company_id and s.id = t.id`
const CATEGORY = `left join ${t.categories} g on g.company_id = t.company_id and g.id = t.category_id and g.deleted_at is null`

/**
 * SQL of a product's JSON text. Decimals are copied from the document, so the numbers are exact. An untracked
 * item has stock 0; `tracks_stock` tells that it has no meaning.
 */
const PRODUCT_RECORD = `'{"id":' || t.id
  || ',"name":' || to_json(t.name)::text
  || ',"barcode":' || coalesce(to_json(t.barcode)::text, '""')
  || ',"sku":' || coalesce(to_json(t.sku)::text, '""')
  || ',"unit":' || coalesce(to_json(t.doc ->> 'unit')::text, '""')
  || ',"price":' || t.price
  || ',"stock":' || coalesce(s.stock, '0.000')
  || ',"tracks_stock":' || (s.stock is not null)::text
  || ',"category_name":' || coalesce((g.doc -> 'name')::text, '""')
  || ',"picture_url":' || coalesce(to_json(t.picture_url)::text, 'null')
  || ',"parent_id":' || coalesce(t.parent_id::text, 'null')
  || ',"variant":' || coalesce(t.variant::text, 'null')
  || ',"updated_at":"' || ${utc('t.updated_at')} || '"}'`

const IS_PRODUCT = `t.deleted_at is null and t.type = 'product'`

const products: Source = {
  resource: 'sync_products',
  from: `${t.catalog_items} t ${STOCK} ${CATEGORY}`,
  record: PRODUCT_RECORD,
  where: IS_PRODUCT,
}

/**
 * Streams all products of one snapshot, or those changed since `lastSync` (UTC, inclusive). Stock and the name of the
 * category count as changes. Null when `take` stopped the stream.
 */
export function listProductsForTill(
  pool: Database,
  companyId: number,
  lastSync: string | undefined,
  take: TakeRecords,
): Promise<TillDownload | null> {
  return inSnapshot(pool, companyId, async (reader) => {
    if (lastSync === undefined) {
      const all = { source: products, order: ORDER_BY_ID, start: 'first', bounds: [] } as const
      const found = await streamPass(reader, all, take)
      return found && { syncTimestamp: found.time, total: found.total, deleted: null }
    }
    const changed = { source: products, order: BY_ITEM_CHANGE, start: 'since', bounds: [lastSync] } as const
    // Usually empty and requested often: one round trip answers it.
    const [found, categories, deleted] = await Promise.all([
      streamPass(reader, changed, take),
      changedCategories(reader, lastSync),
      deletedSince(reader, lastSync),
    ])
    if (!found) return null
    let { total } = found
    if (categories.length > 0) {
      const all = { source: products, order: ORDER_BY_ID, start: 'first', bounds: [] } as const
      const renamed = { ...all, conditions: OF_CATEGORIES, values: [categories, lastSync] }
      const more = await streamPass(reader, renamed, take)
      if (!more) return null
      total += more.total
    }
    return { syncTimestamp: found.time, total, deleted }
  })
}

/** Of the products of these categories, those that did not change themselves. */
const OF_CATEGORIES: Conditions = {
  categories: (value) => `t.category_id = any(${value}::bigint[])`,
  before: (value) => `s.changed_at < ${value}::timestamptz`,
}

/** Categories that were renamed, deleted or restored: tills show them with their products. */
async function changedCategories(reader: Reader, lastSync: string): Promise<number[]> {
  const { rows } = await reader.query<{ id: number }>({
    name: 'list_sync_categories',
    text: `select t.id from ${t.categories} t
      where t.company_id = $1 and t.changed_at >= $2 order by t.changed_at, t.revision, t.id`,
    values: [lastSync],
  })
  return rows.map(({ id }) => id)
}

/** An item that became a service is deleted for tills. One that was never a product is ignored. */
async function deletedSince(reader: Reader, lastSync: string): Promise<string> {
  const idsOf = async (statement: Statement) =>
    (await reader.query<{ ids: string | null }>({ ...statement, values: [lastSync] })).rows[0]?.ids
  const [erased, deleted] = await Promise.all([idsOf(PRODUCTS_ERASED), idsOf(PRODUCTS_DELETED)])
  return erased || deleted || ''
}

const PRODUCTS_DELETED = {
  name: 'list_sync_products_deleted',
  text: `select coalesce(string_agg(gone.id::text, ','), '') as ids
         from (
           select t.id
           from ${t.catalog_items} t ${STOCK}
           where s.company_id = $1 and s.changed_at >= $2 and t.was_product
             and (t.deleted_at >= $2 or t.deleted_at is null and t.type <> 'product')
           order by s.changed_at, s.revision, s.id
         ) gone`,
}

/** Since the test company was emptied: the till may know any former product, and all but new ones are gone. */
const PRODUCTS_ERASED = {
  name: 'list_sync_products_erased',
  text: `select string_agg(given.id::text, ',' order by given.id) as ids
         from ${t.companies} c join ${t.ledgers} l on l.company_id = c.company_id
         cross join lateral generate_series(1, (l.ids->>'catalog_item')::bigint) as given(id)
         where c.company_id = $1 and c.erased_at > $2
           and not exists (select from ${t.catalog_items} t where t.company_id = $1 and t.id = given.id and ${IS_PRODUCT})`,
}

/** A product as the till last saw it; time in UTC. */
interface KnownProduct {
  readonly id: number
  readonly updated_at: string
}

/**
 * Streams what changed after the till's last sync, in the till's order, as `{id, reason, client_updated_at,
 * server_updated_at, product}`. A stock movement is no conflict. Returns the time of the snapshot; null when
 * `take` stopped the stream.
 */
export function checkProducts(
  pool: Database,
  companyId: number,
  known: readonly KnownProduct[],
  take: TakeRecords,
): Promise<string | null> {
  return inSnapshot(pool, companyId, async (reader) => {
    const now = await snapshotTime(reader)
    for (let start = 0; start < known.length; start += CHUNK_RECORDS) {
      const chunk = known.slice(start, start + CHUNK_RECORDS)
      const values = [chunk.map(({ id }) => id), chunk.map(({ updated_at }) => updated_at)]
      const found = await reader.query<{ conflicts: string | null }>({ ...FIND_CONFLICTS, values })
      const conflicts = found.rows[0]?.conflicts
      if (conflicts && !take(conflicts)) return null
    }
    return now
  })
}

async function snapshotTime(reader: Reader): Promise<string | null> {
  const { rows } = await reader.query<{ now: string }>({
    name: 'sync_clock',
    text: `select date_trunc('milliseconds', statement_timestamp()) as now, $1::bigint`,
  })
  return rows[0]?.now ?? null
}

/** Another company's product is unknown here. One that became a service counts as deleted. */
const FIND_CONFLICTS = {
  name: 'find_sync_conflicts',
  text: `select string_agg('{"id":' || known.id || ',"reason":"' || reason
             || '","client_updated_at":"' || ${utc('known.updated_at')}
             || '","server_updated_at":' || coalesce('"' || ${utc('coalesce(t.deleted_at, t.updated_at)')} || '"', 'null')
             || ',"product":' || case when reason = 'updated' then ${PRODUCT_RECORD} else 'null' end || '}',
           ',' order by known.position) as conflicts
         from unnest($2::bigint[], $3::timestamptz[]) with ordinality as known(id, updated_at, position)
         left join ${t.catalog_items} t on t.company_id = $1 and t.id = known.id
         left ${STOCK}
         ${CATEGORY}
         cross join lateral (
           select case
             when t.id is null then 'unknown'
             when t.deleted_at is not null or t.type <> 'product' then 'deleted'
             when t.updated_at > known.updated_at then 'updated'
           end as reason
         ) as judged
         where reason is not null`,
}
