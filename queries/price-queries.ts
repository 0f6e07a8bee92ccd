import { addDays, type Calendar, startOfDay } from '#domain/instant.ts'
import { halfUp, toBigCents } from '#domain/money.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { NewPrice, PriceChangeObject } from '#projections/price-changes.ts'
import type { Reader } from './reader.ts'
import {
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
import { soldQuantities } from './sales-sums.ts'
import { t } from './table-names.ts'

/** A change of many prices in a list. */
export type ListedPriceChange = Omit<PriceChangeObject, 'prices'> & { readonly items: number }

const listing: Listing<object> = {
  resource: 'price_changes',
  from: `${t.price_changes} t`,
  record: `((t.doc::jsonb - 'prices') || jsonb_build_object('items', json_array_length(t.doc -> 'prices')))::json`,
  filters: {},
}

/** By id, or in order of change. */
export const listPriceActs = (reader: Reader, query: ListPaging): Promise<Page | Refusal> =>
  list(reader, listing, query)

/** Newest first, for people. */
export const listPriceChanges = (reader: Reader, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, listing, NEWEST_FIRST, query)

export const getPriceChange = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, { ...listing, record: 't.doc' }, 'id', id)

/** An item on a list of prices or on labels; deactivated ones included. */
export interface PricedItem {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly price: string
  readonly barcode: string | null
  readonly gtin: string | null
  readonly isVariant: boolean
  readonly is_deleted: boolean
}

/** Items by name. */
export async function findPricedItems(reader: Reader, ids: readonly number[]): Promise<readonly PricedItem[]> {
  const { rows } = await reader.query<PricedItem>({
    name: 'priced_items',
    text: `select t.id, t.name, t.doc ->> 'unit' as unit, t.doc ->> 'price' as price, t.barcode,
        t.doc ->> 'gtin' as gtin, t.parent_id is not null as "isVariant",
        t.deleted_at is not null as is_deleted
      from ${t.catalog_items} t where t.company_id = $1 and t.id = any($2::bigint[]) order by t.sort_key collate "C", t.id`,
    values: [ids],
    readSet: { catalog_items: ids },
  })
  return rows
}

/** Suppliers of a choice; shops have fewer. */
const MOST_SUPPLIERS = 500

/** Suppliers whose goods were received, by name. */
export async function listSuppliersOfGoods(reader: Reader): Promise<readonly { id: number; name: string | null }[]> {
  const { rows } = await reader.query<{ id: number; name: string | null }>({
    name: 'suppliers_of_goods',
    text: `select t.id, t.doc ->> 'name' as name from ${t.suppliers} t
      where t.company_id = $1 and t.id in (select r.supplier_id from ${t.goods_receipts} r
          where r.company_id = $1 and r.undone_at is null)
      order by name, t.id limit ${MOST_SUPPLIERS}`,
  })
  return rows
}

/** Days of sales by which new prices are judged: today and those before it. */
const DAYS = 30

/** What some prices would have brought in the last 30 days more than the present ones, in cents, had as much been sold. */
export async function readEffectOfPrices(
  reader: Reader,
  prices: readonly NewPrice[],
  { today, timezone }: Calendar,
): Promise<bigint> {
  const bounds = [startOfDay(addDays(today, 1 - DAYS), timezone), startOfDay(addDays(today, 1), timezone)] as const
  const ids = prices.map(({ catalog_item_id }) => catalog_item_id)
  const sold = await soldQuantities(reader, ids, bounds)
  const thousandths = prices.reduce((sum, { catalog_item_id, before, after }) => {
    return sum + (sold.get(catalog_item_id) ?? 0n) * (toBigCents(after) - toBigCents(before))
  }, 0n)
  return thousandths < 0n ? -halfUp(-thousandths, 1000n) : halfUp(thousandths, 1000n)
}
