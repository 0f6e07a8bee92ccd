import { expect } from 'chai'
import { answerPast } from '#api/read-as-of.ts'
import { withPastCompany } from '#integrity/as-of.ts'
import { bodyOf } from '../integrity/audit/past.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { openCounter } from '../support/offline-sales.ts'
import { useApi, useCompanyPerTest } from '../support/use-api.ts'
import { coffee, useCatalog } from './catalog.ts'

describe('catalog items: stock', () => {
  const { company, create, patch, get, sell } = useCatalog()

  it('is adjusted by a signed quantity, without losing a concurrent sale [ITEM-4]', async () => {
    const { id } = await create({ ...coffee, stock: '5' })
    expect((await sell(id, '2')).status).to.equal(201)
    expect((await patch(id, { stock_adjustment: '10.25' })).body.data.stock).to.equal('13.250')
    expect((await patch(id, { stock_adjustment: '-13.25' })).body.data.stock).to.equal('0.000')
    const details = expectProblem(await patch(id, { stock_adjustment: '-0.001' }), 422, 'insufficient_stock')
    const short = { catalog_item_id: id, requested: '0.001', available: '0.000' }
    expect(details).to.deep.equal({ ...short, items: [short] })
    expectInvalid(await patch(id, { stock_adjustment: '0' }), ['stock_adjustment'])
    expect((await get(id)).stock).to.equal('0.000')
  })

  it('updates stock_updated_at but not updated_at; updated_since finds it nevertheless [ITEM-5]', async () => {
    const before = await create({ ...coffee, stock: '5' })
    const other = await create({ ...coffee, name: 'Depois' })
    for (const move of [
      () => patch(before.id, { stock: '9' }),
      () => patch(before.id, { stock_adjustment: '-1' }),
      () => sell(before.id, '1'),
    ]) {
      const since = (await company.get('/catalog/items')).body.meta.synced_at
      const known = await get(before.id)
      await move()
      const after = await get(before.id)
      expect(after.updated_at).to.equal(before.updated_at)
      expect(after.stock_updated_at > known.stock_updated_at).to.equal(true)
      const changed = idsIn(await company.get(`/catalog/items?updated_since=${encodeURIComponent(since)}`))
      expect(changed.at(-1)).to.equal(before.id)
      expect(changed.filter((id) => id === before.id)).to.have.length(1)
    }
    expect((await get(other.id)).stock_updated_at).to.equal(null)
  })

  it('and other fields in one PATCH update both times [ITEM-5]', async () => {
    const before = await create({ ...coffee, stock: '5' })
    const after = (await patch(before.id, { price: '1.00', stock: '6' })).body.data
    expect(after).to.include({ price: '1.00', stock: '6.000' })
    expect(after.updated_at > before.updated_at).to.equal(true)
    expect(after.stock_updated_at).to.equal(after.updated_at)
  })
})

describe('low stock', () => {
  const { company, create, sell } = useCatalog()

  it('finds products at their minimum or below, and without one those that are out [STOCK-101]', async () => {
    const item = (stock: string | null, min_stock?: string) =>
      create({ name: 'Item', price: '1.00', stock, ...(min_stock && { min_stock }) })
    const [above, at, below, out, some, untracked] = [
      await item('5.001', '5'),
      await item('5', '5'),
      await item('1', '5'),
      await item('0'),
      await item('1'),
      await item(null, '5'),
    ]
    expect(idsIn(await company.get('/catalog/items?low_stock=true'))).to.deep.equal([at.id, below.id, out.id])
    const { body } = await company.get('/stock/low')
    expect(body.data.map((one: { catalog_item_id: number }) => one.catalog_item_id)).to.deep.equal([
      at.id,
      below.id,
      out.id,
    ])
    expect([above, some, untracked]).to.have.length(3)
    expectInvalid(await company.get('/catalog/items?low_stock=no'), ['low_stock'])
  })

  it('tells how many days the stock lasts at the sales of the last 30 days', async () => {
    const { id } = await create({ name: 'Leite', price: '1.00', unit: 'UN', stock: '20', min_stock: '30' })
    const low = async () => {
      const { body } = await company.get('/stock/low')
      return body.data.find((one: { catalog_item_id: number }) => one.catalog_item_id === id)
    }
    expect(await low()).to.deep.equal({
      catalog_item_id: id,
      external_id: null,
      name: 'Leite',
      unit: 'UN',
      stock: '20.000',
      min_stock: '30.000',
      sold_30_days: '0.000',
      days_of_stock: null,
    })
    const sale = (await sell(id, '7')).body.data
    await sell(id, '3')
    // 10 in 30 days, 10 left.
    expect(await low()).to.include({ stock: '10.000', sold_30_days: '10.000', days_of_stock: 30 })
    await company.post(`/sales/${sale.id}/cancel`, {})
    expect(await low()).to.include({ stock: '17.000', sold_30_days: '3.000', days_of_stock: 170 })
  })

  it('warns of a sale with a fraction of a piece, and records it [ITEM-102]', async () => {
    const piece = await create({ name: 'Lata', price: '2.00', unit: 'UN' })
    const { status, body } = await sell(piece.id, '1.5')
    expect(status).to.equal(201)
    expect(body.meta.warnings).to.deep.equal([
      { code: 'quantity_not_whole', field: 'items[0].quantity', message: 'não é uma quantidade inteira de UN' },
    ])
    const weighed = await create({ name: 'Queijo', price: '2.00', unit: 'KG' })
    expect((await sell(weighed.id, '1.5')).body.meta).to.equal(undefined)
    expect((await sell(piece.id, '2')).body.meta).to.equal(undefined)
  })

  it('lists the variants of an item, by its address and by a filter', async () => {
    const { id } = await create({ name: 'Camiseta', price: '1.00' })
    const variant = { size: 'M', color: null }
    const one = await create({ name: 'Camiseta M', price: '1.00', parent_id: id, variant })
    expect(one).to.deep.include({ parent_id: id, variant })
    expect(idsIn(await company.get(`/catalog/items/${id}/variants`))).to.deep.equal([one.id])
    expect(idsIn(await company.get(`/catalog/items?parent_id=${id}`))).to.deep.equal([one.id])
    await company.call('DELETE', `/catalog/items/${one.id}`)
    expect(idsIn(await company.get(`/catalog/items/${id}/variants`))).to.deep.equal([])
    expect((await company.get('/catalog/items/99999/variants')).status).to.equal(404)
  })
})

