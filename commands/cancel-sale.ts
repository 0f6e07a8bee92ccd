import * as z from 'zod'
import { fromCents } from '#domain/money.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import { Id, optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, type Grant, isRefusal, type NewEvent } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { cashSessionByName } from '#projections/cash-sessions.ts'
import { receivableById, standingPayments } from '#projections/finance.ts'
import { type SaleMoneyBack, type SaleRow, saleById } from '#projections/sales.ts'
import { getStock, stockById } from '#projections/stock.ts'
import { listDrawerSessions, openSessionIn } from '#projections/tills.ts'
import { voucherParts } from '#projections/vouchers.ts'
import { drawerAt } from './cash-commands.ts'
import { findClosedSession, NamedSession, namedSessionRefs } from './named-drawers.ts'
import { isInCash, refundTypes, SaleRefunds, toSaleRefunds } from './returned-goods.ts'

/** POST /sales/{id}/cancel; the reason is optional, and so is how the money went back. */
export const CancelSaleInput = z.strictObject({
  id: Id,
  reason: optionalText(500),
  refunds: SaleRefunds.nullish(),
  cash_session_id: NamedSession,
})
export type CancelSaleInput = z.infer<typeof CancelSaleInput>

/**
 * Cancels a sale, returns its stock and deletes its pending receivables. A second request changes nothing.
 */
export const cancelSale = command<CancelSaleInput>({
  needs: ({ id, cash_session_id }) => [saleById(id), ...namedSessionRefs(cash_session_id)],
  needsMore(rows, { id, refunds }) {
    const sale = rows.get(saleById(id))
    return sale ? [...cancellationSideRefs(sale), ...sessionRefs(sale), ...refundTypes(sale, refunds)] : []
  },
  decide(rows, { id, reason, refunds, cash_session_id = null }, { origin, actor, permit }) {
    const sale = rows.get(saleById(id))
    if (!sale) return refuse('not_found')
    // The money decides: a refund of the order cancels its sale.
    if (sale.doc.order_id !== null) return refuse('managed_by_order', { order_id: sale.doc.order_id })
    // Only the till and the panel can cancel a counter sale; the integration API is refused.
    if (sale.origin !== 'api' && origin === 'api') return refuse('managed_by_pdv')
    const granted = permit(isSellerOf(sale, actor) ? 'cancel_own' : 'cancel_all')
    if (isRefusal(granted)) return granted
    if (sale.status === 'cancelled') return accept('unchanged', `sale/${id}`)
    const closed = findClosedSession(rows, cash_session_id, { actor, permit })
    if (closed) return closed
    const back = refunds && toSaleRefunds(rows, sale, refunds)
    if (back && isRefusal(back)) return back
    const cancelling = {
      reason: reason ?? null,
      sessionId: back && !isInCash(rows, back) ? null : cash_session_id,
      userId: null,
      ...(back && { refunds: back }),
    }
    const events = cancellation(rows, sale, cancelling, granted)
    return isRefusal(events) ? events : accept('updated', `sale/${id}`, events)
  },
})

const isSellerOf = ({ seller_id }: Pick<SaleRow, 'seller_id'>, actor: string | null): boolean =>
  seller_id !== null && actor === `user/${seller_id}`

/** Other rows that a cancellation changes. */
export const cancellationSideRefs = ({
  stock_moves,
  receivable_ids,
}: Pick<SaleRow, 'stock_moves' | 'receivable_ids'>) => [
  ...stock_moves.map((move) => stockById(move.catalog_item_id)),
  ...receivable_ids.map(receivableById),
]

/** The cash session of a sale, which `sessionOfRefund` reads. */
export const sessionRefs = ({ cash_session_id: name }: Pick<SaleRow, 'cash_session_id'>) =>
  name === null ? [] : [cashSessionByName(name)]

