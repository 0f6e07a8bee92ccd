import * as z from 'zod'
import { orNone } from '#domain/codes.ts'
import { MetadataInput, metadataOf } from '#domain/metadata.ts'
import { Money, toCents } from '#domain/money.ts'
import { invalid } from '#domain/refusal.ts'
import { boundedText, Email, NewExternalId, nameText } from '#domain/text.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { orderByExternalId } from '#projections/orders.ts'
import type { PersonRow } from '#projections/people.ts'
import { storeByAlias } from '#projections/stores.ts'
import { customerRefs, customerShape, findCustomer } from '../people/named-customer.ts'
import { Document } from '../people/person-input.ts'
import { duplicateOf } from '../records.ts'
import { LinesInput, lineRefs, priceLines } from '../sales/lines.ts'

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
