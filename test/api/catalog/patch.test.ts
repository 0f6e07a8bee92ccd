import { expect } from 'chai'
import { expectInvalid } from '../../support/answers.ts'
import { coffee, useCatalog } from './catalog.ts'

describe('catalog items: PATCH', () => {
  const { company, post, create, patch, category, revision } = useCatalog()

  it('changes the given fields, clears with null, and refuses null for required ones [REC-5]', async () => {
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
    expectInvalid(await patch(before.id, { name: null, price: null }), ['name', 'price'])
  })

  it('responds 200 to {} or equal values, and records nothing [REC-3]', async () => {
    const body = { ...coffee, stock: '4', barcode: '96385074' }
    const created = await post(body)
    const before = await revision()
    for (const same of [{}, body, { stock: '4.000' }]) {
      expect((await patch(created.body.data.id, same)).text).to.equal(created.text)
    }
    expect(await revision()).to.equal(before)
  })

  it('updates the name of the category with its id', async () => {
    const [a, b] = [await category('A'), await category('B')]
    const { id } = await create({ ...coffee, category_id: a })
    expect((await patch(id, { category_id: b })).body.data).to.include({ category_id: b, category_name: 'B' })
    expect((await patch(id, { category_id: null })).body.data).to.include({ category_id: null, category_name: null })
    expectInvalid(await patch(id, { category_id: 999_999 }), ['category_id'])
  })
})
