import { fromCents, toCents } from '#domain/money.ts'
import { fromThousandths, toThousandths } from '#domain/quantity.ts'
import { amountOfPart, type LinePart } from '#domain/sale-discount.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { lineDiscountsOf, type SaleRow } from '#projections/sales.ts'
import { type StockMove, stockById, stockOf, thousandthsByItem } from '#projections/stock.ts'

type ReturnItems = DataOf<'SaleReturned'>['items']

interface ReturnableLine {
  readonly catalog_item_id: number | null
  readonly description: string
  /** Whether the sale took it from stock. */
  readonly moves_stock: boolean
  /** What was sold, with its share of what was paid for the sale. */
  readonly sold: LinePart
  /** What came back before. */
  readonly returned: LinePart
}

/** A sale as its returns see it; fees in cents. */
export interface ReturnableSale {
  readonly lines: readonly ReturnableLine[]
  readonly delivery_fee: number
  readonly returned_fee: number
}

/** A line of a return. */
export interface ReturnLine {
  readonly line: number
  readonly thousandths: number
  readonly restock: boolean
}

/** Rows of the stock that may come back. */
export const stockRefs = (moves: readonly StockMove[]): AnyRef[] =>
  moves.map(({ catalog_item_id }) => stockById(catalog_item_id))

/** All lines of an item either took stock or did not: they were sold at once. */
export function returnableOf({ doc, returned, stock_moves }: Readonly<SaleRow>): ReturnableSale {
  const moved = new Set(stock_moves.map(({ catalog_item_id }) => catalog_item_id))
  return {
    lines: doc.items.map((item, line) => ({
      catalog_item_id: item.catalog_item_id,
      description: item.description,
      moves_stock: item.catalog_item_id !== null && moved.has(item.catalog_item_id),
      sold: {
        thousandths: toThousandths(item.quantity),
        cents: toCents(item.total) - toCents(item.discount_share),
      },
      returned: { thousandths: toThousandths(item.returned), cents: returned?.cents[line] ?? 0 },
    })),
    delivery_fee: toCents(doc.delivery_fee),
    returned_fee: returned?.delivery_fee ?? 0,
  }
}

/** A till's sale that is being recorded. */
export function returnableUpload(sale: Pick<DataOf<'OfflineSaleCompleted'>, 'items' | 'discount'>): ReturnableSale {
  const shares = lineDiscountsOf(sale)
  return {
    lines: sale.items.map((item, line) => ({
      catalog_item_id: item.catalog_item_id,
      description: item.description,
      moves_stock: item.moves_stock,
      sold: { thousandths: toThousandths(item.quantity), cents: toCents(item.total) - (shares?.[line] ?? 0) },
      returned: { thousandths: 0, cents: 0 },
    })),
    delivery_fee: 0,
    returned_fee: 0,
  }
}

/** Items of a return with their share of what was paid for the lines (RETURN-2). */
export function amountsOf({ lines }: ReturnableSale, returned: readonly ReturnLine[]): ReturnItems {
  return returned.map(({ line, thousandths, restock }) => {
    const of = lines[line]
    if (!of) throw new Error(`return: the sale has no line ${line}`)
    return {
      line,
      catalog_item_id: of.catalog_item_id,
      description: of.description,
      quantity: fromThousandths(thousandths),
      amount: fromCents(amountOfPart(of.sold, of.returned, thousandths)),
      restock,
    }
  })
}

/** Stock that comes back: of lines that took stock and are to be restocked, if the item is still tracked. */
export function stockOfReturn(rows: Rows, { lines }: ReturnableSale, items: ReturnItems): StockMove[] {
  const moves = items.flatMap(({ line, catalog_item_id, quantity, restock }) =>
    restock && catalog_item_id !== null && lines[line]?.moves_stock ? [{ catalog_item_id, quantity }] : [],
  )
  return [...thousandthsByItem(moves)].flatMap(([catalog_item_id, thousandths]) =>
    stockOf(rows, catalog_item_id) === null ? [] : [{ catalog_item_id, quantity: fromThousandths(thousandths) }],
  )
}
