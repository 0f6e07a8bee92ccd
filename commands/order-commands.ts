import * as z from 'zod'
import { Money, toCents } from '#domain/money.ts'
import { hasBeenPaid } from '#domain/order-states.ts'
import { MetadataInput, metadataOf } from '#domain/record-values.ts'
import { invalid, refuse } from '#domain/refusals.ts'
import { boundedText, Email, Id, NewExternalId, nameText, optionalText, orNone } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { isUnseen, orderByExternalId, orderById } from '#projections/orders.ts'
import type { PersonRow } from '#projections/people.ts'
import { storeByAlias } from '#projections/stores.ts'
import { Document } from '#records/persons.ts'
import { duplicateOf } from './record-commands.ts'
import { customerRefs, customerShape, findCustomer, LinesInput, lineRefs, priceLines } from './sale-lines.ts'

type Placed = DataOf<'OrderPlaced'>

const Buyer = z
  .strictObject({ name: nameText(120), email: orNone(Email), document: orNone(Document) })
  .meta({ id: 'BuyerInput' })

/**
 * POST /orders. An alias of invalid format is simply not found. The buyer is a customer of the company, a description,
 * or both; the description applies to this order only.
 */
export const OrderInput = z
  .strictObject({
    store_alias: boundedText(60),
    external_id: NewExternalId.nullish(),
    ...customerShape,
    customer: Buyer.nullish(),
    items: LinesInput,
    delivery_fee: Money.nullish(),
    metadata: MetadataInput.nullish(),
  })
  .superRefine(({ customer, customer_id, customer_external_id }, context) => {
    if (customer ?? customer_id ?? customer_external_id) return
    const message = 'informe customer, customer_id ou customer_external_id'
    context.addIssue({ code: 'custom', path: ['customer'], message })
  })
export type OrderInput = z.infer<typeof OrderInput>

/** Places an order to be paid online. Prices follow the rules of sales; stock does not change and no sale is made. */
export const placeOrder = command<OrderInput>({
  permission: 'sell',
  needs: (input) => [
    storeByAlias(input.store_alias),
    ...(input.external_id ? [orderByExternalId(input.external_id)] : []),
    ...customerRefs(input),
    ...lineRefs(input.items),
  ],
  decide(rows, input, { nextId }) {
    const { external_id } = input
    const same = external_id ? rows.get(orderByExternalId(external_id)) : null
    const duplicate = duplicateOf('external_id', same, null)
    if (duplicate) return duplicate
    const store = rows.get(storeByAlias(input.store_alias))
    if (!store) return invalid('store_alias', 'loja não encontrada')
    if (!store.enabled) return invalid('store_alias', 'a loja está desativada')
    const customer = findCustomer(rows, input)
    if (customer && isRefusal(customer)) return customer
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    if (toCents(priced.total) === 0) return invalid('items', 'o total do pedido deve ser maior que zero')
    const placed = event('OrderPlaced', {
      id: nextId('order'),
      external_id: external_id ?? null,
      store_id: store.id,
      store_alias: store.alias,
      customer: buyerOf(customer, input.customer ?? null),
      ...priced,
      items: priced.items.map(({ catalog_item_id, external_id, description, quantity, unit_price, total }) => {
        return { catalog_item_id, external_id, description, quantity, unit_price, total }
      }),
      ...metadataOf(input),
    })
    return accept('created', placed.subject, [placed])
  },
})

/** Buyer of the order: described fields, completed from the customer's record. */
function buyerOf(known: Readonly<PersonRow> | null, described: z.infer<typeof Buyer> | null): Placed['customer'] {
  const { id = null, external_id = null, doc } = known ?? {}
  const { name = doc?.name, email = doc?.email, document = doc?.document } = described ?? {}
  if (name === undefined) throw new Error('place order: input without a buyer passed validation')
  return { id, external_id, name, email: email ?? null, document: document ?? null }
}

/** POST /orders/{id}/cancel; the reason is optional. */
export const CancelOrderInput = z.strictObject({ id: Id, reason: optionalText(500) })
export type CancelOrderInput = z.infer<typeof CancelOrderInput>

/**
 * Cancels an unpaid order: it accepts no further attempts. The caller cancels pending attempts at the
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

/** POST /orders/{id}/deliver. */
export const DeliverOrderInput = z.strictObject({ id: Id })
export type DeliverOrderInput = z.infer<typeof DeliverOrderInput>

/**
 * Marks a paid order as delivered. Refused with `order_not_paid` for any other; a second request changes
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

/** POST /orders/{id}/alarms/{provider_payment_id}/acknowledge. Acknowledges all alarms of the payment. */
export const AcknowledgeAlarmInput = z.strictObject({ id: Id, provider_payment_id: boundedText(100) })
export type AcknowledgeAlarmInput = z.infer<typeof AcknowledgeAlarmInput>

/** Acknowledges the alarms of a payment; the event's actor and time tell who and when. A second request changes nothing. */
export const acknowledgeAlarm = command<AcknowledgeAlarmInput>({
  permission: 'refund_orders',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, provider_payment_id }) {
    const alarms = rows.get(orderById(id))?.doc.alarms ?? []
    const ofPayment = alarms.filter((each) => each.provider_payment_id === provider_payment_id)
    if (ofPayment.length === 0) return refuse('not_found')
    if (!ofPayment.some(isUnseen)) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderAlarmAcknowledged', { id, provider_payment_id })])
  },
})
