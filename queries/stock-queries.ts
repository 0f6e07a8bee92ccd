import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { fromBigThousandths, halfUp, toBigThousandths } from '#domain/money.ts'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { toText } from '#lib/fair-sharing.ts'
import type { ItemObject } from '#projections/catalog.ts'
import { COUNTED, type StockMovementRow, stockMovementObject } from '#projections/stock.ts'
import type { FilterValues } from '#records/field.ts'
import type { INVENTORY_FILTERS, LOW_STOCK_FILTERS, MOVEMENT_FILTERS } from '#records/list-filters.ts'
import { IS_UNSTOCKED, type ItemQuery, listItems, RUNS_OUT, searchItems } from './item-queries.ts'
import { type ListOrder, moneySum } from './list-statement.ts'
import type { Reader } from './reader.ts'
import {
  type FoundRecords,
  getBy,
  hasWords,
  type Listing,
  type ListPaging,
  list,
  listInOrder,
  localTime,
  NEWEST_FIRST,
  ORDER_BY_ID,
  type Page,
  type Paging,
  toWordPatterns,
} from './record-queries.ts'
import { findShortStocks } from './sales-sums.ts'
import { t } from './table-names.ts'

type InventoryFilters = FilterValues<typeof INVENTORY_FILTERS>

const inventoryListing: Listing<InventoryFilters> = {
  resource: 'inventories',
  from: `${t.inventories} t`,
  record: 't.doc',
  filters: { status: (value) => `t.status = ${value}::text` },
}

export const listInventories = (reader: Reader, query: ListPaging & InventoryFilters): Promise<Page | Refusal> =>
  list(reader, inventoryListing, query)

/** Newest first, for people. */
export const searchInventories = (reader: Reader, query: Paging & InventoryFilters): Promise<Page | Refusal> =>
  listInOrder(reader, inventoryListing, NEWEST_FIRST, query)

export const getInventory = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, inventoryListing, 'id', id)

/** A count of an inventory as the API returns it. */
export interface InventoryCountObject {
  readonly catalog_item_id: number
  readonly name: string
  readonly unit: string | null
  readonly counted: string
  readonly counted_at: string
  /** Stock at the counting; null if it was not tracked. */
  readonly expected: string | null
  readonly difference: string | null
  readonly is_superseded: boolean
}

/** SQL of the counted quantity less the stock at the counting. */
const DIFFERENCE = '(t.quantity - (s.stock - m.moved::numeric - m.corrected::numeric))'

const countListing: Listing<{ readonly inventory_id: number }> = {
  resource: 'inventory_counts',
  from: COUNTED,
  record: `json_build_object('catalog_item_id', t.id, 'name', i.name, 'unit', i.doc -> 'unit', 'counted', t.quantity::text,
    'counted_at', t.counted_at, 'expected', (s.stock - m.moved::numeric - m.corrected::numeric)::text,
    'difference', ${DIFFERENCE}::text, 'is_superseded', m.is_recounted)`,
  where: 't.quantity is not null',
  joinedTables: ['catalog_items', 'item_stocks', 'stock_movements'],
  present: (record, timezone) => {
    const count = record as InventoryCountObject
    return { ...count, counted_at: localTime(count.counted_at, timezone) }
  },
  filters: { inventory_id: (value) => `t.inventory_id = ${value}::bigint` },
}

export const listInventoryCounts = (
  reader: Reader,
  query: Paging & { readonly inventory_id: number },
): Promise<Page | Refusal> => listInOrder(reader, countListing, ORDER_BY_ID, query)

const LAST_COUNTED_FIRST: ListOrder = {
  name: 'last_counted',
  columns: [
    { name: 'counted_at', type: 'timestamptz', of: 't' },
    { name: 'id', type: 'bigint', of: 't' },
  ],
  descending: true,
  isSorted: true,
}

/** The count that was recorded last; a page of one. */
export const findLastCount = (reader: Reader, inventory_id: number): Promise<Page | Refusal> =>
  listInOrder(reader, countListing, LAST_COUNTED_FIRST, { inventory_id, limit: 1 })

/** What an inventory changes of an item's stock, at its cost, or at its price where the cost is unknown or hidden. */
export interface StockDifference {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly difference: string
  readonly value: string
  readonly is_at_cost: boolean
}

