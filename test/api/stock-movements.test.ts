import { expect } from 'chai'
import { answerAsOf } from '#api/read-as-of.ts'
import { withCompanyAsOf } from '#integrity/as-of.ts'
import { bodyOf } from '../integrity/audit/past.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { openCounter } from '../support/offline-sales.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

describe('stock movements', () => {
  const { api, company } = useCompanyPerTest()

  const item = async (fields: object = {}): Promise<Json> =>
    (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '5', ...fields })).body.data
  const record = (body: object, headers: Record<string, string> = {}) => company.post('/stock/movements', body, headers)
  const movements = async (id: number): Promise<Json[]> =>
    (await company.get(`/catalog/items/${id}/movements`)).body.data
  const stockOf = async (id: number) => (await company.get(`/catalog/items/${id}`)).body.data.stock

  it('answers a recorded movement as the lists show it; a purchase changes stock and cost', async () => {
    const { id } = await item({ external_id: 'CAFE' })
    const body = {
      catalog_item_external_id: 'CAFE',
      kind: 'purchase',
      quantity: '2',
      unit_cost: '6.50',
      document: 'NF 1',
    }
    const reply = await record(body)
    expect(reply.status, reply.text).to.equal(201)
    const { data } = reply.body
    expect(data).to.include({ catalog_item_id: id, kind: 'purchase', quantity: '2.000', balance: '7.000' })
    expect(data).to.include({ unit_cost: '6.50', reason: null, document: 'NF 1' })
    expect(Object.keys(data)).to.deep.equal([
      'id',
      'catalog_item_id',
      'kind',
      'quantity',
      'balance',
      'unit_cost',
      'reason',
      'document',
      'record',
      'occurred_at',
    ])
    expect((await movements(id)).at(-1)).to.deep.equal(data)
    expect((await company.get('/stock/movements')).body.data.at(-1)).to.deep.equal(data)
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.include({ stock: '7.000', cost: '6.50' })
  })

  it('lists what moved an item, of every kind, with its balance [STOCK-2]', async () => {
    const { id } = await item()
    const cash = await company.paymentType('cash')
    const sale = await company.post('/sales', {
      items: [{ catalog_item_id: id, quantity: '2' }],
      payments: [{ payment_type_id: cash, amount: '20.00' }],
    })
    await company.post(`/sales/${sale.body.data.id}/cancel`, {})
    await company.call('PATCH', `/catalog/items/${id}`, { stock: '4' })
    await company.call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '1.5' })
    for (const movement of [
      { kind: 'purchase', quantity: '1' },
      { kind: 'loss', quantity: '0.5', reason: 'quebrou' },
      { kind: 'count', quantity: '10' },
      { kind: 'adjustment', quantity: '-3' },
    ])
      expect((await record({ catalog_item_id: id, ...movement })).status).to.equal(201)
    const told = (await movements(id)).map(({ kind, quantity, balance, document }) => [
      kind,
      quantity,
      balance,
      document,
    ])
    const document = `sale/${sale.body.data.id}`
    expect(told).to.deep.equal([
      ['count', '5.000', '5.000', null],
      ['sale', '-2.000', '3.000', document],
      ['cancel', '2.000', '5.000', document],
      ['count', '-1.000', '4.000', null],
      ['adjustment', '1.500', '5.500', null],
      ['purchase', '1.000', '6.500', null],
      ['loss', '-0.500', '6.000', null],
      ['count', '4.000', '10.000', null],
      ['adjustment', '-3.000', '7.000', null],
    ])
    expect(await stockOf(id)).to.equal('7.000')
  })

  it('shows the time of a sale, not of its upload [STOCK-2]', async () => {
    const counter = await openCounter(company)
    await counter.record(counter.sale('pdv-1', { created_at: '2026-03-10T14:00:00.000Z' }))
    const [, sale] = await movements(counter.product)
    expect(sale).to.include({ kind: 'sale', quantity: '-1.000', occurred_at: '2026-03-10T11:00:00.000-03:00' })
  })

  it('lists pages by cursor, changes since a time, and one kind or item; other items are 404', async () => {
    const [first, second] = [await item(), await item({ name: 'Chá' })]
    for (const { id } of [first, second, first]) await record({ catalog_item_id: id, kind: 'purchase', quantity: '1' })
    const pages: Json[] = []
    for (let cursor = ''; ; ) {
      const { body } = await company.get(`/stock/movements?limit=2${cursor && `&cursor=${cursor}`}`)
      pages.push(...body.data)
      if (!body.meta.has_more) break
      cursor = body.meta.next_cursor
    }
    const ids = pages.map(({ id }) => id)
    expect(ids).to.have.length(5)
    expect(ids).to.deep.equal([...ids].sort((a, b) => a - b))
    const kinds = (await company.get(`/stock/movements?kind=purchase&catalog_item_id=${first.id}`)).body.data
    expect(kinds.map(({ id }: Json) => id)).to.deep.equal([ids[2], ids[4]])
    const synced = (await company.get('/stock/movements')).body.meta.synced_at
    const next = await record({ catalog_item_id: second.id, kind: 'loss', quantity: '1' })
    const since = encodeURIComponent(synced)
    for (const path of [
      `/stock/movements?updated_since=${since}`,
      `/catalog/items/${second.id}/movements?updated_since=${since}`,
    ])
      expect((await company.get(path)).body.data.at(-1)).to.deep.equal(next.body.data)
    expect(
      (await company.get(`/catalog/items/${first.id}/movements?updated_since=${since}`)).body.data.length,
    ).to.be.below(2)
    expectInvalid(await company.get('/stock/movements?cursor=abc'), ['cursor'])
    expectInvalid(await company.get('/stock/movements?kind=gift'), ['kind'])
    expect((await company.get('/catalog/items/999/movements')).status).to.equal(404)
  })

  it('takes effect once under an Idempotency-Key, and refuses without effect [STOCK-5]', async () => {
    const { id } = await item()
    const body = { catalog_item_id: id, kind: 'loss', quantity: '2' }
    const replies = [await record(body, { 'idempotency-key': 'a' }), await record(body, { 'idempotency-key': 'a' })]
    expect(replies[1]?.body).to.deep.equal(replies[0]?.body)
    expect(await stockOf(id)).to.equal('3.000')
    const short = { catalog_item_id: id, requested: '4.000', available: '3.000' }
    const details = expectProblem(await record({ ...body, quantity: '4' }), 422, 'insufficient_stock')
    expect(details).to.deep.equal({ ...short, items: [short] })
    expectInvalid(await record({ ...body, kind: 'purchase', quantity: '-1' }), ['quantity'])
    expectInvalid(await record({ ...body, catalog_item_id: 999 }), ['catalog_item_id'])
    expect(await stockOf(id)).to.equal('3.000')
    expect(await movements(id)).to.have.length(2)
  })

  it('records a batch one by one, with a result for each', async () => {
    const { id } = await item()
    const loss = (quantity: string) => ({ catalog_item_id: id, kind: 'loss', quantity })
    const reply = await company.post('/stock/movements/batch', { items: [loss('4'), loss('2'), {}, loss('1')] })
    expect(reply.status).to.equal(207)
    expect(reply.body.data.map(({ balance }: Json) => balance)).to.deep.equal(['1.000', '0.000'])
    const { succeeded, failed, errors } = reply.body.meta
    expect({ succeeded, failed }).to.deep.equal({ succeeded: 2, failed: 2 })
    expect(errors.map(({ index, code }: Json) => [index, code])).to.deep.equal([
      [1, 'insufficient_stock'],
      [2, 'validation_failed'],
    ])
    expect(new Set((await movements(id)).map((movement) => movement.id)).size).to.equal(3)
    const many = Array.from({ length: 501 }, () => loss('1'))
    expectInvalid(await company.post('/stock/movements/batch', { items: many }), ['items'])
  })

  it('requires catalog:write to record, and catalog:read to list', async () => {
    const { id } = await item()
    const reader = await company.newKey(['catalog:read'])
    const writer = await company.newKey(['catalog:write'])
    const asKey = ({ key }: { key: string }, method: string, path: string, body?: object) =>
      company.call(method, path, body, { authorization: `Bearer ${key}` })
    const body = { catalog_item_id: id, kind: 'count', quantity: '1' }
    expect((await asKey(reader, 'POST', '/stock/movements', body)).status).to.equal(403)
    expect((await asKey(writer, 'POST', '/stock/movements', body)).status).to.equal(201)
    expect((await asKey(writer, 'GET', '/stock/movements')).status).to.equal(403)
    expect((await asKey(reader, 'GET', '/stock/movements')).status).to.equal(200)
  })

  it('are shown as of an earlier revision [ASOF-1]', async () => {
    const { id } = await item()
    const revision = Number((await company.get('/me')).headers.get('x-ledger-revision'))
    await record({ catalog_item_id: id, kind: 'purchase', quantity: '1', unit_cost: '2.00' })
    const then = await withCompanyAsOf(api.core, company.id, { revision }, async (asOf) => ({
      movements: JSON.parse(bodyOf(await answerAsOf(asOf, `/catalog/items/${id}/movements`))),
      item: JSON.parse(bodyOf(await answerAsOf(asOf, `/catalog/items/${id}`))),
    }))
    expect(then).to.have.nested.property('item.data.stock', '5.000')
    expect(then).to.have.nested.property('item.data.cost', null)
    expect(then).to.have.nested.property('movements.data').with.length(1)
  })
})

