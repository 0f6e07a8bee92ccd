import * as z from 'zod'
import { hasBeenPaid } from '#domain/orders.ts'
import { refuse } from '#domain/refusal.ts'
import { Id, optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { orderById } from '#projections/orders.ts'

/** POST /orders/{id}/cancel; the reason is optional. */
export const CancelOrderInput = z.strictObject({ id: Id, reason: optionalText(500) })
export type CancelOrderInput = z.infer<typeof CancelOrderInput>

/**
 * Cancels an unpaid order: it accepts no further attempts (ORDER-9). The caller cancels pending attempts at the
 * provider first. If one is approved nevertheless, `recordPayment` records it and raises an alarm. Refused with
 * `order_already_paid` for a paid or refunded order; a second request changes nothing.
 */
export const cancelOrder = command<CancelOrderInput>({
  permission: 'cancel_all',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, reason }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (hasBeenPaid(order.doc.payments)) return refuse('order_already_paid')
    if (order.doc.cancelled_at !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderCancelledByStore', { id, reason: reason ?? null })])
  },
})
