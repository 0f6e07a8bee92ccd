import * as z from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { orderById } from '#projections/orders.ts'

/** POST /orders/{id}/deliver. */
export const DeliverOrderInput = z.strictObject({ id: Id })
export type DeliverOrderInput = z.infer<typeof DeliverOrderInput>

/**
 * Marks a paid order as delivered (ORDER-40). Refused with `order_not_paid` for any other; a second request changes
 * nothing, even if the order was refunded since.
 */
export const deliverOrder = command<DeliverOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.doc.delivered_at !== null) return accept('unchanged', `order/${id}`)
    if (order.status !== 'paid') return refuse('order_not_paid')
    return accept('updated', `order/${id}`, [event('OrderDelivered', { id })])
  },
})

/**
 * Takes the mark back that an order got by mistake. An order that is not marked stays as it is. Money and
 * stock do not depend on the mark.
 */
export const undoDelivery = command<DeliverOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.doc.delivered_at === null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderDeliveryUndone', { id })])
  },
})
