import { fromCents, fromThousandths, toCents, toThousandths } from '#domain/money.ts'
import { amountOfPart, type LinePart, shareDiscount } from '#domain/payment-rules.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { type SaleRow, splitSaleDiscount } from '#projections/sales.ts'
import { getStock, type StockMove, stockById, thousandthsByItem } from '#projections/stock.ts'

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
export function toReturnableSale({
  doc,
  returned,
  stock_moves,
}: Pick<SaleRow, 'doc' | 'returned' | 'stock_moves'>): ReturnableSale {
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

/** A sale that is being recorded. */
export function returnableUpload(sale: Pick<DataOf<'SaleCompleted'>, 'items' | 'discount'>): ReturnableSale {
  const shares = splitSaleDiscount(sale)
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

export const sumCents = (amounts: readonly number[]): number => amounts.reduce((sum, cents) => sum + cents, 0)

const lineAt = ({ lines }: ReturnableSale, line: number): ReturnableLine => {
  const of = lines[line]
  if (!of) throw new Error(`return: the sale has no line ${line}`)
  return of
}

/** Share of the returned lines in what was to be paid for the sale, in cents. */
export const shareWorth = (goods: ReturnableSale, returned: readonly ReturnLine[]): number[] =>
  returned.map(({ line, thousandths }) => {
    const { sold, returned: before } = lineAt(goods, line)
    return amountOfPart(sold, before, thousandths)
  })

/** Worth of the goods that the buyer still has, with the delivery fee, in cents. */
export const sumKeptWorth = ({ lines, delivery_fee, returned_fee }: ReturnableSale): number =>
  lines.reduce(
    (sum, { sold, returned }) =>
      sum + sold.cents - amountOfPart(sold, { thousandths: 0, cents: 0 }, returned.thousandths),
    delivery_fee - returned_fee,
  )

/**
 * Items and delivery fee of a return, whose amounts sum to the money back: where that is not their `worth`, of which the
 * fee is the last, it is shared in proportion.
 */
export function shareMoneyBack(
  goods: ReturnableSale,
  returned: readonly ReturnLine[],
  worth: readonly number[],
  total: number,
): Pick<DataOf<'SaleReturned'>, 'items' | 'delivery_fee'> {
  const sum = sumCents(worth)
  const weights = sum === 0 ? worth.map((_, place) => (place < returned.length ? 1 : 0)) : worth
  const shares = total === sum ? worth : shareDiscount(weights, total)
  const items = returned.map(({ line, thousandths, restock }, place) => {
    const { catalog_item_id, description } = lineAt(goods, line)
    const amount = fromCents(shares[place] ?? 0)
    return { line, catalog_item_id, description, quantity: fromThousandths(thousandths), amount, restock }
  })
  return { items, delivery_fee: fromCents(shares[returned.length] ?? 0) }
}

/** Stock that comes back: of lines that took stock and are to be restocked, if the item is still tracked. */
export function stockOfReturn(rows: Rows, { lines }: ReturnableSale, items: ReturnItems): StockMove[] {
  const moves = items.flatMap(({ line, catalog_item_id, quantity, restock }) =>
    restock && catalog_item_id !== null && lines[line]?.moves_stock ? [{ catalog_item_id, quantity }] : [],
  )
  return [...thousandthsByItem(moves)].flatMap(([catalog_item_id, thousandths]) =>
    getStock(rows, catalog_item_id) === null ? [] : [{ catalog_item_id, quantity: fromThousandths(thousandths) }],
  )
}
