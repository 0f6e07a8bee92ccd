import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { createShelf, type Shelf } from './shelf.ts'

describe('GET /api/sync/products since a time', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let shelf: Shelf

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    shelf = createShelf(company, till)
  })

  it('lists created and changed products with their new fields, and nothing else [SYNC-12]', async () => {
    const [, changed] = [await shelf.create({ name: 'Igual' }), await shelf.create({ name: 'Muda' })]
    let created = 0
    const { data, deleted } = await shelf.changedBy(async () => {
      await shelf.patch(changed, { price: '2.50' })
      created = await shelf.create({ name: 'Novo' })
    })
    expect(data).to.deep.equal([changed, created])
    expect(deleted).to.deep.equal([])
  })

  it('lists a product when its stock moves: by count, sale and cancellation [SYNC-12]', async () => {
    const id = await shelf.create({ name: 'Vende', stock: '10' })
    expect((await shelf.changedBy(() => shelf.patch(id, { stock: '7' }))).data).to.deep.equal([id])
    let sale = 0
    const sold = await shelf.changedBy(async () => {
      sale = await shelf.sell(id, '2.5')
    })
    expect(sold.data).to.deep.equal([id])
    expect((await shelf.download()).body.data[0].stock).to.equal(4.5)
    const cancelled = await shelf.changedBy(() => company.post(`/sales/${sale}/cancel`, { reason: 'engano' }))
    expect(cancelled.data).to.deep.equal([id])
  })

  it('keeps updated_at if only the stock moves', async () => {
    const id = await shelf.create({ name: 'Vende', stock: '10' })
    const [before] = (await shelf.download()).body.data
    await shelf.changedBy(() => shelf.sell(id, '1'))
    expect((await shelf.download()).body.data[0]).to.deep.equal({ ...before, stock: 9 })
  })

  it('lists a product with another category [SYNC-12]', async () => {
    const category = (await company.post('/catalog/categories', { name: 'Nova' })).body.data.id
    const id = await shelf.create({ name: 'Muda' })
    expect((await shelf.changedBy(() => shelf.patch(id, { category_id: category }))).data).to.deep.equal([id])
  })

  it('lists the products of a renamed, deleted or revived category, each once [SYNC-12]', async () => {
    const path = '/catalog/categories'
    const category = (await company.post(path, { name: 'Bebidas', external_id: 'b' })).body.data.id
    const [first, second] = [
      await shelf.create({ name: 'A', category_id: category }),
      await shelf.create({ name: 'B', category_id: category }),
    ]
    await shelf.create({ name: 'Sem categoria' })
    const names = async () => (await shelf.download()).body.data.map((product: Json) => product.category_name)
    const renamed = await shelf.changedBy(async () => {
      await company.call('PATCH', `${path}/${category}`, { name: 'Sucos' })
      await shelf.patch(second, { price: '2.00' })
    })
    expect(renamed.data).to.have.members([first, second]).and.have.length(2)
    expect(await names()).to.deep.equal(['Sucos', 'Sucos', ''])
    const deleted = await shelf.changedBy(() => company.call('DELETE', `${path}/${category}`))
    expect(deleted).to.deep.equal({ data: [first, second], deleted: [] })
    expect(await names()).to.deep.equal(['', '', ''])
    const revived = await shelf.changedBy(() => company.call('PUT', `${path}/by-external/b`, { name: 'Chás' }))
    expect(revived.data).to.deep.equal([first, second])
  })

  it('lists deactivated products as deleted [SYNC-12]', async () => {
    const id = await shelf.create({ name: 'Sai de linha' })
    expect(await shelf.changedBy(() => shelf.remove(id))).to.deep.equal({ data: [], deleted: [id] })
  })

  it('omits products deactivated before, even if their stock moves', async () => {
    const id = await shelf.create({ name: 'Sai de linha', stock: '5' })
    const sale = await shelf.sell(id, '1')
    await shelf.remove(id)
    const { data, deleted } = await shelf.changedBy(() => company.post(`/sales/${sale}/cancel`, {}))
    expect({ data, deleted }).to.deep.equal({ data: [], deleted: [] })
  })

  it('lists reactivated products as changed, not as deleted [SYNC-12]', async () => {
    const id = await shelf.create({ name: 'Volta', external_id: 'volta' })
    const { data, deleted } = await shelf.changedBy(async () => {
      await shelf.remove(id)
      await company.call('PUT', '/catalog/items/by-external/volta', { name: 'Volta', price: '1.00' })
    })
    expect({ data, deleted }).to.deep.equal({ data: [id], deleted: [] })
  })

  it('lists a product that became a service as deleted, and the reverse as changed [SYNC-12]', async () => {
    const product = await shelf.create({ name: 'Vira serviço', stock: null })
    const service = await shelf.create({ name: 'Vira produto', type: 'service' })
    const { data, deleted } = await shelf.changedBy(async () => {
      await shelf.patch(product, { type: 'service' })
      await shelf.patch(service, { type: 'product' })
    })
    expect({ data, deleted }).to.deep.equal({ data: [service], deleted: [product] })
  })

  it('never lists items as deleted that were never products [SYNC-12]', async () => {
    const service = await shelf.create({ name: 'Entrega', type: 'service' })
    const { data, deleted } = await shelf.changedBy(async () => {
      await shelf.patch(service, { price: '2.00' })
      await shelf.remove(await shelf.create({ name: 'Corte', type: 'service' }))
      await shelf.remove(service)
    })
    expect({ data, deleted }).to.deep.equal({ data: [], deleted: [] })
  })

  it('is inclusive to the millisecond [SYNC-13]', async () => {
    const id = await shelf.create({ name: 'Último' })
    const { sync_timestamp } = (await shelf.download()).body
    expect(idsIn(await shelf.download(sync_timestamp))).to.deep.equal([id])
    const later = new Date(Date.parse(sync_timestamp) + 1).toISOString()
    expect((await shelf.download(later)).body).to.deep.include({ data: [], deleted: [], total: 0 })
  })

  it('accepts a time with an offset, also with an unencoded plus sign', async () => {
    await shelf.create({ name: 'Um' })
    expect((await shelf.download('2000-01-01T00:00:00-03:00')).body.total).to.equal(1)
    expect((await till.get('/sync/products?last_sync=2000-01-01T00:00:00+00:00')).body.total).to.equal(1)
  })

  it('returns the time of the last event of the ledger, of any kind [SYNC-13]', async () => {
    await shelf.create({ name: 'Um' })
    const { sync_timestamp } = (await shelf.download()).body
    const customer = (await company.post('/customers', { name: 'Ana' })).body.data
    const later = (await shelf.download()).body.sync_timestamp
    expect(later).to.equal(new Date(customer.created_at).toISOString())
    expect(later > sync_timestamp).to.equal(true)
    expect((await shelf.download(later)).body).to.deep.include({ data: [], sync_timestamp: later })
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
    const products = await Promise.all(
      Array.from({ length: 16 }, (_, n) => shelf.create({ name: `Produto ${n}`, stock: '0' })),
    )
    const known = new Map<number, string>()
    let lastSync: string | undefined
    const poll = async () => {
      const { body } = await shelf.download(lastSync)
      for (const product of body.data) known.set(product.id, JSON.stringify(product))
      for (const id of body.deleted ?? []) known.delete(id)
      lastSync = body.sync_timestamp
    }
    let writing = true
    const writer = async (own: number) => {
      for (let n = 0; n < 20; n++) {
        const id = products[(own + 3 * n) % 8] as number
        await shelf.patch(id, n % 2 ? { stock_adjustment: '1.5' } : { name: `Nome ${own}.${n}` })
        if (n % 5 === 0) await shelf.create({ name: `Novo ${own}.${n}` })
      }
      await shelf.remove(products[8 + own] as number)
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
    const { body } = await shelf.download()
    expect(body.total).to.equal(8 + 8 * 4)
    expect([...known.values()]).to.have.members(body.data.map((product: Json) => JSON.stringify(product)))
  })
})
