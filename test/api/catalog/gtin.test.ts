import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json, Reply } from '../../support/api.ts'
import { useCatalog } from './catalog.ts'

const GTIN = '7891234567895'

describe('GTIN of another item', () => {
  const { company, create, get, patch, put, remove, revision } = useCatalog()

  const coffee = (more: object = {}) => ({ name: 'Café', price: '10.00', gtin: GTIN, ...more })
  const warned = ({ id, name }: Json) => ({
    code: 'gtin_in_use',
    field: 'gtin',
    message: `o item ${id} (${name}) tem o mesmo GTIN`,
    conflicting_id: id,
  })
  const warnings = ({ body }: Reply) => body.meta?.warnings
  const post = (body: object, query = '') => company.post(`/catalog/items${query}`, body)

  it('is taken with a warning that names the item, by every way of writing [ITEM-12]', async () => {
    const first = await create(coffee({ name: 'Café 500 g' }))
    const second = await post(coffee({ external_id: 'b' }))
    expect([second.status, warnings(second)]).to.deep.equal([201, [warned(first)]])
    expect(warnings(await put('b', coffee()))).to.deep.equal([warned(first)])
    const third = await create({ name: 'Chá', price: '1.00' })
    expect(warnings(await patch(third.id, { gtin: GTIN }))).to.deep.equal([warned(first)])
    expect((await get(third.id)).gtin).to.equal(GTIN)
    expect((await patch(third.id, { price: '2.00' })).body, 'without gtin').to.have.all.keys('data')
    const items = [coffee({ external_id: 'c' }), { external_id: 'd', name: 'Mate', price: '1.00' }]
    const batch = await company.post('/catalog/items/batch', { items })
    expect([batch.status, batch.body.meta.warnings]).to.deep.equal([200, [{ index: 0, ...warned(first) }]])
  })

  it('is told within a batch too, and in another spelling of the same code [ITEM-12]', async () => {
    const items = [coffee({ external_id: 'a', gtin: `0${GTIN}` }), coffee({ external_id: 'b' })]
    const { body } = await company.post('/catalog/items/batch', { items })
    expect(body.meta.warnings).to.deep.equal([{ index: 1, ...warned(body.data[0]) }])
  })

  it('is no longer told once the other item is deactivated or has another GTIN [ITEM-12]', async () => {
    const [first, second] = [await create(coffee()), await create(coffee({ name: 'Outro' }))]
    await remove(first.id)
    expect(warnings(await post(coffee({ name: 'Terceiro' })))).to.deep.equal([warned(second)])
    await patch(second.id, { gtin: null })
    const [third] = (await company.get('/catalog/items?name=Terceiro')).body.data
    await patch(third.id, { gtin: '96385074' })
    expect(warnings(await post(coffee()))).to.equal(undefined)
    await company.post(`/catalog/items/${first.id}/reactivate`)
    expect(warnings(await patch(second.id, { gtin: GTIN }))?.[0].code).to.equal('gtin_in_use')
  })

  it('is the own one of an item that is written again [ITEM-12]', async () => {
    const { id } = await create(coffee({ external_id: 'a' }))
    expect(warnings(await put('a', coffee()))).to.equal(undefined)
    expect(warnings(await patch(id, { gtin: GTIN }))).to.equal(undefined)
  })

  it('is 409 with strict=true, without effect [ITEM-12]', async () => {
    const { id } = await create(coffee())
    const other = await create({ name: 'Chá', price: '1.00' })
    const before = await revision()
    for (const reply of [
      await post(coffee(), '?strict=true'),
      await company.call('PUT', '/catalog/items/by-external/b?strict=true', coffee()),
      await company.call('PATCH', `/catalog/items/${other.id}?strict=true`, { gtin: GTIN }),
    ])
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({ field: 'gtin', conflicting_id: id })
    const items = [coffee({ external_id: 'c' })]
    const batch = await company.post('/catalog/items/batch?strict=true', { items })
    expect(batch.status).to.equal(207)
    expect(batch.body.meta.errors[0]).to.deep.include({
      code: 'duplicate_resource',
      details: { field: 'gtin', conflicting_id: id },
    })
    expect(await revision()).to.equal(before)
    expect((await post(coffee({ gtin: '96385074' }), '?strict=true')).status).to.equal(201)
    expect((await post(coffee(), '?strict=false')).status).to.equal(201)
    expectInvalid(await post(coffee(), '?strict=yes'), ['strict'])
    expectInvalid(await company.post('/customers?strict=true', { name: 'Ana' }), [], ['strict'])
  })

  it('is told in a repeated answer too, with the same bytes, and strict is another request [IDEM-2]', async () => {
    await create(coffee())
    const send = (query = '') => company.post(`/catalog/items${query}`, coffee(), { 'idempotency-key': 'k' })
    const first = await send()
    expect(warnings(first)).to.have.length(1)
    expect((await send()).text).to.equal(first.text)
    expectProblem(await send('?strict=true'), 409, 'idempotency_key_reuse')
  })
})
