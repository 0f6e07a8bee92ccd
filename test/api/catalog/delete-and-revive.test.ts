import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../../support/answers.ts'
import { coffee, useCatalog } from './catalog.ts'

describe('catalog items', () => {
  const { company, post, create, put, patch, remove, category, revision, sell } = useCatalog()

  describe('DELETE', () => {
    it('responds 204; then the item is not in lists, cannot be sold, and its barcode is available [REC-6]', async () => {
      const { id } = await create({ ...coffee, barcode: '1', stock: '5', external_id: 'a' })
      expect((await remove(id)).status).to.equal(204)
      expect((await company.get(`/catalog/items/${id}`)).body.data.deleted_at).to.be.a('string')
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

    it('keeps the sales of the item readable [REC-6]', async () => {
      const { id } = await create({ ...coffee, stock: '5' })
      const sale = (await sell(id, '1')).text
      await remove(id)
      const { data } = JSON.parse(sale)
      expect((await company.get(`/sales/${data.id}`)).text).to.equal(sale)
    })
  })

  describe('PUT by-external', () => {
    it('creates with 201, replaces with 200, clears absent fields, and keeps the stock [REC-2]', async () => {
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

    it('records nothing when repeated [REC-3]', async () => {
      const created = await put('e', { ...coffee, stock: '4' })
      const before = await revision()
      const again = await put('e', { ...coffee, stock: '4' })
      expect(again.status).to.equal(200)
      expect(again.text).to.equal(created.text)
      expect(await revision()).to.equal(before)
    })

    it('refuses a different external_id in the body, and the barcode of another item', async () => {
      const { id } = await create({ ...coffee, barcode: '1' })
      expectInvalid(await put('e', { ...coffee, external_id: 'f' }), ['external_id'])
      expect(expectProblem(await put('e', { ...coffee, barcode: '1' }), 409, 'duplicate_resource')).to.deep.equal({
        field: 'barcode',
        conflicting_id: id,
      })
    })

    it('revives a deactivated item with 200 and its previous stock [REC-4]', async () => {
      const created = await put('e', { ...coffee, barcode: '96385074', stock: '4' })
      const { id } = created.body.data
      await remove(id)
      const reply = await put('e', { ...coffee, barcode: '96385074' })
      expect(reply.status).to.equal(200)
      expect(reply.body.data).to.include({ id, barcode: '96385074', stock: '4.000' })
      expect((await company.get(`/catalog/items/${id}`)).text).to.equal(reply.text)
      expect(idsIn(await company.get('/catalog/items/deleted'))).to.deep.equal([])
      expect((await sell(id, '4')).status).to.equal(201)
    })

    it('refuses to revive with a barcode taken meanwhile: 409, and the item stays deleted [REC-4]', async () => {
      const { id } = (await put('e', { ...coffee, barcode: '96385074' })).body.data
      await remove(id)
      const taker = await create({ ...coffee, barcode: '96385074' })
      expect(
        expectProblem(await put('e', { ...coffee, barcode: '96385074' }), 409, 'duplicate_resource'),
      ).to.deep.equal({
        field: 'barcode',
        conflicting_id: taker.id,
      })
      expect(idsIn(await company.get('/catalog/items/deleted'))).to.deep.equal([id])
      expect((await put('e', coffee)).status).to.equal(200)
    })
  })
})