/** Differences with the largest values first, and of all: their number and the sum of their values. */
export interface StockDifferences {
  readonly shown: readonly StockDifference[]
  readonly count: number
  readonly value: string
}

const MAX_DIFFERENCES = 200

const DIFFERENCES = {
  name: 'stock_differences',
  text: `with differing as (
      select t.id, i.name, i.doc ->> 'unit' as unit, ${DIFFERENCE} as difference, i.doc ->> 'cost' is not null as is_at_cost,
        round(${DIFFERENCE} * coalesce(i.doc ->> 'cost', i.doc ->> 'price')::numeric * 100) as cents
      from ${COUNTED}
      where t.company_id = $1 and t.inventory_id = $2 and t.quantity is not null and i.deleted_at is null
        and not m.is_recounted and ${DIFFERENCE} <> 0)
    select (select count(*) from differing) as count, (select ${moneySum('sum(cents)')} from differing) as value,
      (select coalesce(json_agg(json_build_object('id', id, 'name', name, 'unit', unit, 'difference', difference::text,
         'value', ${moneySum('cents')}, 'is_at_cost', is_at_cost) order by abs(cents) desc, id), '[]')
       from (select * from differing order by abs(cents) desc, id limit ${MAX_DIFFERENCES}) largest) as shown`,
}

export async function stockDifferences(reader: Reader, inventoryId: number): Promise<StockDifferences> {
  const { rows } = await reader.query<StockDifferences>({ ...DIFFERENCES, values: [inventoryId] })
  return rows[0] as StockDifferences
}

export type MovementFilters = FilterValues<typeof MOVEMENT_FILTERS>

const movementListing: Listing<MovementFilters> = {
  resource: 'stock_movements',
  from: `${t.stock_movements} t`,
  // Quantities as texts: as numbers they would lose their three decimals.
  record: `json_build_object('id', t.id, 'catalog_item_id', t.catalog_item_id, 'kind', t.kind,
    'quantity', t.quantity::text, 'balance', t.balance::text, 'unit_cost', t.unit_cost::text, 'reason', t.reason,
    'document', t.document, 'record', t.record, 'occurred_at', t.occurred_at, 'changed_at', t.changed_at)`,
  present: (record, timezone) => stockMovementObject(record as StockMovementRow, timezone),
  filters: {
    catalog_item_id: (value) => `t.catalog_item_id = ${value}::bigint`,
    kind: (value) => `t.kind = ${value}::text`,
  },
}

/** Movements in the order of the ledger. */
export const listStockMovements = (reader: Reader, query: ListPaging & MovementFilters): Promise<Page | Refusal> =>
  list(reader, movementListing, query)

/** A movement for people. */
export type ShownMovement = ReturnType<typeof stockMovementObject> & { readonly actor: string | null }

const shownListing: typeof movementListing = {
  ...movementListing,
  resource: 'stock_movements_shown',
  record: (movementListing.record as string).replace("'changed_at'", "'actor', t.actor, 'changed_at'"),
  present: (record, timezone) => ({
    ...stockMovementObject(record as StockMovementRow, timezone),
    actor: (record as StockMovementRow).actor,
  }),
}

/** Movements for people, newest first, with their actors. */
export const listShownMovements = (reader: Reader, query: Paging & MovementFilters): Promise<Page | Refusal> =>
  listInOrder(reader, shownListing, NEWEST_FIRST, query)

/** Days of sales that tell how long a stock lasts: today and those before it. */
const DAYS = 30

/** SQL of the quantity of an item and its variants that was sold since $3, as a row `(sold)`, null if it did not move. */
const soldSince = (id: string): string => `
  select -sum(m.quantity) as sold
  from (select ${id} union all select i.id from ${t.catalog_items} i where i.company_id = $1 and i.parent_id = ${id}) f(id)
  cross join lateral (
    select quantity from ${t.stock_movements} m
    where m.company_id = $1 and m.catalog_item_id = f.id and m.kind in ('sale', 'cancel', 'return')
      and m.id >= (
        select f.id from ${t.stock_movements} f where f.company_id = $1 and f.changed_at >= $3::timestamptz
        order by f.changed_at, f.revision, f.id limit 1)
      and coalesce(m.occurred_at, m.changed_at) >= $3::timestamptz
    offset 0) m`

