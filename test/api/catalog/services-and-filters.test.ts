import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { coffee, useCatalog } from './catalog.ts'

describe('catalog items', () => {
  const { company, post, create, put, patch, category, sell } = useCatalog()

  describe('services', () => {
    it('have no stock: null is accepted, a quantity is 422', async () => {
      const service = await create({ name: 'Conserto', price: '50.00', type: 'service', stock: null })
      expect(service).to.include({ type: 'service', stock: null, stock_updated_at: null })
      expectInvalid(await post({ name: 'x', price: '1.00', type: 'service', stock: '0' }), ['stock'])
      expectInvalid(await patch(service.id, { stock: '1' }), ['stock'])
      expectInvalid(await patch(service.id, { stock_adjustment: '1' }), ['stock_adjustment'])
      expectInvalid(await put('s', { name: 'x', price: '1.00', type: 'service', stock: '1' }), ['stock'])
    })

    it('a product that becomes a service loses its stock, and has none as a product again', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      expect((await patch(id, { type: 'service' })).body.data).to.include({ type: 'service', stock: null })
      expect((await patch(id, { type: 'product' })).body.data).to.include({ type: 'product', stock: null })
      expect((await patch(id, { stock: '3' })).body.data.stock).to.equal('3.000')
    })

    it('are sold in any quantity', async () => {
      const { id } = await create({ name: 'Hora', price: '1.00', type: 'service' })
      expect((await sell(id, '999')).status).to.equal(201)
    })
  })

  it('filters by name, type, category, sku, barcode and external_id, singly and together [LIST-7]', async () => {
    const drinks = await category('Bebidas')
    const a = await create({ ...coffee, sku: 'S1', barcode: 'B1', external_id: 'E1', category_id: drinks })
    const b = await create({ name: 'Cafeteira', price: '99.00', category_id: drinks })
    const c = await create({ name: 'Moagem de CAFÉ', price: '5.00', type: 'service' })
    const found = async (query: string) => idsIn(await company.get(`/catalog/items?${query}`))
    expect(await found('name=de%20caf%C3%A9')).to.deep.equal([c.id])
    expect(await found('q=cafe%20MOAGEM')).to.deep.equal([c.id])
    expect(await found('q=e1%20s1')).to.deep.equal([a.id])
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
