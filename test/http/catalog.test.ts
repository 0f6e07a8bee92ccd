import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import { type Json, type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

const FIELDS = [
  'id',
  'external_id',
  'type',
  'name',
  'sku',
  'barcode',
  'category_id',
  'category_name',
  'unit',
  'price',
  'cost',
  'stock',
  'stock_updated_at',
  'created_at',
  'updated_at',
]

describe('catalog items', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => api.close())

  const post = (body: object) => company.post('/catalog/items', body)
  const create = async (body: object): Promise<Json> => {
    const reply = await post(body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const put = (externalId: string, body: unknown) =>
    company.call('PUT', `/catalog/items/by-external/${externalId}`, body)
  const patch = (id: number, body: unknown) => company.call('PATCH', `/catalog/items/${id}`, body)
  const get = async (id: number): Promise<Json> => (await company.get(`/catalog/items/${id}`)).body.data
  const remove = (id: number) => company.call('DELETE', `/catalog/items/${id}`)
  const category = async (name: string) => (await company.post('/catalog/categories', { name })).body.data.id as number
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')
  /** Sells in cash, from the list price of 1.00. */
  const sell = async (id: number, quantity: string): Promise<Reply> => {
    const cash = await company.paymentType('cash')
    return company.post('/sales', {
      items: [{ catalog_item_id: id, quantity, unit_price: '1.00' }],
      payments: [{ payment_type_id: cash, amount: '1000.00' }],
    })
  }

  const coffee = { name: 'Café 500 g', price: '18.90' }

  describe('POST', () => {
    it('creates an item with all its fields, and answers what GET and the list answer, byte by byte', async () => {
      const body = {
        external_id: 'sku/1',
        type: 'product',
        name: 'Café "Ipê" 500 g',
        sku: 'CAF-500',
        barcode: '7891000100103',
        category_id: await category('Bebidas "quentes"'),
        unit: 'UN',
        price: '18.90',
        cost: '11.00',
        stock: '20.5',
      }
      const created = await post(body)
      expect(created.status).to.equal(201)
      const item = created.body.data
      expect(Object.keys(item)).to.have.members(FIELDS)
      expect(item).to.include({ ...body, stock: '20.500', category_name: 'Bebidas "quentes"' })
      expect(item.created_at).to.match(LOCAL_TIME)
      expect(item).to.include({ updated_at: item.created_at, stock_updated_at: item.created_at })
      expect((await company.get(`/catalog/items/${item.id}`)).text).to.equal(created.text)
      expect((await company.get('/catalog/items')).text).to.include(`{"data":[${recordText(created)}],`)
    })

    it('needs name and price alone: a product without stock control', async () => {
      const item = await create(coffee)
      expect(item).to.include({
        external_id: null,
        type: 'product',
        sku: null,
        barcode: null,
        category_id: null,
        category_name: null,
        unit: null,
        cost: null,
        stock: null,
        stock_updated_at: null,
      })
      expectInvalid(await post({}), ['name', 'price'])
      const nulls = {
        external_id: null,
        sku: null,
        barcode: null,
        category_id: null,
        unit: null,
        cost: null,
        stock: null,
      }
      expect(await create({ ...coffee, ...nulls })).to.include(nulls)
    })

    it('takes money as text with two decimals only, never negative, never a number', async () => {
      for (const price of [
        '1',
        '1.0',
        '1.000',
        '1,00',
        '-1.00',
        '+1.00',
        '.50',
        '01.00',
        '1e2',
        ' 1.00',
        '',
        'R$ 1.00',
        1,
        1.5,
        null,
        true,
        '10000000000.00',
      ]) {
        expectInvalid(await post({ ...coffee, price }), ['price'])
      }
      expectInvalid(await post({ ...coffee, cost: '1.5' }), ['cost'])
      for (const price of ['0.00', '0.01', '9999999999.99'])
        expect((await create({ ...coffee, price })).price).to.equal(price)
    })

    it('takes stock with up to three decimals, never negative, and answers exactly three', async () => {
      for (const [sent, answered] of [
        ['0', '0.000'],
        ['7', '7.000'],
        ['0.5', '0.500'],
        ['1.25', '1.250'],
        ['999999999.999', '999999999.999'],
      ]) {
        expect((await create({ ...coffee, stock: sent })).stock).to.equal(answered)
      }
      for (const stock of ['-1', '1.0001', '1,5', '', '1.', '.5', 'abc', 5, '1000000000', '01']) {
        expectInvalid(await post({ ...coffee, stock }), ['stock'])
      }
    })

    it('names every wrong field at once', async () => {
      expectInvalid(
        await post({
          external_id: '',
          type: 'x',
          name: '',
          sku: 5,
          barcode: '',
          category_id: '1',
          unit: 'x'.repeat(11),
          price: 1,
          cost: 2,
          stock: 3,
          id: 4,
        }),
        ['external_id', 'type', 'name', 'sku', 'barcode', 'category_id', 'unit', 'price', 'cost', 'stock'],
        ['id'],
      )
      expectInvalid(await post({ ...coffee, stock_adjustment: '1' }), [], ['stock_adjustment'])
      expectInvalid(await post({ ...coffee, category_name: 'x' }), [], ['category_name'])
    })

    it('takes names as often as wanted, external_id and barcode once', async () => {
      const first = await create({ ...coffee, external_id: 'a', barcode: '789' })
      await create(coffee)
      const conflict = (field: string) => ({ field, conflicting_id: first.id })
      expect(expectProblem(await post({ ...coffee, external_id: 'a' }), 409, 'duplicate_resource')).to.deep.equal(
        conflict('external_id'),
      )
      expect(expectProblem(await post({ ...coffee, barcode: '789' }), 409, 'duplicate_resource')).to.deep.equal(
        conflict('barcode'),
      )
      const other = await api.company()
      expect((await other.post('/catalog/items', { ...coffee, external_id: 'a', barcode: '789' })).status).to.equal(201)
    })

    it('refuses a category that does not exist, naming the field', async () => {
      expectInvalid(await post({ ...coffee, category_id: 999_999 }), ['category_id'])
    })
  })

  describe('services', () => {
    it('have no stock: null is fine, a quantity is 422', async () => {
      const service = await create({ name: 'Conserto', price: '50.00', type: 'service', stock: null })
      expect(service).to.include({ type: 'service', stock: null, stock_updated_at: null })
      expectInvalid(await post({ name: 'x', price: '1.00', type: 'service', stock: '0' }), ['stock'])
      expectInvalid(await patch(service.id, { stock: '1' }), ['stock'])
      expectInvalid(await patch(service.id, { stock_adjustment: '1' }), ['stock_adjustment'])
      expectInvalid(await put('s', { name: 'x', price: '1.00', type: 'service', stock: '1' }), ['stock'])
    })

    it('a product that becomes a service loses its stock, and gets none back as a product again', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      expect((await patch(id, { type: 'service' })).body.data).to.include({ type: 'service', stock: null })
      expect((await patch(id, { type: 'product' })).body.data).to.include({ type: 'product', stock: null })
      expect((await patch(id, { stock: '3' })).body.data.stock).to.equal('3.000')
    })

    it('are sold without end', async () => {
      const { id } = await create({ name: 'Hora', price: '1.00', type: 'service' })
      expect((await sell(id, '999')).status).to.equal(201)
    })
  })

  describe('PATCH', () => {
    it('changes what is named, clears with null, and refuses null for what is required', async () => {
      const before = await create({
        ...coffee,
        sku: 'a',
        barcode: '1',
        unit: 'UN',
        cost: '2.00',
        external_id: 'e',
        stock: '4',
      })
      const reply = await patch(before.id, {
        price: '19.90',
        sku: null,
        barcode: null,
        unit: null,
        cost: null,
        external_id: null,
      })
      expect(reply.status).to.equal(200)
      const { updated_at, ...after } = reply.body.data
      const { updated_at: _, ...kept } = before
      expect(after).to.deep.equal({
        ...kept,
        price: '19.90',
        sku: null,
        barcode: null,
        unit: null,
        cost: null,
        external_id: null,
      })
      expect(updated_at > before.updated_at).to.equal(true)
      expect((await company.get(`/catalog/items/${before.id}`)).text).to.equal(reply.text)
      expectInvalid(await patch(before.id, { name: null, price: null, type: null }), ['name', 'price', 'type'])
    })

    it('with {} or the present values answers 200 and records nothing', async () => {
      const body = { ...coffee, stock: '4', barcode: '1' }
      const created = await post(body)
      const before = await revision()
      for (const same of [{}, body, { stock: '4.000' }]) {
        expect((await patch(created.body.data.id, same)).text).to.equal(created.text)
      }
      expect(await revision()).to.equal(before)
    })

    it('moves the name of the category along with its id', async () => {
      const [a, b] = [await category('A'), await category('B')]
      const { id } = await create({ ...coffee, category_id: a })
      expect((await patch(id, { category_id: b })).body.data).to.include({ category_id: b, category_name: 'B' })
      expect((await patch(id, { category_id: null })).body.data).to.include({ category_id: null, category_name: null })
      expectInvalid(await patch(id, { category_id: 999_999 }), ['category_id'])
    })

    it('cannot take the barcode or external_id of another', async () => {
      const a = await create({ ...coffee, barcode: '1', external_id: 'a' })
      const b = await create({ ...coffee, barcode: '2', external_id: 'b' })
      for (const [field, value] of [
        ['barcode', '1'],
        ['external_id', 'a'],
      ] as const) {
        const details = expectProblem(await patch(b.id, { [field]: value }), 409, 'duplicate_resource')
        expect(details).to.deep.equal({ field, conflicting_id: a.id })
      }
      expect((await patch(a.id, { barcode: '3' })).status).to.equal(200)
      expect((await patch(b.id, { barcode: '1' })).status).to.equal(200)
    })
  })

  describe('stock', () => {
    it('sent absolutely is the new quantity; absent is left alone; null ends the control', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      expect((await patch(id, { stock: '2.5' })).body.data.stock).to.equal('2.500')
      expect((await patch(id, { price: '1.00' })).body.data.stock).to.equal('2.500')
      expect((await patch(id, { stock: null })).body.data.stock).to.equal(null)
      expect((await patch(id, { stock: '0' })).body.data.stock).to.equal('0.000')
    })

    it('is adjusted by a signed quantity, which a sale in between does not lose', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      expect((await sell(id, '2')).status).to.equal(201)
      expect((await patch(id, { stock_adjustment: '10.25' })).body.data.stock).to.equal('13.250')
      expect((await patch(id, { stock_adjustment: '-13.25' })).body.data.stock).to.equal('0.000')
      const details = expectProblem(await patch(id, { stock_adjustment: '-0.001' }), 422, 'insufficient_stock')
      const short = { catalog_item_id: id, requested: '0.001', available: '0.000' }
      expect(details).to.deep.equal({ ...short, items: [short] })
      for (const stock_adjustment of ['0', '-0.000', '1.0001', '', null, 1, '+1', '--1']) {
        expectInvalid(await patch(id, { stock_adjustment }), ['stock_adjustment'])
      }
      expectInvalid(await patch(id, { stock: '1', stock_adjustment: '1' }), ['stock_adjustment'])
      expect((await get(id)).stock).to.equal('0.000')
    })

    it('cannot be adjusted where it is not controlled, or beyond what can be written', async () => {
      const untracked = await create(coffee)
      expectInvalid(await patch(untracked.id, { stock_adjustment: '1' }), ['stock_adjustment'])
      const full = await create({ ...coffee, stock: '999999999.999' })
      expectInvalid(await patch(full.id, { stock_adjustment: '0.001' }), ['stock_adjustment'])
    })

    it('moves stock_updated_at and not updated_at; updated_since finds it all the same', async () => {
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

    it('and other fields in one PATCH move both times', async () => {
      const before = await create({ ...coffee, stock: '5' })
      const after = (await patch(before.id, { price: '1.00', stock: '6' })).body.data
      expect(after).to.include({ price: '1.00', stock: '6.000' })
      expect(after.updated_at > before.updated_at).to.equal(true)
      expect(after.stock_updated_at).to.equal(after.updated_at)
    })
  })

  describe('DELETE', () => {
    it('answers 204; afterwards it is 404, out of lists, cannot be sold, and frees its barcode', async () => {
      const { id } = await create({ ...coffee, barcode: '1', stock: '5', external_id: 'a' })
      expect((await remove(id)).status).to.equal(204)
      expectProblem(await company.get(`/catalog/items/${id}`), 404, 'not_found')
      expectProblem(await patch(id, { price: '1.00' }), 404, 'not_found')
      expectProblem(await remove(id), 404, 'not_found')
      expect(idsIn(await company.get('/catalog/items'))).to.deep.equal([])
      expect(idsIn(await company.get('/catalog/items?barcode=1'))).to.deep.equal([])
      expectInvalid(await sell(id, '1'), ['items[0].catalog_item_id'])
      await create({ ...coffee, barcode: '1' })
      const details = expectProblem(await post({ ...coffee, external_id: 'a' }), 409, 'duplicate_resource')
      expect(details).to.deep.equal({ field: 'external_id', conflicting_id: id, deleted: true })
      const { data } = (await company.get('/catalog/items/deleted')).body
      expect(data).to.have.length(1)
      expect(data[0]).to.include({ id, external_id: 'a' })
      expect(Object.keys(data[0])).to.have.members(['id', 'external_id', 'deleted_at'])
      expect(data[0].deleted_at).to.match(LOCAL_TIME)
    })

    it('keeps the sales of the item readable', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      const sale = (await sell(id, '1')).text
      await remove(id)
      const { data } = JSON.parse(sale)
      expect((await company.get(`/sales/${data.id}`)).text).to.equal(sale)
    })
  })

  describe('PUT by-external', () => {
    it('creates with 201, replaces with 200, clears what is absent, and leaves the stock alone', async () => {
      const body = {
        ...coffee,
        sku: 'a',
        barcode: '1',
        unit: 'UN',
        cost: '2.00',
        category_id: await category('A'),
        stock: '4',
      }
      const created = await put('e', body)
      expect(created.status).to.equal(201)
      const replaced = await put('e', { name: 'Café', price: '20.00' })
      expect(replaced.status).to.equal(200)
      expect(replaced.body.data).to.include({
        id: created.body.data.id,
        external_id: 'e',
        name: 'Café',
        price: '20.00',
        sku: null,
        barcode: null,
        unit: null,
        cost: null,
        category_id: null,
        category_name: null,
        stock: '4.000',
      })
      expect((await put('e', { name: 'Café', price: '20.00', stock: '9' })).body.data.stock).to.equal('9.000')
      expect((await put('e', { name: 'Café', price: '20.00', stock: null })).body.data.stock).to.equal(null)
    })

    it('repeated records nothing', async () => {
      const created = await put('e', { ...coffee, stock: '4' })
      const before = await revision()
      const again = await put('e', { ...coffee, stock: '4' })
      expect(again.status).to.equal(200)
      expect(again.text).to.equal(created.text)
      expect(await revision()).to.equal(before)
    })

    it('refuses another external_id in the body, and a barcode that another has', async () => {
      const { id } = await create({ ...coffee, barcode: '1' })
      expectInvalid(await put('e', { ...coffee, external_id: 'f' }), ['external_id'])
      expect(expectProblem(await put('e', { ...coffee, barcode: '1' }), 409, 'duplicate_resource')).to.deep.equal({
        field: 'barcode',
        conflicting_id: id,
      })
    })

    it('revives a deactivated item with 200, with the stock that it was left with', async () => {
      const created = await put('e', { ...coffee, barcode: '1', stock: '4' })
      const { id } = created.body.data
      await remove(id)
      const reply = await put('e', { ...coffee, barcode: '1' })
      expect(reply.status).to.equal(200)
      expect(reply.body.data).to.include({ id, barcode: '1', stock: '4.000' })
      expect((await company.get(`/catalog/items/${id}`)).text).to.equal(reply.text)
      expect(idsIn(await company.get('/catalog/items/deleted'))).to.deep.equal([])
      expect((await sell(id, '4')).status).to.equal(201)
    })

    it('cannot revive with a barcode that was taken meanwhile: 409, and it stays deleted', async () => {
      const { id } = (await put('e', { ...coffee, barcode: '1' })).body.data
      await remove(id)
      const taker = await create({ ...coffee, barcode: '1' })
      expect(expectProblem(await put('e', { ...coffee, barcode: '1' }), 409, 'duplicate_resource')).to.deep.equal({
        field: 'barcode',
        conflicting_id: taker.id,
      })
      expect(idsIn(await company.get('/catalog/items/deleted'))).to.deep.equal([id])
      expect((await put('e', coffee)).status).to.equal(200)
    })
  })

  it('filters by name, type, category, sku, barcode and external_id, alone and together', async () => {
    const drinks = await category('Bebidas')
    const a = await create({ ...coffee, sku: 'S1', barcode: 'B1', external_id: 'E1', category_id: drinks })
    const b = await create({ name: 'Cafeteira', price: '99.00', category_id: drinks })
    const c = await create({ name: 'Moagem de CAFÉ', price: '5.00', type: 'service' })
    const found = async (query: string) => idsIn(await company.get(`/catalog/items?${query}`))
    expect(await found('name=caf%C3%A9')).to.deep.equal([a.id, c.id])
    expect(await found('name=caf')).to.deep.equal([a.id, b.id, c.id])
    expect(await found('type=service')).to.deep.equal([c.id])
    expect(await found(`category_id=${drinks}`)).to.deep.equal([a.id, b.id])
    expect(await found('category_id=999999')).to.deep.equal([])
    expect(await found('sku=S1')).to.deep.equal([a.id])
    expect(await found('barcode=B1')).to.deep.equal([a.id])
    expect(await found('external_id=E1')).to.deep.equal([a.id])
    expect(await found(`name=caf&type=product&category_id=${drinks}&barcode=B1`)).to.deep.equal([a.id])
    expect(await found('sku=S1&type=service')).to.deep.equal([])
    for (const category_id of ['0', '-1', 'x', '1.5', '']) {
      expectInvalid(await company.get(`/catalog/items?category_id=${category_id}`), ['category_id'])
    }
    expectInvalid(await company.get('/catalog/items?type=x&sku='), ['type', 'sku'])
  })
})
