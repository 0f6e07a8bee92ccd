import { expect } from 'chai'
import { OrderInput, placeOrder } from '#commands/order-commands.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import { companyRegistered, customerCreated, itemCreated, orderPlaced, storeCreated } from '../../support/facts.ts'
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
  it('records the order with prices and sums, without stock movements [ORDER-1]', async () => {
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

  it('records the given customer', async () => {
    const customer = { name: 'Ana', email: 'ana@example.com', document: '11222333000181' }
    const decided = await (await given(...shop)).when(placeOrder, order({ customer }))
    decided.accepts(
      'created',
      orderPlaced({ id: FIRST_NEW_ID, customer: { id: null, external_id: null, ...customer } }),
    )
  })

  it('reads the buyer from the company’s customers, with overrides for this order only', async () => {
    const ana = { id: 4, external_id: 'ana', name: 'Ana', email: 'ana@example.com', document: '52998224725' }
    const scenario = await given(...shop, customerCreated(ana))
    const place = (fields: object) => scenario.when(placeOrder, order({ customer: undefined, ...fields }))
    const byId = await place({ customer_id: 4 })
    byId.accepts('created', orderPlaced({ id: FIRST_NEW_ID, customer: ana }))
    const said = { name: 'Ana Maria', email: 'outra@example.com' }
    const both = await place({ customer_external_id: 'ana', customer_id: 4, customer: said })
    both.accepts('created', orderPlaced({ id: FIRST_NEW_ID + 1, customer: { ...ana, ...said } }))
    const byExternalId = await place({ customer_external_id: 'ana' })
    byExternalId.accepts('created', orderPlaced({ id: FIRST_NEW_ID + 2, customer: ana }))
  })

  it('refuses an unknown customer, two customers, and an order without a buyer', async () => {
    const eva = customerCreated({ id: 5, external_id: 'eva', name: 'Eva' })
    const scenario = await given(...shop, customerCreated({ id: 4 }), eva)
    const unknown = await scenario.when(placeOrder, order({ customer_id: 9 }))
    unknown.refuses('validation_failed', wrong('customer_id', 'cliente não encontrado'))
    const two = await scenario.when(placeOrder, order({ customer_id: 4, customer_external_id: 'eva' }))
    two.refuses('validation_failed', wrong('customer_external_id', 'é de outro cliente que customer_id'))
    for (const nobody of [{}, { customer_id: null, customer_external_id: null, customer: null }]) {
      const { customer: _, ...rest } = order()
      const { error } = OrderInput.safeParse({ ...rest, ...nobody })
      const message = 'informe customer, customer_id ou customer_external_id'
      expect(describeIssues(error!).fields).to.deep.equal({ customer: [message] })
    }
  })

  it('refuses a repeated external id before other checks [ORDER-1]', async () => {
    const scenario = await given(...shop, orderPlaced({ id: 5, external_id: 'a' }), event('StoreDisabled', { id: 1 }))
    const decided = await scenario.when(placeOrder, order({ external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 5 })
  })

  it('refuses a missing or disabled store, until it is enabled again [STORE-3]', async () => {
    for (const store_alias of ['nenhuma', 'Não é um alias']) {
      const missing = await (await given(...shop)).when(placeOrder, order({ store_alias }))
      missing.refuses('validation_failed', wrong('store_alias', 'loja não encontrada'))
    }
    const disabled = await given(...shop, event('StoreDisabled', { id: 1 }))
    const decided = await disabled.when(placeOrder, order())
    decided.refuses('validation_failed', wrong('store_alias', 'a loja está desativada'))
    const enabled = await given(...shop, event('StoreDisabled', { id: 1 }), event('StoreEnabled', { id: 1 }))
    const again = await enabled.when(placeOrder, order())
    again.accepts('created', orderPlaced({ id: FIRST_NEW_ID }))
  })

  it('refuses unknown items and a total of zero', async () => {
    const scenario = await given(...shop)
    const unknown = await scenario.when(placeOrder, order({ items: [{ catalog_item_id: 9, quantity: '1' }] }))
    unknown.refuses('validation_failed', wrong('items[0].catalog_item_id', 'item não encontrado no catálogo'))
    const free = order({ items: [{ description: 'Brinde', quantity: '1', unit_price: '0.00' }] })
    const decided = await scenario.when(placeOrder, free)
    decided.refuses('validation_failed', wrong('items', 'o total do pedido deve ser maior que zero'))
  })
})

describe('order input', () => {
  const line = { description: 'Bolo', quantity: '1', unit_price: '10.00' }
  const valid = { store_alias: 'padaria-ipe', customer: { name: 'Ana' }, items: [line] }
  const problemsOf = (fields: object) => {
    const { error } = OrderInput.safeParse({ ...valid, ...fields })
    return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
  }

  for (const [what, fields, field] of [
    ['without items', { items: [] }, 'items'],
    ['with an item without its price', { items: [{ ...line, unit_price: undefined }] }, 'items[0].unit_price'],
    ['of no quantity', { items: [{ ...line, quantity: '0' }] }, 'items[0].quantity'],
    ['for a buyer without a name', { customer: {} }, 'customer.name'],
    ['with an invalid document', { customer: { name: 'Ana', document: '123' } }, 'customer.document'],
    ['with an invalid e-mail', { customer: { name: 'Ana', email: 'ana' } }, 'customer.email'],
    ['with a negative delivery fee', { delivery_fee: '-1.00' }, 'delivery_fee'],
  ] as const)
    it(`refuses an order ${what}`, () => expect(Object.keys(problemsOf(fields).fields)).to.deep.equal([field]))

  it('refuses unknown fields, of items too', () => {
    const unknown = problemsOf({ items: [{ ...line, discount: '1.00' }], coupon: 'X' }).unknown_fields
    expect(unknown).to.have.members(['coupon', 'items[0].discount'])
  })
})
