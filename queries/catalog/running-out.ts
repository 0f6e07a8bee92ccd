import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { fromBigThousandths, toBigThousandths } from '#domain/quantity.ts'
import type { Refusal } from '#domain/refusal.ts'
import { isRefusal } from '#ledger/command.ts'
import { toText } from '#lib/bytes.ts'
import type { ItemObject } from '#projections/catalog.ts'
import type { Reader } from '../reader.ts'
import type { ListPaging, Page } from '../records.ts'
import { t } from '../table-names.ts'
import { type ItemQuery, listItems, searchItems } from './items.ts'

/** Days of sales that tell how long a stock lasts: today and those before it. */
const DAYS = 30

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
      select wanted.id, -sum(m.quantity) as sold
      from unnest($2::bigint[]) as wanted(id)
      cross join lateral (
        select wanted.id union all select i.id from ${t.catalog_items} i where i.company_id = $1 and i.parent_id = wanted.id) f(id)
      cross join lateral (
        select quantity from ${t.stock_movements} m
        where m.company_id = $1 and m.catalog_item_id = f.id and m.kind in ('sale', 'cancel', 'return')
          and m.id >= (
            select f.id from ${t.stock_movements} f where f.company_id = $1 and f.changed_at >= $3::timestamptz
            order by f.changed_at, f.revision, f.id limit 1)
          and coalesce(m.occurred_at, m.changed_at) >= $3::timestamptz
        offset 0) m
      group by wanted.id) g`,
}

/** Sales of an item and its variants in the last 30 days, and how long their stock lasts at that rate. */
export interface StockCover {
  /** Exactly 3 decimals. */
  readonly sold_30_days: string
  /** Whole days, rounded down; null without sales or stock control. */
  readonly days_of_stock: number | null
}

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
  { today, timezone }: Calendar,
): Promise<ReadonlyMap<number, StockCover>> {
  const since = startOfDay(addDays(today, 1 - DAYS), timezone)
  const values = [items.map(({ id }) => id), since]
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
  query: ListPaging & { readonly category_id?: number | undefined },
  calendar: Calendar,
): Promise<Page | Refusal> => withCovers(reader, await listItems(reader, { ...query, low_stock: true }), calendar)

/** The same for people, by name. */
export const searchLowStock = async (reader: Reader, query: ItemQuery, calendar: Calendar): Promise<Page | Refusal> =>
  withCovers(reader, await searchItems(reader, { ...query, low_stock: true }), calendar)