/**
 * Quantity of some items and their variants that left the stock by sales in the last 30 days, without what came back, and
 * the stock of the variants. An item without such movements is absent. The first movement of these days bounds the part of
 * each item's index that is read.
 */
const SOLD = {
  name: 'sold_in_month',
  text: `select g.id, g.sold, (
      select sum(s.stock) from ${t.catalog_items} i join ${t.item_stocks} s on s.company_id = i.company_id and s.id = i.id
      where i.company_id = $1 and i.parent_id = g.id and i.deleted_at is null) as variants
    from (
      select wanted.id, v.sold from unnest($2::bigint[]) as wanted(id)
      cross join lateral (${soldSince('wanted.id')}) v where v.sold is not null) g`,
}

/** Sales of an item and its variants in the last 30 days, and how long their stock lasts at that rate. */
export interface StockCover {
  /** Exactly 3 decimals. */
  readonly sold_30_days: string
  /** Whole days, rounded down; null without sales or stock control. */
  readonly days_of_stock: number | null
}

const soldFrom = ({ today, timezone }: Calendar): string => startOfDay(addDays(today, 1 - DAYS), timezone)

const positive = (thousandths: bigint): bigint => (thousandths < 0n ? 0n : thousandths)

function stockCover(stock: bigint | null, soldThousandths: bigint): StockCover {
  const sold = positive(soldThousandths)
  return {
    sold_30_days: fromBigThousandths(sold),
    days_of_stock: stock === null || sold === 0n ? null : Number((positive(stock) * BigInt(DAYS)) / sold),
  }
}

type Stocked = Pick<ItemObject, 'id' | 'stock'>

/** How long the stocks of some items last, by id; at most those of a page. */
export async function stockCovers(
  reader: Reader,
  items: readonly Stocked[],
  calendar: Calendar,
): Promise<ReadonlyMap<number, StockCover>> {
  const values = [items.map(({ id }) => id), soldFrom(calendar)]
  const { rows } = await reader.query<{ id: number; sold: string; variants: string | null }>({ ...SOLD, values })
  const found = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    items.map(({ id, stock }) => {
      const { sold = '0', variants = null } = found.get(id) ?? {}
      const stocks = [stock, variants].flatMap((each) => (each === null ? [] : toBigThousandths(each)))
      const all = stocks.length === 0 ? null : stocks.reduce((sum, each) => sum + each, 0n)
      return [id, stockCover(all, toBigThousandths(sold))]
    }),
  )
}

/** Products whose stock lasts less than a day, the shortest first; of many the first of them. */
export async function listEndingToday(reader: Reader, calendar: Calendar) {
  const day = (n: number) => startOfDay(addDays(calendar.today, n), calendar.timezone)
  const items = await findShortStocks(reader, [day(1 - DAYS), day(1)], DAYS)
  if (items.length === 0) return []
  const covers = await stockCovers(reader, items, calendar)
  return items.filter(({ id }) => covers.get(id)?.days_of_stock === 0)
}

/** A product whose stock is at its minimum or less, as the API returns it. */
export interface LowStockObject extends StockCover {
  readonly catalog_item_id: number
  readonly external_id: string | null
  readonly name: string
  readonly unit: string | null
  readonly stock: string
  readonly min_stock: string | null
}

async function withCovers(reader: Reader, page: Page | Refusal, calendar: Calendar): Promise<Page | Refusal> {
  if (isRefusal(page)) return page
  const items = JSON.parse(`[${toText(page.data)}]`) as ItemObject[]
  const covers = await stockCovers(reader, items, calendar)
  const data = items.map(({ id, external_id, name, unit, stock, min_stock }) =>
    JSON.stringify({ catalog_item_id: id, external_id, name, unit, stock, min_stock, ...covers.get(id) }),
  )
  page.release?.()
  const { release: _, ...rest } = page
  return { ...rest, data: data.join(',') }
}

/** Products that run out, by id or in order of change. */
export const listLowStock = async (
  reader: Reader,
  query: ListPaging & FilterValues<typeof LOW_STOCK_FILTERS>,
  calendar: Calendar,
): Promise<Page | Refusal> => withCovers(reader, await listItems(reader, { ...query, low_stock: true }), calendar)

/** The same for people, by name. */
export const searchLowStock = async (reader: Reader, query: ItemQuery, calendar: Calendar): Promise<Page | Refusal> =>
  withCovers(reader, await searchItems(reader, { ...query, low_stock: true }), calendar)