describe('categories', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const post = (body: object) => company.post('/catalog/categories', body)

  it('are created with 201, with equal bytes in POST, GET and list [REC-1]', async () => {
    const created = await post({ name: 'Bebidas', external_id: 'beb' })
    expect(created.status).to.equal(201)
    const { id, created_at, ...rest } = created.body.data
    expect(rest).to.deep.equal({ external_id: 'beb', name: 'Bebidas', updated_at: created_at, deleted_at: null })
    expect(created_at).to.match(LOCAL_TIME)
    expect((await company.get(`/catalog/categories/${id}`)).text).to.equal(created.text)
    expect((await company.get('/catalog/categories')).text).to.include(`{"data":[${recordText(created)}],`)
  })
})

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

  it('are shown as of an earlier revision [ASOF-1]', async () => {
    const { id } = await item()
    const revision = Number((await company.get('/me')).headers.get('x-ledger-revision'))
    await record({ catalog_item_id: id, kind: 'purchase', quantity: '1', unit_cost: '2.00' })
    const then = await withPastCompany(api.core, company.id, { revision }, async (asOf) => ({
      movements: JSON.parse(bodyOf(await answerPast(asOf, `/catalog/items/${id}/movements`))),
      item: JSON.parse(bodyOf(await answerPast(asOf, `/catalog/items/${id}`))),
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

const PATH = '/stock/inventories'

describe('inventories over the API', () => {
  const { company } = useCompanyPerTest()

  it('survive sales, also those of before the counting that came later [STOCK-112]', async () => {
    const counter = await openCounter(company, '100')
    const opened = await company.post(PATH, { name: 'Mercearia' })
    expect(opened.status, opened.text).to.equal(201)
    const at = `${PATH}/${opened.body.data.id}`
    const counts = async () => (await company.get(`${at}/counts`)).body.data
    const sent = await company.post(`${at}/counts`, { items: [{ catalog_item_id: counter.product, quantity: '90' }] })
    expect(sent.body.data, sent.text).to.include({ status: 'open', counted_items: 1 })
    await counter.sell()
    const [before] = await counts()
    expect(before).to.include({ counted: '90.000', expected: '100.000', difference: '-10.000', is_superseded: false })
    await counter.record(counter.sale('late'))
    const late = { expected: '99.000', difference: '-9.000' }
    expect((await counts())[0]).to.include(late)
    const closed = await company.post(`${at}/close`, { apply: true })
    expect(closed.body.data, closed.text).to.include({ status: 'applied', counted_items: 1 })
    expect(await counter.stock()).to.equal('88.000')
    expect((await counts())[0]).to.include(late)
    const { body } = await company.get(`/catalog/items/${counter.product}/movements`)
    const document = `inventory/${opened.body.data.id}`
    expect(body.data.at(-1)).to.include({ kind: 'count', quantity: '-9.000', document, occurred_at: before.counted_at })
    expect((await company.post(`${at}/close`, { apply: true })).body.data).to.include({ status: 'applied' })
    const more = await company.post(`${at}/counts`, { items: [{ catalog_item_id: counter.product, quantity: '1' }] })
    expect([more.status, more.body.error.code]).to.deep.equal([409, 'inventory_closed'])
    expect(await counter.stock()).to.equal('88.000')
  })

  it('are listed by status, and missing ones are 404', async () => {
    const { id } = (await company.post(PATH, { name: 'A' })).body.data
    await company.post(PATH, { name: 'B' })
    await company.post(`${PATH}/${id}/close`, { apply: false })
    const names = async (query: string) =>
      (await company.get(`${PATH}${query}`)).body.data.map(({ name }: { name: string }) => name)
    expect(await names('')).to.deep.equal(['A', 'B'])
    expect(await names('?status=open')).to.deep.equal(['B'])
    expect(await names('?status=discarded')).to.deep.equal(['A'])
    for (const path of ['/99', '/x', '/99/counts']) expect((await company.get(`${PATH}${path}`)).status).to.equal(404)
    expect((await company.post(`${PATH}/99/close`, { apply: true })).status).to.equal(404)
  })
})
