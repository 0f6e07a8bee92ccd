import { expect } from 'chai'
import { createStore, disableStore, enableStore } from '#commands/stores.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../support/answers.ts'
import type { TestCompany } from '../support/api.ts'
import { alarmedOrder } from '../support/orders.ts'
import { useApi } from '../support/use-api.ts'

describe('orders', () => {
  const api = useApi()
  let company: TestCompany
  let alias: string
  let stores = 0

  const openStore = async (owner: TestCompany): Promise<string> => {
    const store = { alias: `loja-${++stores}`, commission_percentage: '5.00', sandbox: true }
    return (await owner.run(createStore, store)).alias
  }

  beforeEach(async () => {
    company = await api.company()
    alias = await openStore(company)
  })

  const body = (rest: object = {}) => ({
    store_alias: alias,
    customer: { name: 'Ana' },
    items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    ...rest,
  })
  const place = (rest: object = {}) => company.post('/orders', body(rest))
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  it('responds 201 with the order, priced like a sale, with equal bytes in GET and list [ORDER-1]', async () => {
    const item = (
      await company.post('/catalog/items', { name: 'Café', price: '18.90', stock: '5', external_id: 'caf' })
    ).body.data
    const reply = await place({
      external_id: 'pedido-1',
      customer: { name: 'Ana', email: 'Ana@Example.com', document: '52998224725' },
      items: [
        { catalog_item_id: item.id, quantity: '2.345' },
        { catalog_item_external_id: 'caf', quantity: '1', unit_price: '15.00' },
        { description: 'Laço', quantity: '1', unit_price: '3.50' },
      ],
      delivery_fee: '8.70',
    })
    expect(reply.status).to.equal(201)
    const { id, created_at, updated_at, provider_reference, payment_url, ...order } = reply.body.data
    expect(payment_url).to.include(`/pagar/${alias}/${id}-`)
    expect(provider_reference).to.match(new RegExp(`^order-${id}-[0-9a-f-]{36}$`))
    expect(created_at).to.match(LOCAL_TIME).and.to.equal(updated_at)
    const ofCatalog = { catalog_item_id: item.id, external_id: 'caf', description: 'Café' }
    expect(order).to.deep.equal({
      external_id: 'pedido-1',
      store_alias: alias,
      status: 'pending',
      customer: { id: null, external_id: null, name: 'Ana', email: 'ana@example.com', document: '52998224725' },
      items: [
        { ...ofCatalog, quantity: '2.345', unit_price: '18.90', total: '44.32' },
        { ...ofCatalog, quantity: '1.000', unit_price: '15.00', total: '15.00' },
        {
          catalog_item_id: null,
          external_id: null,
          description: 'Laço',
          quantity: '1.000',
          unit_price: '3.50',
          total: '3.50',
        },
      ],
      subtotal: '62.82',
      delivery_fee: '8.70',
      total: '71.52',
      payment: null,
      payments: [],
      commission: null,
      refunds: [],
      refunded_total: '0.00',
      partially_refunded: false,
      dispute: null,
      alarms: [],
      sale_id: null,
      goods_out: null,
      released_at: null,
      delivered_at: null,
      refunded_at: null,
      cancelled_at: null,
      cancel_reason: null,
      forgotten_at: null,
    })
    expect((await company.get(`/orders/${id}`)).text).to.equal(reply.text)
    expect((await company.get('/orders')).body.data).to.deep.equal([reply.body.data])
  })

  it('are cancelled once while unpaid, and then accept no payment [ORDER-9]', async () => {
    const { id } = (await place()).body.data
    const cancel = (body: object = {}) => company.post(`/orders/${id}/cancel`, body)
    const cancelled = await cancel({ reason: 'Desistência' })
    expect(cancelled.status, cancelled.text).to.equal(200)
    expect(cancelled.body.data).to.include({ status: 'cancelled', cancel_reason: 'Desistência' })
    expect(cancelled.body.data.cancelled_at).to.match(LOCAL_TIME)
    expect((await cancel()).text).to.equal(cancelled.text)
    const pix = { method: 'pix', payer: { email: 'ana@example.com' } }
    expectInvalid(await company.post(`/orders/${id}/payments`, pix, { 'idempotency-key': 'k' }), ['status'])
    expect(idsIn(await company.get('/orders?status=cancelled'))).to.deep.equal([id])
    expectProblem(await (await api.company()).post(`/orders/${id}/cancel`, {}), 404, 'not_found')
    expectInvalid(await cancel({ motive: 'x' }), [], ['motive'])
  })

  it('with an alarm are listed until a key acknowledges it, and delivered once [ORDER-40, ORDER-41]', async () => {
    const id = await alarmedOrder(company, alias)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([id])
    expectInvalid(await company.get('/orders?alarm=seen'), ['alarm'])
    const { provider_payment_id } = (await company.get(`/orders/${id}`)).body.data.alarms[0]
    const seen = await company.post(`/orders/${id}/alarms/${provider_payment_id}/acknowledge`, {})
    expect(seen.status, seen.text).to.equal(200)
    expect(seen.body.data.alarms[0].acknowledged_by).to.match(/^api_key\/\d+$/)
    expect(seen.body.data.alarms[0].acknowledged_at).to.match(LOCAL_TIME)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([])
    const delivered = await company.post(`/orders/${id}/deliver`, {})
    expect(delivered.body.data.delivered_at).to.match(LOCAL_TIME)
    expect((await company.post(`/orders/${id}/deliver`, {})).text).to.equal(delivered.text)
  })

  it('have a customer of the company, by id or external id [ORDER-10]', async () => {
    const { id } = (await company.post('/customers', { name: 'Eva', external_id: 'eva' })).body.data
    for (const name of [{ customer_id: id }, { customer_external_id: 'eva' }]) {
      const { customer } = (await place({ customer: undefined, ...name })).body.data
      expect(customer).to.deep.equal({ id, external_id: 'eva', name: 'Eva', email: null, document: null })
    }
    expectInvalid(await place({ customer: undefined }), ['customer'])
    expectInvalid(await place({ customer_id: 999_999 }), ['customer_id'])
  })

  it('move no stock in any quantity, and make no sale [ORDER-1]', async () => {
    const item = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    expect((await place({ items: [{ catalog_item_id: item.id, quantity: '50' }] })).status).to.equal(201)
    expect((await company.get(`/catalog/items/${item.id}`)).body.data.stock).to.equal('5.000')
    expect((await company.get('/sales')).body.data).to.deep.equal([])
  })

  it('are listed by store, status, external id and time of change [ORDER-2]', async () => {
    const other = await openStore(company)
    const first = (await place({ external_id: 'a' })).body.data
    const second = (await place({ store_alias: other, external_id: 'b' })).body.data
    const ids = async (query: string) => idsIn(await company.get(`/orders?${query}`))
    expect(await ids('')).to.deep.equal([first.id, second.id])
    expect(await ids(`store_alias=${other}`)).to.deep.equal([second.id])
    expect(await ids('external_id=a')).to.deep.equal([first.id])
    expect(await ids('status=pending')).to.deep.equal([first.id, second.id])
    expect(await ids('status=paid')).to.deep.equal([])
    expect(await ids(`updated_since=${encodeURIComponent(second.updated_at)}`)).to.include(second.id)
    expectInvalid(await company.get('/orders?status=released'), ['status'])
    const page = await company.get('/orders?limit=1')
    expect(page.body.meta).to.include({ has_more: true, limit: 1 })
    expect(idsIn(await company.get(`/orders?limit=1&cursor=${page.body.meta.next_cursor}`))).to.deep.equal([second.id])
  })

  it('respond 409 duplicate_resource to a used external id, with the order’s id; equal concurrent requests make one order [ORDER-1]', async () => {
    const replies = await Promise.all(Array.from({ length: 5 }, () => place({ external_id: 'a' })))
    const [created, ...others] = replies.filter(({ status }) => status === 201)
    expect(others).to.have.length(0)
    const refused = replies.filter((reply) => reply !== created)
    for (const reply of refused) {
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({
        field: 'external_id',
        conflicting_id: created?.body.data.id,
      })
    }
    const theirs = await api.company()
    const elsewhere = await theirs.post('/orders', body({ external_id: 'a', store_alias: await openStore(theirs) }))
    expect(elsewhere.status).to.equal(201)
  })

  it('respond 422 naming store_alias for a store that is missing, disabled, or another company’s [STORE-3]', async () => {
    const theirs = await openStore(await api.company())
    const before = await revision()
    for (const store_alias of ['nenhuma', theirs, 'Não é um alias']) {
      expectInvalid(await place({ store_alias }), ['store_alias'])
    }
    expect(await revision()).to.equal(before)
    await company.run(disableStore, { alias })
    expectInvalid(await place(), ['store_alias'])
    await company.run(enableStore, { alias })
    expect((await place()).status).to.equal(201)
  })

  it('respond 422 to an invalid order, and record nothing', async () => {
    const before = await revision()
    const line = { description: 'Bolo', quantity: '1', unit_price: '10.00' }
    expectInvalid(await place({ items: [] }), ['items'])
    expectInvalid(await place({ items: [{ ...line, unit_price: undefined }] }), ['items[0].unit_price'])
    expectInvalid(await place({ items: [{ ...line, quantity: '0' }] }), ['items[0].quantity'])
    expectInvalid(await place({ items: [{ catalog_item_id: 9_000_001, quantity: '1' }] }), ['items[0].catalog_item_id'])
    expectInvalid(await place({ items: [{ ...line, unit_price: '0.00' }] }), ['items'])
    expectInvalid(await place({ customer: {} }), ['customer.name'])
    expectInvalid(await place({ customer: { name: 'Ana', document: '123' } }), ['customer.document'])
    expectInvalid(await place({ customer: { name: 'Ana', email: 'ana' } }), ['customer.email'])
    expectInvalid(await place({ delivery_fee: '-1.00' }), ['delivery_fee'])
    const unknown = await place({ items: [{ ...line, discount: '1.00' }], coupon: 'X' })
    expect(unknown.body.error.details.unknown_fields).to.have.members(['coupon', 'items[0].discount'])
    expect(await revision()).to.equal(before)
  })

  it('of another company look like missing ones [ORDER-2]', async () => {
    const { id } = (await place()).body.data
    const theirs = await api.company()
    const payment = { method: 'pix', payer: { email: 'ana@example.com' } }
    for (const target of [id, 9_000_001]) {
      expectProblem(await theirs.get(`/orders/${target}`), 404, 'not_found')
      expectProblem(
        await theirs.post(`/orders/${target}/payments`, payment, { 'idempotency-key': 'k' }),
        404,
        'not_found',
      )
    }
    expect((await theirs.get('/orders')).body.data).to.deep.equal([])
  })
})