/** How a sale is cancelled. */
interface Cancelling {
  readonly reason: string | null
  /** Cash session that the canceller names. */
  readonly sessionId: string | null
  /** User of the till, whose drawer is loaded. */
  readonly userId: number | null
  /** When the till cancelled it (UTC); null or absent if it is not known. */
  readonly at?: string | null
  /** How the money goes back; absent if it is not stated. */
  readonly refunds?: SaleMoneyBack[]
}

/**
 * Cash session that gives the money back: another one that the till names; that of the sale if it was not closed by then;
 * afterwards the one that the till's user had open. Null if there is none.
 */
export function sessionOfRefund(
  rows: Rows,
  own: string | null,
  { sessionId, userId, at = null }: Pick<Cancelling, 'sessionId' | 'userId' | 'at'>,
): string | null {
  if (sessionId !== null && sessionId !== own) return sessionId
  const closedAt = own === null ? null : (rows.get(cashSessionByName(own))?.closed_at ?? null)
  const sessions = userId === null ? [] : listDrawerSessions(rows, userId)
  if (own !== null && at !== null) return drawerAt(own, closedAt, sessions, at)
  return own !== null && closedAt === null ? own : openSessionIn(sessions)
}

/** Who cancelled a sale of a session: what comes later may tell another drawer, unless the till names one. */
export function findTimedDrawer(
  rows: Rows,
  { cash_session_id: own, seller_id }: Pick<SaleRow, 'cash_session_id' | 'seller_id'>,
  { sessionId, userId, at = null }: Pick<Cancelling, 'sessionId' | 'userId' | 'at'>,
) {
  if (own === null || userId === null || at === null || (sessionId !== null && sessionId !== own)) return {}
  const owner_id = rows.get(cashSessionByName(own))?.owner ?? seller_id
  return { timed_drawer: { session_id: own, user_id: userId, owner_id } }
}

/** Events that cancel a completed sale, or its refusal. */
export function cancellation(
  rows: Rows,
  sale: Readonly<SaleRow>,
  cancelling: Cancelling,
  granted: Grant = {},
): NewEvent[] | Refusal {
  if (sale.returned !== null) return refuse('sale_returned')
  // A document in contingency counts as issued: it must be authorized first, then cancelled.
  if (sale.fiscal === 'present') return refuse('fiscal_document_issued')
  const owed = owedFor(sale, rows)
  // A cancellation cannot undo received money.
  if (owed.some((receivable) => receivable.status === 'settled')) return refuse('already_settled')
  const paid = owed.find((receivable) => standingPayments(receivable.doc).length > 0)
  if (paid) return refuse('has_payments', { receivable_id: paid.id })
  const restock = sale.stock_moves.filter((move) => getStock(rows, move.catalog_item_id) !== null)
  const cash_session_id = sessionOfRefund(rows, sale.cash_session_id, cancelling)
  return [
    event('SaleCancelled', {
      ...{ id: sale.id, reason: cancelling.reason, restock, ...creditBack(sale), ...vouchersBack(sale), ...granted },
      ...(cash_session_id !== null && { cash_session_id }),
      ...(typeof cancelling.at === 'string' && { cancelled_at: cancelling.at }),
      ...findTimedDrawer(rows, sale, cancelling),
      ...(cancelling.refunds && { refunds: cancelling.refunds }),
    }),
    ...owed.map((receivable) => event('ReceivableDeleted', { id: receivable.id })),
  ]
}

/** Store credit that the sale was paid with goes back to its customer. */
const creditBack = ({ customer_id, credit_cents }: Readonly<SaleRow>) =>
  customer_id === null || credit_cents === null ? {} : { credit: { customer_id, amount: fromCents(credit_cents) } }

/** What it was paid with of vouchers goes back to them. */
function vouchersBack({ doc }: Readonly<SaleRow>) {
  const vouchers = voucherParts(doc.payments)
  return vouchers.length > 0 && { vouchers }
}

/** Receivables of the sale that are not deleted. */
function owedFor(sale: Readonly<SaleRow>, rows: Rows) {
  return sale.receivable_ids.flatMap((id) => {
    const receivable = rows.get(receivableById(id))
    return receivable && !receivable.deleted_at ? [receivable] : []
  })
}
