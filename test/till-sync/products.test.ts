import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { TestCompany } from '../support/api.ts'
import { openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'
import { INSTANT, type ProductsOfTill, productsOf } from './products-of-till.ts'

describe('GET /api/sync/products in full', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let products: ProductsOfTill

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    products = productsOf(company, till)
  })

  it('lists the products of the company by id, each with its fields [SYNC-10]', async () => {
    const category = (await company.post('/catalog/categories', { name: 'Grãos & "Cia"' })).body.data.id
    const coffee = await products.create({
      name: 'Café "extra" 🥖',
      price: '18.90',
      barcode: '7890000010078',
      category_id: category,
      stock: '12.345',
    })
    const plain = await products.create({ name: 'Pão', price: '0.10', stock: '0' })
    const { body } = await products.download()
    const [first, second] = body.data
    const times = { updated_at: first.updated_at }
    expect(first).to.deep.equal({
      id: coffee,
      name: 'Café "extra" 🥖',
      barcode: '7890000010078',
      sku: '',
      unit: '',
      price: 18.9,
      stock: 12.345,
      tracks_stock: true,
      picture_url: null,
      parent_id: null,
      variant: null,
      category_name: 'Grãos & "Cia"',
      ...times,
    })
    expect(second).to.include({ id: plain, barcode: '', price: 0.1, stock: 0, tracks_stock: true, category_name: '' })
    expect(body).to.have.all.keys('success', 'data', 'sync_timestamp', 'total')
    const shown = (await company.get(`/catalog/items/${coffee}`)).body.data
    expect(times.updated_at).to.match(INSTANT).and.to.equal(new Date(shown.updated_at).toISOString())
  })

  it('returns decimals as exact numbers, digit by digit', async () => {
    await products.create({ name: 'Caro', price: '9999999999.99', stock: '999999999.999' })
    await products.create({ name: 'Barato', price: '0.07', stock: '0.001' })
    const { text } = await products.download()
    expect(text).to.include('"price":9999999999.99,"stock":999999999.999,').and.include('"price":0.07,"stock":0.001,')
  })

  it('returns stock 0 for untracked products, and marks them as untracked [SYNC-10]', async () => {
    await products.create({ name: 'Pão de queijo', stock: null })
    expect((await products.download()).body.data[0]).to.include({ stock: 0, tracks_stock: false })
  })

  it('excludes services and deactivated products [SYNC-10]', async () => {
    await products.create({ name: 'Entrega', type: 'service' })
    await products.remove(await products.create({ name: 'Antigo' }))
    const sold = await products.create({ name: 'Vendido' })
    expect(idsIn(await products.download())).to.deep.equal([sold])
  })

  it('is empty for a company without products', async () => {
    const { body } = await products.download()
    expect([body.data, body.total]).to.deep.equal([[], 0])
  })

  it("excludes other companies' products [SYNC-10]", async () => {
    const other = await api.company()
    const others = productsOf(other, till)
    await others.create({ name: 'Alheio' })
    await others.remove(await others.create({ name: 'Alheio antigo' }))
    const own = await products.create({ name: 'Próprio' })
    expect(idsIn(await products.download())).to.deep.equal([own])
    const since = await products.download('2000-01-01T00:00:00Z')
    expect([idsIn(since), since.body.deleted]).to.deep.equal([[own], []])
  })

  it('responds to HEAD with the length only', async () => {
    await products.create({ name: 'Um' })
    const { text } = await products.download()
    const head = await till.call('HEAD', '/sync/products')
    expect([head.status, head.text]).to.deep.equal([200, ''])
    expect(Number(head.headers.get('content-length'))).to.equal(Buffer.byteLength(text))
  })

  it('ignores unknown parameters [SYNC-2]', async () => {
    expect((await till.get('/sync/products?pdv=1&last_sync_at=x')).status).to.equal(200)
  })
})
