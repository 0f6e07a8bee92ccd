import { gtinKey, sameBarcodes } from '#domain/record-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import type { GoodsReceiptObject } from '#projections/goods-receipts.ts'
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
import { t } from './table-names.ts'

/** A receipt in lists. */
export type ListedReceipt = Pick<
  GoodsReceiptObject,
  'id' | 'access_key' | 'reference' | 'issued_on' | 'supplier_id' | 'total_cost' | 'created_at' | 'undone_at'
> & { readonly supplier_name: string | null }

const receiptListing: Listing<object> = {
  resource: 'goods_receipts',
  from: `${t.goods_receipts} t left join ${t.suppliers} s on s.company_id = t.company_id and s.id = t.supplier_id`,
  record: `json_build_object('id', t.id, 'access_key', t.doc -> 'access_key', 'reference', t.doc -> 'reference',
    'issued_on', t.doc -> 'issued_on', 'supplier_id', t.supplier_id, 'supplier_name', s.doc -> 'name',
    'total_cost', t.doc -> 'total_cost', 'created_at', t.doc -> 'created_at',
    'undone_at', t.doc -> 'undone_at')`,
  joinedTables: ['suppliers'],
  filters: {},
}

/** Newest first. */
export const listGoodsReceipts = (reader: Reader, query: Paging): Promise<Page | Refusal> =>
  listInOrder(reader, receiptListing, NEWEST_FIRST, query)

/** With its lines and its supplier's name. */
export type ShownReceipt = ListedReceipt & Pick<GoodsReceiptObject, 'lines' | 'costs' | 'left' | 'payable_ids'>

/** A receipt in lists of the API: without its lines. */
export type ReceiptSummary = Omit<GoodsReceiptObject, 'lines' | 'costs' | 'left'>

const summaryListing: Listing<object> = {
  resource: 'goods_receipt_summaries',
  from: `${t.goods_receipts} t`,
  record: `((t.doc::jsonb - '{lines,costs,left}'::text[]))::json`,
  filters: {},
}

/** By id, or in order of change. */
export const listReceiptSummaries = (reader: Reader, query: ListPaging): Promise<Page | Refusal> =>
  list(reader, summaryListing, query)

export const getWholeReceipt = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, { ...summaryListing, record: 't.doc' }, 'id', id)

const shownListing: Listing<object> = {
  ...receiptListing,
  resource: 'goods_receipts_shown',
  record: (receiptListing.record as string).replace(
    "'created_at'",
    "'lines', t.doc -> 'lines', 'costs', t.doc -> 'costs', 'left', t.doc -> 'left', 'payable_ids', t.doc -> 'payable_ids', 'created_at'",
  ),
}

export const getGoodsReceipt = (reader: Reader, id: number): Promise<FoundRecords> =>
  getBy(reader, shownListing, 'id', id)

/** Number of the receipt of an NF-e; null if it was not received. */
export async function findReceiptByKey(reader: Reader, accessKey: string): Promise<number | null> {
  const { rows } = await reader.query<{ id: number }>({
    name: 'find_goods_receipt_by_key',
    text: `select t.id from ${t.goods_receipts} t where t.company_id = $1 and t.access_key = $2`,
    values: [accessKey],
  })
  return rows[0]?.id ?? null
}

/** The first supplier in lists with a CPF or CNPJ. */
export async function findSupplierByDocument(reader: Reader, document: string) {
  const { rows } = await reader.query<{ id: number; name: string | null }>({
    name: 'find_supplier_by_document',
    text: `select t.id, t.doc ->> 'name' as name from ${t.suppliers} t
      where t.company_id = $1 and t.document = $2 and t.deleted_at is null order by t.id limit 1`,
    values: [document],
  })
  return rows[0] ?? null
}

/** An active product that a line may be. */
export interface ReceivableItem {
  readonly id: number
  readonly name: string
  readonly unit: string | null
  readonly is_tracked: boolean
}

const ITEM = `i.id, i.doc ->> 'name' as name, i.doc ->> 'unit' as unit, s.stock is not null as is_tracked`

/** Tables of an item and its stock, of the item `id`. */
const itemWithStock = (id: string): string =>
  `${t.catalog_items} i on i.company_id = $1 and i.id = ${id} and i.deleted_at is null and i.type = 'product'
   join ${t.item_stocks} s on s.company_id = i.company_id and s.id = i.id`

type RememberedItem = ReceivableItem & { readonly code: string; readonly of_unit: string; readonly factor: string }

/** Items by the codes and units under which a supplier's goods came before. */
export async function listSupplierItems(reader: Reader, supplierId: number, codes: readonly string[]) {
  const { rows } = await reader.query<RememberedItem>({
    name: 'list_supplier_items',
    text: `select r.code, r.unit as of_unit, r.factor::text as factor, ${ITEM}
      from ${t.supplier_items} r join ${itemWithStock('r.catalog_item_id')}
      where r.company_id = $1 and r.supplier_id = $2 and r.code = any($3::text[])`,
    values: [supplierId, codes],
  })
  return rows
}

/** Products by barcode or GTIN, with other zeros before it or not; of several, those that are unambiguous. */
export async function findItemsByGtin(
  reader: Reader,
  codes: readonly string[],
): Promise<ReadonlyMap<string, ReceivableItem>> {
  const { rows } = await reader.query<ReceivableItem & { code: string }>({
    name: 'find_items_by_gtin',
    text: `select asked.code, ${ITEM}
      from unnest($2::text[], $3::text[]) as asked (code, spelling)
      join ${t.catalog_items} b on b.company_id = $1 and b.barcode = asked.spelling and b.deleted_at is null
      join ${itemWithStock('b.id')}
      union
      select asked.code, ${ITEM}
      from unnest($4::text[], $5::text[]) as asked (code, gtin)
      join ${t.gtin_holders} h on h.company_id = $1 and h.gtin = asked.gtin
      join ${itemWithStock('(h.item_ids ->> 0)::bigint')}
      where json_array_length(h.item_ids::json) = 1`,
    values: [...spellingsOf(codes), ...keysOf(codes)],
  })
  const found = new Map<string, ReceivableItem | null>()
  for (const { code, ...item } of rows) found.set(code, found.has(code) ? null : item)
  return new Map([...found].flatMap(([code, item]) => (item ? [[code, item] as const] : [])))
}

function spellingsOf(codes: readonly string[]): [string[], string[]] {
  const pairs = codes.flatMap((code) => sameBarcodes(code).map((spelling) => [code, spelling] as const))
  return [pairs.map(([code]) => code), pairs.map(([, spelling]) => spelling)]
}

const keysOf = (codes: readonly string[]): [readonly string[], string[]] => [
  codes,
  codes.map((code) => gtinKey(code) ?? code),
]
