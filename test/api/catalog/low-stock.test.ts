import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { useCatalog } from './catalog.ts'

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
