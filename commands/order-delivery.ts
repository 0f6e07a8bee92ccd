import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { DELIVERY_METHODS } from '#domain/order-states.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { Id } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { orderById } from '#projections/orders.ts'
import type { PersonRow } from '#projections/people.ts'
import { AddressInput } from '#records/persons.ts'

type Delivery = NonNullable<DataOf<'OrderPlaced'>['delivery']>

/** How the goods reach the buyer; an address that is absent is that of the customer's record. */
export const DeliveryInput = z
  .strictObject({ method: z.enum(DELIVERY_METHODS), due_at: Instant.nullish(), address: AddressInput.nullish() })
  .superRefine(({ method, address }, context) => {
    if (method === 'delivery' || !address) return
    context.addIssue({ code: 'custom', path: ['address'], message: 'uma retirada não tem endereço' })
  })
  .meta({ id: 'OrderDeliveryInput' })
type DeliveryInput = z.infer<typeof DeliveryInput>

const NO_STREET = 'informe ao menos a rua: o cliente não tem endereço no cadastro'

/** What the event says of the delivery; null if it was left open. */
export function toDelivery(
  input: DeliveryInput | null,
  customer: Readonly<PersonRow> | null,
): Delivery | null | Refusal {
  if (!input) return null
  const { method, due_at = null } = input
  if (method === 'pickup') return { method, due_at, address: null }
  const { zip, street, number, complement, district, city, state } = input.address ?? customer?.doc.address ?? {}
  if (!street) return refuseField('delivery.address.street', NO_STREET)
  const more = { number: number ?? null, complement: complement ?? null, district: district ?? null }
  return { method, due_at, address: { zip: zip ?? null, street, ...more, city: city ?? null, state: state ?? null } }
}

const NO_GOODS = refuseField('id', 'cobra uma conta: não tem mercadoria a entregar')

/** POST /orders/{id}/dispatch, /deliver and /undeliver. */
export const MarkOrderInput = z.strictObject({ id: Id })
export type MarkOrderInput = z.infer<typeof MarkOrderInput>

/**
 * Marks a paid order as gone to the buyer, or as ready to be picked up. Refused with `order_not_paid` for any other; a
 * second request, or one after the delivery, changes nothing.
 */
export const dispatchOrder = command<MarkOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.receivable_id !== null) return NO_GOODS
    if (order.doc.dispatched_at !== null || order.doc.delivered_at !== null) return accept('unchanged', `order/${id}`)
    if (order.status !== 'paid') return refuse('order_not_paid')
    return accept('updated', `order/${id}`, [event('OrderDispatched', { id })])
  },
})

/**
 * Marks a paid order as delivered. Refused with `order_not_paid` for any other; a second request changes
 * nothing, even if the order was refunded since.
 */
export const deliverOrder = command<MarkOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.receivable_id !== null) return NO_GOODS
    if (order.doc.delivered_at !== null) return accept('unchanged', `order/${id}`)
    if (order.status !== 'paid') return refuse('order_not_paid')
    return accept('updated', `order/${id}`, [event('OrderDelivered', { id })])
  },
})

/**
 * Takes the marks back that an order got by mistake. An order that is not marked stays as it is. Money and
 * stock do not depend on the marks.
 */
export const undoDelivery = command<MarkOrderInput>({
  permission: 'sell',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id }) {
    const order = rows.get(orderById(id))
    if (!order) return refuse('not_found')
    if (order.doc.delivered_at === null && order.doc.dispatched_at === null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderDeliveryUndone', { id })])
  },
})
