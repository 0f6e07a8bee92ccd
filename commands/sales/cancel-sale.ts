import { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { Id, optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Rows } from '#ledger/working-set.ts'
import { receivableById } from '#projections/finance.ts'
import { type SaleMoneyBack, type SaleRow, saleById } from '#projections/sales.ts'
import { stockById, stockOf } from '#projections/stock.ts'
import { refundsOf, refundTypes, SaleRefunds } from './sale-refunds.ts'

/** POST /sales/{id}/cancel; the reason is optional, and so is how the money went back. */
export const CancelSaleInput = z.strictObject({ id: Id, reason: optionalText(500), refunds: SaleRefunds.optional() })
export type CancelSaleInput = z.infer<typeof CancelSaleInput>

/**
 * Cancels a sale, returns its stock and deletes its pending receivables. A second request changes nothing (SALE-17).
 */
export const cancelSale = command<CancelSaleInput>({
  needs: ({ id }) => [saleById(id)],
  needsMore(rows, { id, refunds }) {
    const sale = rows.get(saleById(id))
    return sale ? [...touchedBy(sale), ...refundTypes(sale, refunds)] : []
  },
  decide(rows, { id, reason, refunds }, { origin }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    // The money decides: a refund of the order cancels its sale.
    if (sale.doc.order_id !== null) return refuse('managed_by_order', { order_id: sale.doc.order_id })
    // Only the till and the panel can cancel a counter sale; the integration API is refused.
    if (sale.origin !== 'api' && origin === 'api') return refuse('managed_by_pdv')
    if (sale.status === 'cancelled') return accept('unchanged', `sale/${id}`)
    const back = refunds && refundsOf(rows, sale, refunds)
    if (back && isRefusal(back)) return back
    const events = cancellation(rows, sale, reason ?? null, back)
    return isRefusal(events) ? events : accept('updated', `sale/${id}`, events)
  },
})

/** Other rows that a cancellation changes. */
export const touchedBy = ({ stock_moves, receivable_ids }: Pick<SaleRow, 'stock_moves' | 'receivable_ids'>) => [
  ...stock_moves.map((move) => stockById(move.catalog_item_id)),
  ...receivable_ids.map(receivableById),
]

/** Events that cancel a completed sale, or its refusal. */
export function cancellation(
  rows: Rows,
  sale: Readonly<SaleRow>,
  reason: string | null,
  refunds?: SaleMoneyBack[],
): NewEvent[] | Refusal {
  // A document in contingency counts as issued: it must be authorized first, then cancelled.
  if (sale.fiscal === 'present') return refuse('fiscal_document_issued')
  const owed = owedFor(sale, rows)
  // A cancellation cannot undo received money.
  if (owed.some((receivable) => receivable.status === 'settled')) return refuse('already_settled')
  const restock = sale.stock_moves.filter((move) => stockOf(rows, move.catalog_item_id) !== null)
  return [
    event('SaleCancelled', { id: sale.id, reason, restock, ...(refunds && { refunds }) }),
    ...owed.map((receivable) => event('ReceivableDeleted', { id: receivable.id })),
  ]
}

/** Receivables of the sale that are not deleted. */
function owedFor(sale: Readonly<SaleRow>, rows: Rows) {
  return sale.receivable_ids.flatMap((id) => {
    const receivable = rows.get(receivableById(id))
    return receivable && !receivable.deleted_at ? [receivable] : []
  })
}
