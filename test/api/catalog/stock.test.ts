import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn } from '../../support/answers.ts'
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