/** A product to buy. */
export interface PurchaseListItem extends StockCover {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly stock: string
  /** Of its last purchase; null if unknown or hidden. */
  readonly cost: string | null
  /** What the stock lacks for so many days of sales, and for its minimum; whole where all its quantities are. */
  readonly suggested: string
  /** That delivered it last; null if none did. */
  readonly supplier_id: number | null
  readonly supplier_name: string | null
  readonly supplier_phone: string | null
}

/** `supplier_id` 0: of none. */
export interface PurchaseListQuery {
  readonly q?: string | undefined
  readonly category_id?: number | undefined
  readonly supplier_id?: number | undefined
  /** How long the stock is to last. */
  readonly days: number
  readonly limit: number
}

/** Receipts that tell who delivers an item. */
const RECENT_RECEIPTS = 2_000

/**
 * Counted products that run out, or whose stock does not last so many days ($2), by supplier and name. An item with active
 * variants is not bought itself.
 */
const TO_BUY = {
  name: 'products_to_buy',
  text: `with delivered as materialized (
      select distinct on (1) (l.value ->> 'catalog_item_id')::bigint as id, r.supplier_id
      from (
        select r.id, r.supplier_id, r.doc from ${t.goods_receipts} r
        where r.company_id = $1 and r.undone_at is null and r.supplier_id is not null
        order by r.id desc limit ${RECENT_RECEIPTS}) r
      cross join lateral json_array_elements(r.doc -> 'lines') l order by 1, r.id desc)
    select t.id, t.name, t.doc ->> 'unit' as unit, t.doc ->> 'cost' as cost, s.stock::text as stock,
      coalesce(t.min_stock, 0)::text as min_stock, coalesce(v.sold, 0)::text as sold,
      p.id as supplier_id, p.doc ->> 'name' as supplier_name, p.doc ->> 'phone' as supplier_phone
    from ${t.catalog_items} t join ${t.item_stocks} s on s.company_id = t.company_id and s.id = t.id
    left join delivered d on d.id = t.id
    left join ${t.suppliers} p on p.company_id = $1 and p.id = d.supplier_id and p.deleted_at is null
    cross join lateral (${soldSince('t.id')}) v
    where t.company_id = $1 and t.deleted_at is null and t.type = 'product' and s.stock is not null
      and not (${IS_UNSTOCKED})
      and not exists (select from ${t.catalog_items} c where c.company_id = $1 and c.parent_id = t.id and c.deleted_at is null)
      and (${RUNS_OUT} or v.sold * $2 > greatest(s.stock, 0) * ${DAYS})
      and ($4::bigint is null or coalesce(p.id, 0) = $4) and ($5::bigint is null or t.category_id = $5)
      and ($6::text[] is null or ${hasWords('$6')})
    order by supplier_name nulls last, p.id, t.sort_key collate "C", t.id limit $7`,
}

type ToBuy = Omit<PurchaseListItem, 'suggested' | keyof StockCover> & {
  readonly min_stock: string
  readonly sold: string
}

/** What to buy, up to a limit. */
export async function listProductsToBuy(
  reader: Reader,
  { q, category_id, supplier_id, days, limit }: PurchaseListQuery,
  calendar: Calendar,
): Promise<readonly PurchaseListItem[]> {
  const values = [days, soldFrom(calendar), supplier_id ?? null, category_id ?? null, toWordPatterns(q) ?? null, limit]
  const { rows } = await reader.query<ToBuy>({ ...TO_BUY, values })
  return rows.map(({ sold, min_stock, ...item }) => {
    const [stock, minimum] = [positive(toBigThousandths(item.stock)), toBigThousandths(min_stock)]
    const cover = stockCover(stock, toBigThousandths(sold))
    const needed = halfUp(toBigThousandths(cover.sold_30_days) * BigInt(days), BigInt(DAYS))
    const lacking = [needed - stock, minimum - stock].reduce((most, each) => (each > most ? each : most), 0n)
    const isWhole = [item.stock, min_stock, cover.sold_30_days].every(
      (quantity) => toBigThousandths(quantity) % 1000n === 0n,
    )
    return { ...item, ...cover, suggested: fromBigThousandths(isWhole ? ((lacking + 999n) / 1000n) * 1000n : lacking) }
  })
}
