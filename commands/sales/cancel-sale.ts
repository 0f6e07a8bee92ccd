import { z } from 'zod'
import { type Refusal, refuse } from '#domain/refusal.ts'
import { Id, optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import type { NewEvent } from '#ledger/envelope.ts'
import type { Rows } from '#ledger/working-set.ts'
import { itemById } from '#projections/catalog.ts'
import { receivableById } from '#projections/finance.ts'
import { type SaleRow, saleById } from '#projections/sales.ts'

/** POST /sales/{id}/cancel; a reason is welcome and not demanded. */
export const CancelSaleInput = z.strictObject({ id: Id, reason: optionalText(500) })
export type CancelSaleInput = z.infer<typeof CancelSaleInput>

/**
 * Cancels a sale, returns its stock and deletes what is still to be received for it. Cancelling twice answers the state,
 * not an error (SALE-17).
 */
export const cancelSale = command<CancelSaleInput>({
  needs: ({ id }) => [saleById(id)],
  needsMore(rows, { id }) {
    const sale = rows.get(saleById(id))
    return sale ? touchedBy(sale) : []
  },
  decide(rows, { id, reason }, { origin }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    // A counter sale is the till's and the panel's to cancel; only the channel of the integration API is refused.
    if (sale.origin !== 'api' && origin === 'api') return refuse('managed_by_pdv')
    if (sale.status === 'cancelled') return accept('unchanged', `sale/${id}`)
    const events = cancellation(rows, sale, reason ?? null)
    return isRefusal(events) ? events : accept('updated', `sale/${id}`, events)
  },
})

/** The rows that cancelling a sale touches beside its own. */
export const touchedBy = ({ stock_moves, receivable_ids }: Pick<SaleRow, 'stock_moves' | 'receivable_ids'>) => [
  ...stock_moves.map((move) => itemById(move.catalog_item_id)),
  ...receivable_ids.map(receivableById),
]

/** The events that cancel a completed sale, or why it stays. */
export function cancellation(rows: Rows, sale: Readonly<SaleRow>, reason: string | null): NewEvent[] | Refusal {
  // One in contingency is issued too: it is to be authorized, and then cancelled.
  if (sale.fiscal === 'present') return refuse('fiscal_document_issued')
  const owed = owedFor(sale, rows)
  // What was received for it cannot be unsaid by a cancellation.
  if (owed.some((receivable) => receivable.status === 'settled')) return refuse('already_settled')
  const restock = sale.stock_moves.filter(
    (move) => typeof rows.get(itemById(move.catalog_item_id))?.doc.stock === 'string',
  )
  return [
    event('SaleCancelled', { id: sale.id, reason, restock }),
    ...owed.map((receivable) => event('ReceivableDeleted', { id: receivable.id })),
  ]
}

/** The receivables that the sale made, as far as nobody has deleted them. */
function owedFor(sale: Readonly<SaleRow>, rows: Rows) {
  return sale.receivable_ids.flatMap((id) => {
    const receivable = rows.get(receivableById(id))
    return receivable && !receivable.deleted_at ? [receivable] : []
  })
}
