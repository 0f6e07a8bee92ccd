import { z } from 'zod'
import { hasBeenPaid } from '#domain/orders.ts'
import { refuse } from '#domain/refusal.ts'
import { Id, optionalText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { orderById } from '#projections/orders.ts'

/** POST /orders/{id}/cancel; a reason is welcome and not demanded. */
export const CancelOrderInput = z.strictObject({ id: Id, reason: optionalText(500) })
export type CancelOrderInput = z.infer<typeof CancelOrderInput>

/**
 * Gives up an order that is not paid: it takes no further attempts (ORDER-9). What waits at the provider is cancelled there
 * before; an attempt that is approved nevertheless `recordPayment` takes over with an alarm. Refused with `order_already_paid` for a
 * paid or refunded order; cancelling twice answers the state.
 */
export const cancelOrder = command<CancelOrderInput>({
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, reason }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (hasBeenPaid(order.doc.payments)) return refuse('order_already_paid')
    if (order.doc.cancelled_at !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderCancelledByStore', { id, reason: reason ?? null })])
  },
})
