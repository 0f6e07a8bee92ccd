import { expect } from 'chai'
import { EVENT_TYPES } from '../../../src/events/catalogue.ts'
import { type Json, type Reply, startApi, type TestApi, type TestCompany } from '../../support/api.ts'
import { useDatabase } from '../../support/database.ts'
import { copyItem } from '../../support/large-catalog.ts'
import { expectFailure, openTill, type TestTill } from '../../support/till.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('GET /api/sync/products', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let till: TestTill

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
  })
  after(() => api.close())

  const create = async (item: object): Promise<number> => {
    const reply = await company.post('/catalog/items', { price: '1.00', ...item })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }
  const patch = async (id: number, changes: object): Promise<void> => {
    expect((await company.call('PATCH', `/catalog/items/${id}`, changes)).status).to.equal(200)
  }
  const remove = async (id: number): Promise<void> => {
    expect((await company.call('DELETE', `/catalog/items/${id}`)).status).to.equal(204)
  }
  const sell = async (id: number, quantity: string): Promise<number> => {
    const cash = await company.paymentType('cash')
    const sale = {
      items: [{ catalog_item_id: id, quantity, unit_price: '1.00' }],
      payments: [{ payment_type_id: cash, amount: '1000.00' }],
    }
    const reply = await company.post('/sales', sale)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data.id
  }
  const download = async (lastSync?: string): Promise<Reply> => {
    const reply = await till.get(`/sync/products${lastSync === undefined ? '' : `?last_sync=${lastSync}`}`)
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.body.success).to.equal(true)
    expect(reply.body.sync_timestamp).to.match(INSTANT)
    expect(reply.body.total).to.equal(reply.body.data.length)
    return reply
  }
  const ids = (products: Json): number[] => products.map((product: Json) => product.id)
  /** What changes between two downloads. */
  const changedBy = async (change: () => Promise<unknown>): Promise<{ data: number[]; deleted: number[] }> => {
    const { sync_timestamp } = (await download()).body
    // The last event is repeated, since the time is inclusive; another one separates it from what is looked at.
    await company.post('/customers', { name: `Cliente ${Math.random()}` })
    const since = (await download()).body.sync_timestamp
    expect(since > sync_timestamp).to.equal(true)
    await change()
    const { data, deleted } = (await download(since)).body
    return { data: ids(data), deleted }
  }

  describe('in full', () => {
    it('lists the products of the company by id, each with its fields', async () => {
      const category = (await company.post('/catalog/categories', { name: 'Grãos & "Cia"' })).body.data.id
      const coffee = await create({
        name: 'Café "extra"\n🥖',
        price: '18.90',
        barcode: '7890000010078',
        category_id: category,
        stock: '12.345',
      })
      const plain = await create({ name: 'Pão', price: '0.10', stock: '0' })
      const { body } = await download()
      const [first, second] = body.data
      const times = { updated_at: first.updated_at }
      expect(first).to.deep.equal({
        id: coffee,
        name: 'Café "extra"\n🥖',
        barcode: '7890000010078',
        price: 18.9,
        stock: 12.345,
        tracks_stock: true,
        category_name: 'Grãos & "Cia"',
        ...times,
      })
      expect(second).to.include({ id: plain, barcode: '', price: 0.1, stock: 0, tracks_stock: true, category_name: '' })
      expect(body).to.have.all.keys('success', 'data', 'sync_timestamp', 'total')
      const shown = (await company.get(`/catalog/items/${coffee}`)).body.data
      expect(times.updated_at).to.match(INSTANT).and.to.equal(new Date(shown.updated_at).toISOString())
    })

    it('gives decimals as exact numbers, digit by digit', async () => {
      await create({ name: 'Caro', price: '9999999999.99', stock: '999999999.999' })
      await create({ name: 'Barato', price: '0.07', stock: '0.001' })
      const { text } = await download()
      expect(text).to.include('"price":9999999999.99,"stock":999999999.999,').and.include('"price":0.07,"stock":0.001,')
    })

    it('gives the stock of what is not tracked as 0, and says so', async () => {
      await create({ name: 'Pão de queijo', stock: null })
      expect((await download()).body.data[0]).to.include({ stock: 0, tracks_stock: false })
    })

    it('leaves services and deactivated products out', async () => {
      await create({ name: 'Entrega', type: 'service' })
      await remove(await create({ name: 'Antigo' }))
      const sold = await create({ name: 'Vendido' })
      expect(ids((await download()).body.data)).to.deep.equal([sold])
    })

    it('of a company without products is empty', async () => {
      const { body } = await download()
      expect([body.data, body.total]).to.deep.equal([[], 0])
    })

    it('shows nothing of another company', async () => {
      const other = await api.company()
      await other.post('/catalog/items', { name: 'Alheio', price: '1.00' })
      const own = await create({ name: 'Próprio' })
      const { body } = await download()
      expect(ids(body.data)).to.deep.equal([own])
      expect((await download('2000-01-01T00:00:00Z')).body.deleted).to.deep.equal([])
    })

    it('answers HEAD with the length alone', async () => {
      await create({ name: 'Um' })
      const { text } = await download()
      const head = await till.call('HEAD', '/sync/products')
      expect([head.status, head.text]).to.deep.equal([200, ''])
      expect(Number(head.headers.get('content-length'))).to.equal(Buffer.byteLength(text))
    })

    it('ignores parameters that it does not know', async () => {
      expect((await till.get('/sync/products?pdv=1&last_sync_at=x')).status).to.equal(200)
    })
  })

  describe('since a time', () => {
    it('names what was created and changed, with its new fields, and nothing else', async () => {
      const [, changed] = [await create({ name: 'Igual' }), await create({ name: 'Muda' })]
      let created = 0
      const { data, deleted } = await changedBy(async () => {
        await patch(changed, { price: '2.50' })
        created = await create({ name: 'Novo' })
      })
      expect(data).to.deep.equal([changed, created])
      expect(deleted).to.deep.equal([])
    })

    it('names a product when its stock moves: by count, sale and cancellation', async () => {
      const id = await create({ name: 'Vende', stock: '10' })
      expect((await changedBy(() => patch(id, { stock: '7' }))).data).to.deep.equal([id])
      let sale = 0
      const sold = await changedBy(async () => {
        sale = await sell(id, '2.5')
      })
      expect(sold.data).to.deep.equal([id])
      expect((await download()).body.data[0].stock).to.equal(4.5)
      const cancelled = await changedBy(() => company.post(`/sales/${sale}/cancel`, { reason: 'engano' }))
      expect(cancelled.data).to.deep.equal([id])
    })

    it('leaves updated_at alone when only stock moves', async () => {
      const id = await create({ name: 'Vende', stock: '10' })
      const [before] = (await download()).body.data
      await changedBy(() => sell(id, '1'))
      expect((await download()).body.data[0]).to.deep.equal({ ...before, stock: 9 })
    })

    it('names a product that got another category', async () => {
      const category = (await company.post('/catalog/categories', { name: 'Nova' })).body.data.id
      const id = await create({ name: 'Muda' })
      expect((await changedBy(() => patch(id, { category_id: category }))).data).to.deep.equal([id])
    })

    it('needs no look at categories, since nothing renames one', () => {
      // Whoever adds such an event has to make the products of the category count as changed.
      const ofCategories = Object.keys(EVENT_TYPES).filter((name) => name.startsWith('Category'))
      expect(ofCategories).to.deep.equal(['CategoryCreated'])
    })

    it('names what was deactivated as deleted', async () => {
      const id = await create({ name: 'Sai de linha' })
      expect(await changedBy(() => remove(id))).to.deep.equal({ data: [], deleted: [id] })
    })

    it('does not name what was deactivated before, though its stock moves', async () => {
      const id = await create({ name: 'Sai de linha', stock: '5' })
      const sale = await sell(id, '1')
      await remove(id)
      const { data, deleted } = await changedBy(() => company.post(`/sales/${sale}/cancel`, {}))
      expect({ data, deleted }).to.deep.equal({ data: [], deleted: [] })
    })

    it('names what came back as changed, not as deleted', async () => {
      const id = await create({ name: 'Volta', external_id: 'volta' })
      const { data, deleted } = await changedBy(async () => {
        await remove(id)
        await company.call('PUT', '/catalog/items/by-external/volta', { name: 'Volta', price: '1.00' })
      })
      expect({ data, deleted }).to.deep.equal({ data: [id], deleted: [] })
    })

    it('names what became a service as deleted, and what became a product as changed', async () => {
      const product = await create({ name: 'Vira serviço', stock: null })
      const service = await create({ name: 'Vira produto', type: 'service' })
      const { data, deleted } = await changedBy(async () => {
        await patch(product, { type: 'service' })
        await patch(service, { type: 'product' })
      })
      expect({ data, deleted }).to.deep.equal({ data: [service], deleted: [product] })
    })

    it('is inclusive to the millisecond', async () => {
      const id = await create({ name: 'Último' })
      const { sync_timestamp } = (await download()).body
      expect(ids((await download(sync_timestamp)).body.data)).to.deep.equal([id])
      const later = new Date(Date.parse(sync_timestamp) + 1).toISOString()
      expect((await download(later)).body).to.deep.include({ data: [], deleted: [], total: 0 })
    })

    it('takes a time with an offset', async () => {
      await create({ name: 'Um' })
      expect((await download('2000-01-01T00:00:00-03:00')).body.total).to.equal(1)
    })

    it('is the ledger’s last time, whatever was recorded last', async () => {
      await create({ name: 'Um' })
      const { sync_timestamp } = (await download()).body
      const customer = (await company.post('/customers', { name: 'Ana' })).body.data
      const later = (await download()).body.sync_timestamp
      expect(later).to.equal(new Date(customer.created_at).toISOString())
      expect(later > sync_timestamp).to.equal(true)
      expect((await download(later)).body).to.deep.include({ data: [], sync_timestamp: later })
    })

    for (const lastSync of [
      '',
      'ontem',
      '2026-11-21',
      '2026-11-21T08:00:00',
      '2026-02-30T00:00:00Z',
      '1764000000',
      '0000-00-00T00:00:00Z',
      '2026-11-21T08:00:00Z%00',
      '%27;drop table read.catalog_items;--',
      '2026-11-21T08:00:00Z&last_sync=2026-11-21T09:00:00Z',
    ]) {
      it(`that is ${JSON.stringify(lastSync)} is 422`, async () => {
        const errors = expectFailure(await till.get(`/sync/products?last_sync=${lastSync}`), 422)
        expect(Object.keys(errors)).to.deep.equal(['last_sync'])
      })
    }
  })

  it('never misses a change, whoever writes meanwhile', async () => {
    const products = await Promise.all(
      Array.from({ length: 16 }, (_, n) => create({ name: `Produto ${n}`, stock: '0' })),
    )
    const known = new Map<number, string>()
    let lastSync: string | undefined
    const poll = async () => {
      const { body } = await download(lastSync)
      for (const product of body.data) known.set(product.id, JSON.stringify(product))
      for (const id of body.deleted ?? []) known.delete(id)
      lastSync = body.sync_timestamp
    }
    let writing = true
    const writer = async (own: number) => {
      for (let n = 0; n < 20; n++) {
        const id = products[(own + 3 * n) % 8] as number
        await patch(id, n % 2 ? { stock_adjustment: '1.5' } : { name: `Nome ${own}.${n}` })
        if (n % 5 === 0) await create({ name: `Novo ${own}.${n}` })
      }
      await remove(products[8 + own] as number)
    }
    const poller = async () => {
      while (writing) await poll()
    }
    const polling = poller()
    await Promise.all(Array.from({ length: 8 }, (_, own) => writer(own))).finally(() => {
      writing = false
    })
    await polling
    await poll()
    const { body } = await download()
    expect(body.total).to.equal(8 + 8 * 4)
    expect([...known.values()]).to.have.members(body.data.map((product: Json) => JSON.stringify(product)))
  })

  it('gives 50,000 products, each once and in order', async () => {
    const first = await create({ name: 'Produto', barcode: '789', stock: '1' })
    await copyItem(api.core.pool, company.id, first, 49_999)
    const { body } = await download()
    expect(body.total).to.equal(50_000)
    for (const [position, { id, name }] of body.data.entries()) {
      if (id !== first + position || !name.startsWith('Produto')) expect.fail(`${id} at position ${position}`)
    }
    // The copies have the same time and revision: pages go on by the id.
    const { data } = (await download('2000-01-01T00:00:00Z')).body
    expect(ids(data)).to.deep.equal(ids(body.data))

    // A till that does not read on holds no transaction of Postgres, and so no snapshot.
    const slow = await fetch(`${api.url}/api/sync/products`, { headers: { authorization: `Bearer ${till.token}` } })
    const { rows } = await api.core.pool.query(
      `select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in trans%'`,
    )
    expect(rows[0].open).to.equal(0)
    expect(((await slow.json()) as Json).total).to.equal(50_000)
  })
})
