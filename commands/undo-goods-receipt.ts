import { fromThousandths, toThousandths } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { standingPayments } from '#projections/finance.ts'
import { type GoodsReceiptObject, goodsReceiptById, LATER_PURCHASES } from '#projections/goods-receipts.ts'
import { getStock, thousandthsByItem, toMovementId } from '#projections/stock.ts'
import { payableSide } from './receivables-payables.ts'
import type { RecordId } from './record-commands.ts'

/**
 * Takes a goods receipt back: its stock, its costs where they are still those of the receipt, and its unpaid accounts to
 * pay. Its access key may be received again. New items, the supplier, and how the supplier calls the items stay.
 */
export const undoGoodsReceipt = command<RecordId>({
  permission: 'adjust_stock',
  isAlone: true,
  needs: ({ id }) => [goodsReceiptById(id)],
  needsMore(rows, { id }) {
    const receipt = rows.get(goodsReceiptById(id))?.doc
    return receipt
      ? [
          ...receipt.lines.map(({ catalog_item_id }) => itemById(catalog_item_id)),
          ...receipt.payable_ids.map((payable) => payableSide.byId(payable)),
        ]
      : []
  },
  lookup(rows, { id }) {
    const row = rows.get(goodsReceiptById(id))
    const ids = row?.doc.costs.map(({ catalog_item_id }) => catalog_item_id) ?? []
    return { ...LATER_PURCHASES, values: [ids, row ? toMovementId(row.revision + 1) : 0] }
  },
  decide(rows, { id }, { permit, found }) {
    const receipt = rows.get(goodsReceiptById(id))?.doc
    if (!receipt) return refuse('not_found')
    const granted = permit('edit_payables')
    if (isRefusal(granted)) return granted
    if (receipt.undone_at !== null) return accept('unchanged', `goods_receipt/${id}`)
    const bills = receipt.payable_ids.flatMap((payable) => rows.get(payableSide.byId(payable)) ?? [])
    const paid = bills.filter(({ doc, deleted_at }) => !deleted_at && standingPayments(doc).length > 0)
    if (paid.length > 0) return refuse('has_payments', { payable_ids: paid.map((bill) => bill.id) })
    const stocks = stocksWithout(rows, receipt)
    if (isRefusal(stocks)) return stocks
    const again = new Set((found as readonly { catalog_item_id: number }[]).map((later) => later.catalog_item_id))
    const isLeft = ({ catalog_item_id, cost }: GivenCost) => {
      const item = rows.get(itemById(catalog_item_id))
      return !item || item.deleted_at !== null || item.doc.cost !== cost || again.has(catalog_item_id)
    }
    const left = receipt.costs.filter(isLeft).map(({ catalog_item_id }) => catalog_item_id)
    const undone = event('GoodsReceiptUndone', { id, stocks, left })
    const repriced = receipt.costs
      .filter((cost) => !isLeft(cost))
      .map(({ catalog_item_id, former_cost: cost }) =>
        event('CatalogItemUpdated', { id: catalog_item_id, changes: { cost } }),
      )
    const deleted = bills.filter(({ deleted_at }) => !deleted_at).map((bill) => payableSide.deleted(bill.id, {}))
    return accept('updated', undone.subject, [undone, ...repriced, ...deleted])
  },
})

type GivenCost = DataOf<'GoodsStocked'>['costs'][number]

/** Stocks of items without what the receipt brought; those that are not counted now, or were not then, stay so. */
function stocksWithout(rows: Rows, { lines }: GoodsReceiptObject): DataOf<'GoodsReceiptUndone'>['stocks'] | Refusal {
  const brought = [...thousandthsByItem(lines.filter(({ moves_stock }) => moves_stock))]
  const stocks = brought.flatMap(([catalog_item_id, thousandths]) => {
    const before = getStock(rows, catalog_item_id)
    return before === null
      ? []
      : [{ catalog_item_id, before, after: fromThousandths(toThousandths(before) - thousandths) }]
  })
  const short = stocks.flatMap(({ catalog_item_id, before, after }) =>
    toThousandths(after) >= 0
      ? []
      : [
          {
            catalog_item_id,
            requested: fromThousandths(toThousandths(before) - toThousandths(after)),
            available: before,
          },
        ],
  )
  return short[0] ? refuse('insufficient_stock', { ...short[0], items: short }) : stocks
}
