import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
import { expectInvalid, idsIn } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type Reply, type TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

/** Unused id. */
const MISSING = 9_000_001

describe("another company's records", () => {
  const api = useApi()
  let company: TestCompany
  let theirs: {
    customer: number
    item: number
    category: number
    sale: number
    payment: number
    deleted: number
    order: number
    alias: string
  }

  /** One record of each kind, with equal names in every company. */
  async function fill(shop: TestCompany): Promise<typeof theirs> {
    const create = async (path: string, body: object): Promise<number> => {
      const reply = await shop.post(path, body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id
    }
    const payment = await shop.paymentType('cash')
    const category = await create('/catalog/categories', { name: 'Bebidas', external_id: 'cat' })
    const item = await create('/catalog/items', {
      name: 'Café',
      price: '10.00',
      stock: '5',
      barcode: '789',
      external_id: 'item',
      category_id: category,
    })
    const customer = await create('/customers', { name: 'Ana', external_id: 'ana' })
    const sale = await create('/sales', {
      external_id: 'pedido',
      customer_external_id: 'ana',
      items: [{ catalog_item_id: item, quantity: '1' }],
      payments: [{ payment_type_id: payment, amount: '10.00' }],
    })
    const deleted = await create('/customers', { name: 'Apagada', external_id: 'apagada' })
    await shop.call('DELETE', `/customers/${deleted}`)
    const store = { alias: `loja-${shop.id}`, commission_percentage: '5', sandbox: true }
    await shop.run(createStore, store)
    const order = await create('/orders', {
      store_alias: store.alias,
      external_id: 'pedido',
      customer: { name: 'Ana' },
      items: [{ catalog_item_id: item, quantity: '1' }],
    })
    return { customer, item, category, sale, payment, deleted, order, alias: store.alias }
  }

  before(async () => {
    theirs = await fill(await api.company({ idsFrom: FOREIGN_IDS }))
  })
  beforeEach(async () => {
    company = await api.company()
  })

  /** Response without the parts that differ between any two. */
  function telling(reply: Reply): { status: number; text: string; headers: Record<string, string> } {
    const headers = Object.fromEntries(reply.headers)
    const id = headers['x-request-id'] ?? ''
    const passing = ['date', 'x-ratelimit-remaining', 'x-ratelimit-bytes-remaining', 'x-ratelimit-reset']
    for (const name of ['x-request-id', ...passing]) delete headers[name]
    return { status: reply.status, text: reply.text.replaceAll(id, '<request_id>'), headers }
  }

  /** Both responses are equal in every byte and header. */
  async function expectAlike(
    ask: (id: number | string) => Promise<Reply>,
    foreign: number | string,
    missing: number | string,
  ) {
    const [a, b] = [telling(await ask(foreign)), telling(await ask(missing))]
    expect(a.status, a.text).to.be.oneOf([404, 422])
    const shown = { ...b, text: b.text.replaceAll(String(missing), String(foreign)) }
    expect(a).to.deep.equal(shown)
  }

  it('look exactly like missing ones on every route with an id [HTTP-8]', async () => {
    const routes: readonly (readonly [method: string, path: string, id: number, body?: object])[] = [
      ['GET', '/customers/ID', theirs.customer],
      ['GET', '/customers/ID', theirs.deleted],
      ['PATCH', '/customers/ID', theirs.customer, { name: 'Minha' }],
      ['PATCH', '/customers/ID', theirs.customer, {}],
      ['PATCH', '/customers/ID', theirs.deleted, { name: 'Minha' }],
      ['DELETE', '/customers/ID', theirs.customer],
      ['GET', '/catalog/items/ID', theirs.item],
      ['PATCH', '/catalog/items/ID', theirs.item, { price: '0.01' }],
      ['PATCH', '/catalog/items/ID', theirs.item, { stock: '0' }],
      ['PATCH', '/catalog/items/ID', theirs.item, { stock_adjustment: '-5' }],
      ['DELETE', '/catalog/items/ID', theirs.item],
      ['GET', '/catalog/categories/ID', theirs.category],
      ['GET', '/sales/ID', theirs.sale],
      ['POST', '/sales/ID/cancel', theirs.sale, { reason: 'x' }],
      ['GET', '/orders/ID', theirs.order],
      ['GET', '/orders/ID/payment-options', theirs.order],
      ['POST', '/orders/ID/refunds', theirs.order, {}],
      ['POST', '/orders/ID/cancel', theirs.order, {}],
      ['POST', '/orders/ID/deliver', theirs.order],
      ['POST', '/orders/ID/alarms/p1/acknowledge', theirs.order],
      ['POST', '/orders/ID/payments', theirs.order, { method: 'pix', payer: { email: 'ana@example.com' } }],
    ]
    for (const [method, path, id, body] of routes) {
      await expectAlike(
        (asked) => company.call(method, path.replace('ID', String(asked)), body, { 'idempotency-key': 'k' }),
        id,
        MISSING,
      )
    }
    await expectAlike((id) => company.get(`/sales/by-external/${id}`), 'pedido', 'nenhum')
  })

  it('cannot be referenced in a body: exactly as with a missing one [HTTP-9]', async () => {
    const cash = await company.paymentType('cash')
    const { data: own } = (await company.post('/catalog/items', { name: 'Meu', price: '1.00' })).body
    const line = { description: 'x', quantity: '1', unit_price: '1.00' }
    const payments = [{ payment_type_id: cash, amount: '1.00' }]
    const item = (category_id: number | string) => ({ name: 'x', price: '1.00', category_id })
    const cases: readonly (readonly [(id: number | string) => Promise<Reply>, number | string, number | string])[] = [
      [(id) => company.post('/catalog/items', item(id)), theirs.category, MISSING],
      [(id) => company.call('PUT', '/catalog/items/by-external/x', item(id)), theirs.category, MISSING],
      [(id) => company.call('PATCH', `/catalog/items/${own.id}`, { category_id: id }), theirs.category, MISSING],
      [
        (id) => company.post('/sales', { items: [{ catalog_item_id: id, quantity: '1' }], payments }),
        theirs.item,
        MISSING,
      ],
      [
        (id) =>
          company.post('/sales', {
            items: [{ catalog_item_id: id, quantity: '999', unit_price: '0.00' }],
            payments: [],
          }),
        theirs.item,
        MISSING,
      ],
      [
        (id) => company.post('/sales', { items: [{ catalog_item_external_id: id, quantity: '1' }], payments }),
        'item',
        'nenhum',
      ],
      [(id) => company.post('/sales', { customer_external_id: id, items: [line], payments }), 'ana', 'ninguém'],
      [
        (id) => company.post('/sales', { items: [line], payments: [{ payment_type_id: id, amount: '1.00' }] }),
        theirs.payment,
        MISSING,
      ],
      [
        (store_alias) => company.post('/orders', { store_alias, customer: { name: 'Ana' }, items: [line] }),
        theirs.alias,
        'nenhuma-loja',
      ],
    ]
    for (const [ask, foreign, missing] of cases) await expectAlike(ask, foreign, missing)
    const { body } = await company.post('/catalog/items/batch', {
      items: [{ external_id: 'x', ...item(theirs.category) }],
    })
    expect(body.meta.errors).to.deep.equal([
      {
        index: 0,
        external_id: 'x',
        code: 'validation_failed',
        message: body.meta.errors[0].message,
        details: { fields: { category_id: body.meta.errors[0].details.fields.category_id }, unknown_fields: [] },
      },
    ])
  })

  it('are in no list, under no filter, and in no list of deleted records [HTTP-9]', async () => {
    for (const path of [
      '/customers',
      '/customers?name=ana',
      '/customers?external_id=ana',
      '/customers?updated_since=1970-01-01T00:00:00Z',
      '/customers/deleted',
      '/customers/deleted?since=1970-01-01T00:00:00Z',
      '/catalog/items',
      '/catalog/items?barcode=789',
      '/catalog/items?updated_since=1970-01-01T00:00:00Z',
      `/catalog/items?category_id=${theirs.category}`,
      '/catalog/items/deleted',
      '/catalog/categories',
      '/sales',
      `/sales?customer_id=${theirs.customer}`,
      '/sales?external_id=pedido',
      '/orders',
      '/orders?external_id=pedido',
      `/orders?store_alias=${theirs.alias}`,
    ]) {
      expect(idsIn(await company.get(path)), path).to.deep.equal([])
    }
    expect((await company.get('/sales/payment-types')).body.data).to.deep.equal([])
    expect((await company.get('/stores')).body.data).to.deep.equal([])
  })

  it('do not conflict with any name, barcode, external_id or Idempotency-Key [HTTP-9]', async () => {
    const own = await fill(company)
    for (const kind of Object.keys(own) as (keyof typeof own)[]) expect(own[kind]).to.not.equal(theirs[kind])
    const other = await api.company()
    const [a, b] = (await Promise.all(
      [company, other].map((each, n) =>
        each.post('/customers', { name: `Cliente ${n}` }, { 'idempotency-key': 'mesma' }),
      ),
    )) as [Reply, Reply]
    expect([a.status, b.status]).to.deep.equal([201, 201])
    expect([a, b].map((reply) => reply.headers.has('idempotent-replayed'))).to.deep.equal([false, false])
  })

  it('are not changed by an upsert under their external id', async () => {
    const reply = await company.call('PUT', '/customers/by-external/ana', { name: 'Minha Ana' })
    expect(reply.status).to.equal(201)
    expect(reply.body.data.id).to.not.equal(theirs.customer)
    const batch = await company.post('/customers/batch', { items: [{ external_id: 'apagada', name: 'Minha' }] })
    expect(batch.body.data[0].id).to.not.equal(theirs.deleted)
    const item = await company.call('PUT', '/catalog/items/by-external/item', { name: 'Meu', price: '1.00' })
    expect(item.body.data).to.include({ stock: null, category_id: null })
  })

  it('are not reachable with the cursor of their list [HTTP-9, LIST-3]', async () => {
    const [mine, other] = [await api.company(), await api.company()]
    for (let n = 0; n < 3; n++) await other.post('/customers', { name: `Cliente ${n}` })
    const { next_cursor } = (await other.get('/customers?limit=1')).body.meta
    const reply = await mine.get(`/customers?limit=1&cursor=${next_cursor}`)
    if (reply.status === 200) expect(reply.body.data).to.deep.equal([])
    else expectInvalid(reply, ['cursor'])
  })

  it('are not revealed by a conflict [HTTP-9]', async () => {
    await company.post('/customers', { name: 'Bia' })
    const reply = await company.post('/customers', { name: 'Bia' })
    const { conflicting_id } = reply.body.error.details
    expect((await company.get(`/customers/${conflicting_id}`)).body.data as Json).to.include({ name: 'Bia' })
  })
})
