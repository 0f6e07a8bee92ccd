import { OrderInput, placeOrder } from '#commands/orders/place-order.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, itemCreated, orderPlaced, storeCreated } from '../../support/facts.ts'
import { FIRST_NEW_ID, given } from '../../support/given.ts'

const order = (rest: object = {}): OrderInput =>
  OrderInput.parse({
    store_alias: 'padaria-ipe',
    customer: { name: 'Ana' },
    items: [{ description: 'Bolo', quantity: '1', unit_price: '100.00' }],
    ...rest,
  })

const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })
const shop = [companyRegistered(), storeCreated()]

describe('place order', () => {
  it('records the order with prices and sums, and without any move of stock [ORDER-1]', async () => {
    const scenario = await given(...shop, itemCreated({ external_id: 'caf', price: '18.90', stock: '1.000' }))
    const decided = await scenario.when(
      placeOrder,
      order({ external_id: 'a', items: [{ catalog_item_id: 1, quantity: '3' }], delivery_fee: '5.00' }),
    )
    const line = {
      catalog_item_id: 1,
      external_id: 'caf',
      description: 'Café',
      quantity: '3.000',
      unit_price: '18.90',
      total: '56.70',
    }
    const sums = { subtotal: '56.70', delivery_fee: '5.00', total: '61.70' }
    decided.accepts('created', orderPlaced({ id: FIRST_NEW_ID, external_id: 'a', items: [line], ...sums }))
  })

  it('keeps the customer as given', async () => {
    const customer = { name: 'Ana', email: 'ana@example.com', document: '11222333000181' }
    const decided = await (await given(...shop)).when(placeOrder, order({ customer }))
    decided.accepts('created', orderPlaced({ id: FIRST_NEW_ID, customer }))
  })

  it('refuses a repeated external id before anything else [ORDER-1]', async () => {
    const scenario = await given(...shop, orderPlaced({ id: 5, external_id: 'a' }), event('StoreDisabled', { id: 1 }))
    const decided = await scenario.when(placeOrder, order({ external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 5 })
  })

  it('refuses a store that is missing or disabled', async () => {
    const missing = await (await given(companyRegistered())).when(placeOrder, order())
    missing.refuses('validation_failed', wrong('store_alias', 'loja não encontrada'))
    const disabled = await given(...shop, event('StoreDisabled', { id: 1 }))
    const decided = await disabled.when(placeOrder, order())
    decided.refuses('validation_failed', wrong('store_alias', 'a loja está desativada'))
  })

  it('refuses unknown items and an order that costs nothing', async () => {
    const scenario = await given(...shop)
    const unknown = await scenario.when(placeOrder, order({ items: [{ catalog_item_id: 9, quantity: '1' }] }))
    unknown.refuses('validation_failed', wrong('items[0].catalog_item_id', 'item não encontrado no catálogo'))
    const free = order({ items: [{ description: 'Brinde', quantity: '1', unit_price: '0.00' }] })
    const decided = await scenario.when(placeOrder, free)
    decided.refuses('validation_failed', wrong('items', 'o total do pedido deve ser maior que zero'))
  })
})
