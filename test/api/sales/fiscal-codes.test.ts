import { expect } from 'chai'
import { expectInvalid } from '../../support/answers.ts'
import { useSeller } from './seller.ts'

const TAXES = {
  origin: '0',
  cfop: '5102',
  icms_cst: null,
  csosn: '102',
  pis_cst: '49',
  cofins_cst: '49',
  cbenef: 'PR800000',
  ibs_cbs_cst: '000',
  ibs_cbs_class: '000001',
}
const NONE = Object.fromEntries(Object.keys(TAXES).map((field) => [field, null]))

describe('fiscal codes of items', () => {
  const { api, company, item, adHoc, pay, sold } = useSeller()

  const patch = (id: number, changes: object) => company.call('PATCH', `/catalog/items/${id}`, changes)

  it('are recorded by POST, changed by PATCH, replaced by PUT, and null otherwise', async () => {
    const made = await item({ ...TAXES, external_id: 'caf' })
    expect(made).to.deep.include(TAXES)
    expect((await company.get(`/catalog/items/${made.id}`)).body.data).to.deep.equal(made)
    expect((await company.get('/catalog/items')).body.data).to.deep.equal([made])
    expect((await patch(made.id, { cfop: '6.102', cbenef: null })).body.data).to.deep.include({
      ...TAXES,
      cfop: '6102',
      cbenef: null,
    })
    const put = await company.call('PUT', '/catalog/items/by-external/caf', {
      name: 'Café',
      price: '1.00',
      origin: '1',
    })
    expect(put.body.data).to.deep.include({ ...NONE, origin: '1' })
    expect(await item()).to.deep.include(NONE)
  })

  it('are kept by a deactivated item, and cleared by a PUT that revives it [ITEM-11]', async () => {
    const { id } = await item({ ...TAXES, external_id: 'caf' })
    await company.call('DELETE', `/catalog/items/${id}`)
    const back = await company.post(`/catalog/items/${id}/reactivate`)
    expect(back.body.data).to.deep.include(TAXES)
    await company.call('DELETE', `/catalog/items/${id}`)
    const put = await company.call('PUT', '/catalog/items/by-external/caf', { name: 'Café', price: '1.00' })
    expect(put.body.data).to.deep.include({ id, ...NONE })
  })

  it('that contradict each other are 422, also those that a PATCH leaves alone [ITEM-21]', async () => {
    const body = { name: 'Café', price: '1.00' }
    expectInvalid(await company.post('/catalog/items', { ...body, icms_cst: '00', csosn: '102' }), ['csosn'])
    expectInvalid(await company.post('/catalog/items', { ...body, ibs_cbs_cst: '000', ibs_cbs_class: '410004' }), [
      'ibs_cbs_class',
    ])
    const { id } = await item(TAXES)
    expectInvalid(await patch(id, { icms_cst: '00' }), ['csosn'])
    expectInvalid(await patch(id, { ibs_cbs_cst: '410' }), ['ibs_cbs_class'])
    expect((await company.get(`/catalog/items/${id}`)).body.data).to.deep.include(TAXES)
    const changed = await patch(id, { icms_cst: '00', csosn: null, ibs_cbs_cst: '410', ibs_cbs_class: '410004' })
    expect(changed.body.data).to.deep.include({ icms_cst: '00', csosn: null, ibs_cbs_class: '410004' })
    const batch = { items: [{ ...body, external_id: 'x', icms_cst: '00', csosn: '102' }] }
    const { meta } = (await company.post('/catalog/items/batch', batch)).body
    expect(meta.errors[0].details.fields).to.have.all.keys('csosn')
  })

  it('are kept by sales as they were when sold; empty ones are absent [SALE-23]', async () => {
    const { icms_cst: _, ...codes } = TAXES
    const { id } = await item({ ...TAXES, ncm: '0901.21.00', gtin: '7891234567895' })
    const items = [{ catalog_item_id: id, quantity: '1', unit_price: '1.00' }, adHoc('1.00')]
    const sale = await sold({ items, payments: [pay('2.00')] })
    const [known, unknown] = sale.items
    expect(known).to.include({ ...codes, ncm: '09012100', gtin: '7891234567895' })
    expect(known).not.to.have.any.keys('icms_cst', 'cest')
    expect(unknown).not.to.have.any.keys('gtin', 'ncm', 'cest', ...Object.keys(TAXES))
    await patch(id, { csosn: '500', cfop: '5405' })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
  })

  it('are in the webhook message of the sale [SALE-23]', async () => {
    await company.post('/webhooks', { url: 'https://erp.example/eventos', events: ['sale.completed'] })
    const { id } = await item(TAXES)
    // The company's own key gets no messages about its own sales.
    const { key } = await company.newKey(['sales:write'])
    const body = { items: [{ catalog_item_id: id, quantity: '1' }], payments: [pay('18.90')], seller: { name: 'Ana' } }
    const reply = await company.call('POST', '/sales', body, { authorization: `Bearer ${key}` })
    expect(reply.status, reply.text).to.equal(201)
    const { rows } = await api.core.pool.query<{ body: string }>(
      "select body from ops.webhook_messages where company_id = $1 and event = 'sale.completed'",
      [company.id],
    )
    expect(rows).to.have.length(1)
    expect(JSON.parse(rows[0]?.body ?? '').data).to.deep.equal(reply.body.data)
    expect(reply.body.data.items[0]).to.include({ cfop: '5102', discount_share: '0.00' })
  })
})

describe('fiscal fields of customers', () => {
  const { company } = useSeller()

  it('are recorded, changed and cleared', async () => {
    const fields = { state_registration: '110.042.490.114', ie_indicator: '1' }
    const made = await company.post('/customers', { name: 'Padaria', external_id: 'p', ...fields })
    expect(made.body.data).to.include({ state_registration: '110042490114', ie_indicator: '1' })
    const { id } = made.body.data
    const changed = await company.call('PATCH', `/customers/${id}`, { ie_indicator: '2', state_registration: 'isento' })
    expect(changed.body.data).to.include({ state_registration: 'ISENTO', ie_indicator: '2' })
    const put = await company.call('PUT', '/customers/by-external/p', { name: 'Padaria' })
    expect(put.body.data).to.include({ state_registration: null, ie_indicator: null })
    await company.call('DELETE', `/customers/${id}`)
    const back = await company.call('PUT', '/customers/by-external/p', { name: 'Padaria', ie_indicator: '9' })
    expect(back.body.data).to.include({ state_registration: null, ie_indicator: '9' })
  })

  it('of a wrong shape are 422; suppliers have none', async () => {
    const wrong = { state_registration: 'x', ie_indicator: '3' }
    expectInvalid(await company.post('/customers', { name: 'Padaria', ...wrong }), Object.keys(wrong))
    expectInvalid(await company.post('/suppliers', { name: 'Moinho', ie_indicator: '1' }), [], ['ie_indicator'])
  })
})
