import { expect } from 'chai'
import { openCounter } from '../support/offline-sales.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

const PATH = '/stock/inventories'

describe('inventories over the API', () => {
  const { company } = useCompanyPerTest()

  it('survive sales, also those of before the counting that came later [STOCK-112]', async () => {
    const counter = await openCounter(company, '100')
    const opened = await company.post(PATH, { name: 'Mercearia' })
    expect(opened.status, opened.text).to.equal(201)
    const at = `${PATH}/${opened.body.data.id}`
    const counts = async () => (await company.get(`${at}/counts`)).body.data
    const sent = await company.post(`${at}/counts`, { items: [{ catalog_item_id: counter.product, quantity: '90' }] })
    expect(sent.body.data, sent.text).to.include({ status: 'open', counted_items: 1 })
    await counter.sell()
    const [before] = await counts()
    expect(before).to.include({ counted: '90.000', expected: '100.000', difference: '-10.000', is_superseded: false })
    await counter.record(counter.sale('late'))
    const late = { expected: '99.000', difference: '-9.000' }
    expect((await counts())[0]).to.include(late)
    const closed = await company.post(`${at}/close`, { apply: true })
    expect(closed.body.data, closed.text).to.include({ status: 'applied', counted_items: 1 })
    expect(await counter.stock()).to.equal('88.000')
    expect((await counts())[0]).to.include(late)
    const { body } = await company.get(`/catalog/items/${counter.product}/movements`)
    const document = `inventory/${opened.body.data.id}`
    expect(body.data.at(-1)).to.include({ kind: 'count', quantity: '-9.000', document, occurred_at: before.counted_at })
    expect((await company.post(`${at}/close`, { apply: true })).body.data).to.include({ status: 'applied' })
    const more = await company.post(`${at}/counts`, { items: [{ catalog_item_id: counter.product, quantity: '1' }] })
    expect([more.status, more.body.error.code]).to.deep.equal([409, 'inventory_closed'])
    expect(await counter.stock()).to.equal('88.000')
  })

  it('give way to a later count of the item', async () => {
    const counter = await openCounter(company, '100')
    const at = `${PATH}/${(await company.post(PATH, { name: 'A' })).body.data.id}`
    await company.post(`${at}/counts`, { items: [{ catalog_item_id: counter.product, quantity: '90' }] })
    await company.post('/stock/movements', { catalog_item_id: counter.product, kind: 'count', quantity: '70' })
    expect((await company.get(`${at}/counts`)).body.data[0]).to.include({ is_superseded: true })
    await company.post(`${at}/close`, { apply: true })
    expect(await counter.stock()).to.equal('70.000')
  })

  it('are listed by status, and missing ones are 404', async () => {
    const { id } = (await company.post(PATH, { name: 'A' })).body.data
    await company.post(PATH, { name: 'B' })
    await company.post(`${PATH}/${id}/close`, { apply: false })
    const names = async (query: string) =>
      (await company.get(`${PATH}${query}`)).body.data.map(({ name }: { name: string }) => name)
    expect(await names('')).to.deep.equal(['A', 'B'])
    expect(await names('?status=open')).to.deep.equal(['B'])
    expect(await names('?status=discarded')).to.deep.equal(['A'])
    for (const path of ['/99', '/x', '/99/counts']) expect((await company.get(`${PATH}${path}`)).status).to.equal(404)
    expect((await company.post(`${PATH}/99/close`, { apply: true })).status).to.equal(404)
  })
})
