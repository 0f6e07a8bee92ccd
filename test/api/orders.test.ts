import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
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
      store_net: null,
      metadata: null,
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

  it('with an alarm are listed until a key acknowledges it [ORDER-41]', async () => {
    const id = await alarmedOrder(company, alias)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([id])
    expectInvalid(await company.get('/orders?alarm=seen'), ['alarm'])
    const { provider_payment_id } = (await company.get(`/orders/${id}`)).body.data.alarms[0]
    const seen = await company.post(`/orders/${id}/alarms/${provider_payment_id}/acknowledge`, {})
    expect(seen.status, seen.text).to.equal(200)
    expect(seen.body.data.alarms[0].acknowledged_by).to.match(/^api_key\/\d+$/)
    expect(seen.body.data.alarms[0].acknowledged_at).to.match(LOCAL_TIME)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([])
  })

  it('are listed by store, status, external id and time of change', async () => {
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

  it('equal concurrent orders make one; a used external id is 409 with its order [ORDER-1]', async () => {
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
})
