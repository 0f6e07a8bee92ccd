import { expect } from 'chai'
import type { Json } from '../../support/api.ts'
import { useCompanyPerTest } from '../../support/use-api.ts'

const NOT_GTIN = { code: 'barcode_not_gtin', field: 'barcode' }
const CHECK_DIGIT = { code: 'barcode_check_digit', field: 'barcode' }

describe('barcodes of catalog items', () => {
  const { company } = useCompanyPerTest()

  const warningsOf = (body: Json) =>
    body.meta?.warnings?.map(({ message, ...warning }: Json) => {
      expect(message).to.be.a('string').that.is.not.empty
      return warning
    })

  it('are accepted unchanged, with a warning if they are not GTINs or have a wrong check digit [ITEM-7]', async () => {
    for (const [barcode, warnings] of [
      ['7891234567895', undefined],
      ['7891234567890', [CHECK_DIGIT]],
      ['LOJA-1', [NOT_GTIN]],
      [null, undefined],
    ] as const) {
      const body = { name: 'Café', price: '1.00', barcode }
      const created = await company.post('/catalog/items', body)
      expect(created.status).to.equal(201)
      expect(created.body.data.barcode).to.equal(barcode)
      expect(warningsOf(created.body), String(barcode)).to.deep.equal(warnings)
      const path = `/catalog/items/${created.body.data.id}`
      expect((await company.get(path)).body).to.have.all.keys('data')
      expect(warningsOf((await company.call('PATCH', path, { barcode })).body)).to.deep.equal(warnings)
      expect((await company.call('PATCH', path, { price: '2.00' })).body).to.have.all.keys('data')
      expect((await company.call('DELETE', path)).status).to.equal(204)
      const put = await company.call('PUT', '/catalog/items/by-external/x', body)
      expect(warningsOf(put.body)).to.deep.equal(warnings)
      await company.call('DELETE', `/catalog/items/${put.body.data.id}`)
    }
  })

  it('have warnings in a batch under the index of their item, except for failed items [ITEM-7]', async () => {
    const item = (external_id: string, barcode: string, price: string) => ({
      external_id,
      name: 'Café',
      price,
      barcode,
    })
    const items = [
      item('a', '789', '1'),
      item('b', '1', '1.00'),
      item('c', '96385074', '1.00'),
      item('d', '1', '1.00'),
      item('e', '96385075', '1.00'),
    ]
    const { status, body } = await company.post('/catalog/items/batch', { items })
    expect(status).to.equal(207)
    expect(body.meta).to.include({ succeeded: 3, failed: 2 })
    expect(warningsOf(body)).to.deep.equal([
      { index: 1, ...NOT_GTIN },
      { index: 4, ...CHECK_DIGIT },
    ])
    const fine = await company.post('/catalog/items/batch', { items: [item('c', '96385074', '1.00')] })
    expect(fine.body.meta).to.have.all.keys('succeeded', 'failed', 'errors')
  })

  it('have warnings in a replayed response too, with the same bytes [IDEM-2]', async () => {
    const call = () =>
      company.post('/catalog/items', { name: 'Café', price: '1.00', barcode: '1' }, { 'idempotency-key': 'k' })
    expect((await call()).text).to.equal((await call()).text)
  })
})