describe('stock_updated_since', () => {
  const { company } = useCompanyPerTest()

  it('finds items whose stock has moved since, in order of change, and no others', async () => {
    const make = async (name: string) =>
      (await company.post('/catalog/items', { name, price: '10.00', stock: '5' })).body.data.id as number
    const [coffee, tea, mate] = [await make('Café'), await make('Chá'), await make('Mate')]
    const since = encodeURIComponent((await company.get('/catalog/items')).body.meta.synced_at)
    const list = async (query: string) =>
      (await company.get(`/catalog/items?${query}`)).body.data.map(({ id }: Json) => id) as number[]
    await company.call('PATCH', `/catalog/items/${tea}`, { price: '11.00' })
    await company.post('/stock/movements', { catalog_item_id: mate, kind: 'loss', quantity: '1' })
    await company.post('/stock/movements', { catalog_item_id: coffee, kind: 'loss', quantity: '1' })
    const later = (await company.get('/catalog/items')).body.meta.synced_at
    expect(await list(`stock_updated_since=${since}&limit=1`)).to.have.length(1)
    // The items themselves were created at the very time that the first page showed.
    expect((await list(`stock_updated_since=${since}`)).slice(-2)).to.deep.equal([mate, coffee])
    expect(await list(`stock_updated_since=${since}`)).not.to.include(tea)
    expect(await list(`updated_since=${since}`)).to.include(tea)
    expect(await list(`stock_updated_since=${encodeURIComponent(later)}`)).to.deep.equal([coffee])
    expectInvalid(await company.get('/catalog/items?stock_updated_since=ontem'), ['stock_updated_since'])
  })
})
