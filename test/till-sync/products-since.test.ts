import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { type ProductsOfTill, productsOf } from './products-of-till.ts'

describe('GET /api/sync/products since a time', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let products: ProductsOfTill

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    products = productsOf(company, till)
  })

  it('lists created and changed products with their new fields, and nothing else [SYNC-12]', async () => {
    const [, changed] = [await products.create({ name: 'Igual' }), await products.create({ name: 'Muda' })]
    let created = 0
    const { data, deleted } = await products.changedBy(async () => {
      await products.patch(changed, { price: '2.50' })
      created = await products.create({ name: 'Novo' })
    })
    expect(data).to.deep.equal([changed, created])
    expect(deleted).to.deep.equal([])
  })

  it('lists a product when its stock moves: by count, sale and cancellation [SYNC-12]', async () => {
    const id = await products.create({ name: 'Vende', stock: '10' })
    expect((await products.changedBy(() => products.patch(id, { stock: '7' }))).data).to.deep.equal([id])
    let sale = 0
    const sold = await products.changedBy(async () => {
      sale = await products.sell(id, '2.5')
    })
    expect(sold.data).to.deep.equal([id])
    expect((await products.download()).body.data[0].stock).to.equal(4.5)
    const cancelled = await products.changedBy(() => company.post(`/sales/${sale}/cancel`, { reason: 'engano' }))
    expect(cancelled.data).to.deep.equal([id])
  })

  it('keeps updated_at if only the stock moves', async () => {
    const id = await products.create({ name: 'Vende', stock: '10' })
    const [before] = (await products.download()).body.data
    await products.changedBy(() => products.sell(id, '1'))
    expect((await products.download()).body.data[0]).to.deep.equal({ ...before, stock: 9 })
  })

  it('lists a product with another category [SYNC-12]', async () => {
    const category = (await company.post('/catalog/categories', { name: 'Nova' })).body.data.id
    const id = await products.create({ name: 'Muda' })
    expect((await products.changedBy(() => products.patch(id, { category_id: category }))).data).to.deep.equal([id])
  })

  it('lists the products of a renamed, deleted or revived category, each once [SYNC-12]', async () => {
    const path = '/catalog/categories'
    const category = (await company.post(path, { name: 'Bebidas', external_id: 'b' })).body.data.id
    const [first, second] = [
      await products.create({ name: 'A', category_id: category }),
      await products.create({ name: 'B', category_id: category }),
    ]
    await products.create({ name: 'Sem categoria' })
    const names = async () => (await products.download()).body.data.map((product: Json) => product.category_name)
    const renamed = await products.changedBy(async () => {
      await company.call('PATCH', `${path}/${category}`, { name: 'Sucos' })
      await products.patch(second, { price: '2.00' })
    })
    expect(renamed.data).to.have.members([first, second]).and.have.length(2)
    expect(await names()).to.deep.equal(['Sucos', 'Sucos', ''])
    const deleted = await products.changedBy(() => company.call('DELETE', `${path}/${category}`))
    expect(deleted).to.deep.equal({ data: [first, second], deleted: [] })
    expect(await names()).to.deep.equal(['', '', ''])
    const revived = await products.changedBy(() => company.call('PUT', `${path}/by-external/b`, { name: 'Chás' }))
    expect(revived.data).to.deep.equal([first, second])
  })

  it('lists deactivated products as deleted [SYNC-12]', async () => {
    const id = await products.create({ name: 'Sai de linha' })
    expect(await products.changedBy(() => products.remove(id))).to.deep.equal({ data: [], deleted: [id] })
  })

  it('omits products deactivated before, even if their stock moves', async () => {
    const id = await products.create({ name: 'Sai de linha', stock: '5' })
    const sale = await products.sell(id, '1')
    await products.remove(id)
    const { data, deleted } = await products.changedBy(() => company.post(`/sales/${sale}/cancel`, {}))
    expect({ data, deleted }).to.deep.equal({ data: [], deleted: [] })
  })

  it('lists reactivated products as changed, not as deleted [SYNC-12]', async () => {
    const id = await products.create({ name: 'Volta', external_id: 'volta' })
    const { data, deleted } = await products.changedBy(async () => {
      await products.remove(id)
      await company.call('PUT', '/catalog/items/by-external/volta', { name: 'Volta', price: '1.00' })
    })
    expect({ data, deleted }).to.deep.equal({ data: [id], deleted: [] })
  })

  it('lists a product that became a service as deleted, and the reverse as changed [SYNC-12]', async () => {
    const product = await products.create({ name: 'Vira serviço', stock: null })
    const service = await products.create({ name: 'Vira produto', type: 'service' })
    const { data, deleted } = await products.changedBy(async () => {
      await products.patch(product, { type: 'service' })
      await products.patch(service, { type: 'product' })
    })
    expect({ data, deleted }).to.deep.equal({ data: [service], deleted: [product] })
  })

  it('never lists items as deleted that were never products [SYNC-12]', async () => {
    const service = await products.create({ name: 'Entrega', type: 'service' })
    const { data, deleted } = await products.changedBy(async () => {
      await products.patch(service, { price: '2.00' })
      await products.remove(await products.create({ name: 'Corte', type: 'service' }))
      await products.remove(service)
    })
    expect({ data, deleted }).to.deep.equal({ data: [], deleted: [] })
  })

  it('is inclusive to the millisecond [SYNC-13]', async () => {
    const id = await products.create({ name: 'Último' })
    const { sync_timestamp } = (await products.download()).body
    expect(idsIn(await products.download(sync_timestamp))).to.deep.equal([id])
    const later = new Date(Date.parse(sync_timestamp) + 1).toISOString()
    expect((await products.download(later)).body).to.deep.include({ data: [], deleted: [], total: 0 })
  })

  it('accepts a time with an offset, also with an unencoded plus sign', async () => {
    await products.create({ name: 'Um' })
    expect((await products.download('2000-01-01T00:00:00-03:00')).body.total).to.equal(1)
    expect((await till.get('/sync/products?last_sync=2000-01-01T00:00:00+00:00')).body.total).to.equal(1)
  })

  it('returns the time of the last event of the ledger, of any kind [SYNC-13]', async () => {
    await products.create({ name: 'Um' })
    const { sync_timestamp } = (await products.download()).body
    const customer = (await company.post('/customers', { name: 'Ana' })).body.data
    const later = (await products.download()).body.sync_timestamp
    expect(later).to.equal(new Date(customer.created_at).toISOString())
    expect(later > sync_timestamp).to.equal(true)
    expect((await products.download(later)).body).to.deep.include({ data: [], sync_timestamp: later })
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
    it(`that is ${JSON.stringify(lastSync)} is 422 [SYNC-12]`, async () => {
      const errors = expectFailure(await till.get(`/sync/products?last_sync=${lastSync}`), 422)
      expect(Object.keys(errors)).to.deep.equal(['last_sync'])
    })
  }

  it('misses no change during concurrent writes [SYNC-13]', async () => {
    const ids = await Promise.all(
      Array.from({ length: 16 }, (_, n) => products.create({ name: `Produto ${n}`, stock: '0' })),
    )
    const known = new Map<number, string>()
    let lastSync: string | undefined
    const poll = async () => {
      const { body } = await products.download(lastSync)
      for (const product of body.data) known.set(product.id, JSON.stringify(product))
      for (const id of body.deleted ?? []) known.delete(id)
      lastSync = body.sync_timestamp
    }
    let writing = true
    const writer = async (own: number) => {
      for (let n = 0; n < 20; n++) {
        const id = ids[(own + 3 * n) % 8] as number
        await products.patch(id, n % 2 ? { stock_adjustment: '1.5' } : { name: `Nome ${own}.${n}` })
        if (n % 5 === 0) await products.create({ name: `Novo ${own}.${n}` })
      }
      await products.remove(ids[8 + own] as number)
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
    const { body } = await products.download()
    expect(body.total).to.equal(8 + 8 * 4)
    expect([...known.values()]).to.have.members(body.data.map((product: Json) => JSON.stringify(product)))
  })
})
