import { z } from 'zod'
import { Money, toCents } from '#domain/money.ts'
import { invalid } from '#domain/refusal.ts'
import { Email, ExternalId, nameText, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command, isRefusal } from '#ledger/command.ts'
import { orderByExternalId } from '#projections/orders.ts'
import { storeByAlias } from '#projections/stores.ts'
import { Document } from '../people/person-input.ts'
import { duplicateOf } from '../records.ts'
import { LinesInput, lineRefs, priceLines } from '../sales/lines.ts'

/** POST /orders. The store is named by its alias; a text that cannot be one is just not found. */
export const OrderInput = z.strictObject({
  store_alias: text(60),
  external_id: ExternalId.nullish(),
  customer: z.strictObject({ name: nameText(120), email: Email.nullish(), document: Document.nullish() }),
  items: LinesInput,
  delivery_fee: Money.nullish(),
})
export type OrderInput = z.infer<typeof OrderInput>

/** Places an order to be paid online. Prices follow the rules of sales; no stock is moved and no sale made. */
export const placeOrder = command<OrderInput>({
  needs: ({ store_alias, external_id, items }) => [
    storeByAlias(store_alias),
    ...(external_id ? [orderByExternalId(external_id)] : []),
    ...lineRefs(items),
  ],
  ids: () => ({ order: 1 }),
  decide(rows, input, { nextId }) {
    const { external_id, customer } = input
    const same = external_id ? rows.get(orderByExternalId(external_id)) : null
    const duplicate = duplicateOf('external_id', same, null)
    if (duplicate) return duplicate
    const store = rows.get(storeByAlias(input.store_alias))
    if (!store) return invalid('store_alias', 'loja não encontrada')
    if (!store.enabled) return invalid('store_alias', 'a loja está desativada')
    const priced = priceLines(rows, input)
    if (isRefusal(priced)) return priced
    if (toCents(priced.total) === 0) return invalid('items', 'o total do pedido deve ser maior que zero')
    const placed = event('OrderPlaced', {
      id: nextId('order'),
      external_id: external_id ?? null,
      store_id: store.id,
      store_alias: store.alias,
      customer: { name: customer.name, email: customer.email ?? null, document: customer.document ?? null },
      ...priced,
      items: priced.items.map(({ moves_stock: _, ...item }) => item),
    })
    return accept('created', placed.subject, [placed])
  },
})
