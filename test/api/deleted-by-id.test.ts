import { expect } from 'chai'
import { expectProblem } from '../support/answers.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

const KINDS = [
  ['/catalog/items', { name: 'Café', price: '10.00', gtin: '7891234567895' }],
  ['/catalog/categories', { name: 'Bebidas' }],
  ['/customers', { name: 'Ana', email: 'ana@example.com' }],
  ['/suppliers', { name: 'Bom Grão' }],
] as const

describe('deleted records', () => {
  const { company } = useCompanyPerTest()

  for (const [path, body] of KINDS) {
    it(`${path}: are read by id with deleted_at, and found nowhere else [REC-6]`, async () => {
      const fields = { ...body, external_id: 'x-1' }
      const live = (await company.post(path, fields)).body.data
      expect(live.deleted_at).to.equal(null)
      const one = `${path}/${live.id}`
      expect((await company.get(one)).body.data).to.deep.equal(live)
      await company.call('DELETE', one)
      const { status, body: read } = await company.get(one)
      expect(status).to.equal(200)
      const [entry] = (await company.get(`${path}/deleted`)).body.data
      expect(read.data).to.include({ id: live.id, external_id: 'x-1', deleted_at: entry.deleted_at })
      expect(Object.keys(read.data)).to.deep.equal(Object.keys(live))
      expect(read.data.updated_at).to.equal(live.updated_at)
      expect((await company.get(path)).body.data).to.deep.equal([])
      expectProblem(await company.get(`${path}/by-external/x-1`), 404, 'not_found')
      expectProblem(await company.call('PATCH', one, { external_id: null }), 404, 'not_found')
      expectProblem(await company.call('DELETE', one), 404, 'not_found')
      const revived = (await company.call('PUT', `${path}/by-external/x-1`, fields)).body.data
      expect(revived.deleted_at).to.equal(null)
      expect((await company.get(one)).body.data).to.deep.equal(revived)
    })
  }

  it('of the catalog keep their values, those of persons lose them [REC-6, PERSON-10]', async () => {
    const category = (await company.post('/catalog/categories', { name: 'Bebidas' })).body.data
    const fields = { name: 'Café', price: '10.00', category_id: category.id }
    const item = (await company.post('/catalog/items', fields)).body.data
    const customer = (await company.post('/customers', { name: 'Ana', notes: 'x' })).body.data
    for (const path of [`/catalog/items/${item.id}`, `/customers/${customer.id}`]) await company.call('DELETE', path)
    const kept = (await company.get(`/catalog/items/${item.id}`)).body.data
    expect(kept).to.deep.equal({ ...item, deleted_at: kept.deleted_at })
    expect((await company.get(`/customers/${customer.id}`)).body.data).to.include({ name: null, notes: null })
  })

  it('are hidden from other companies, and from keys without the scope [HTTP-9]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    await company.call('DELETE', `/customers/${id}`)
    const { key } = await company.newKey(['sales:read'])
    const reply = await company.call('GET', `/customers/${id}`, undefined, { authorization: `Bearer ${key}` })
    expectProblem(reply, 403, 'insufficient_scope')
  })
})

describe('created records', () => {
  const { company } = useCompanyPerTest()

  it('are answered with their address in Location [REC-1]', async () => {
    const account = { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }
    const payment_type_id = await company.paymentType('cash')
    const sale = {
      items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
      payments: [{ payment_type_id, amount: '5.00' }],
    }
    for (const [path, body] of [
      ...KINDS,
      ['/finance/receivables', account],
      ['/finance/payables', account],
      ['/sales', sale],
      ['/webhooks', { url: 'https://erp.example/x', events: ['*'] }],
    ] as const) {
      const created = await company.post(path, body, { 'idempotency-key': path })
      expect(created.headers.get('location')).to.equal(`/api/v1${path}/${created.body.data.id}`)
      expect((await company.get(`${path}/${created.body.data.id}`)).status).to.equal(200)
      const replayed = await company.post(path, body, { 'idempotency-key': path })
      expect(replayed.headers.get('location')).to.equal(created.headers.get('location'))
    }
    const put = await company.call('PUT', '/customers/by-external/a', { name: 'Bia' })
    expect(put.headers.get('location')).to.equal(`/api/v1/customers/${put.body.data.id}`)
    const again = await company.call('PUT', '/customers/by-external/a', { name: 'Bia' })
    expect(again.headers.has('location')).to.equal(false)
  })

  it('with a value of another record are refused with a text that names field and record [REC-1]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'a' })).body.data
    const byName = await company.post('/customers', { name: 'ana' })
    expectProblem(byName, 409, 'duplicate_resource')
    expect(byName.body.error.message).to.equal(`O registro ${id} já tem este valor em name.`)
    await company.call('DELETE', `/customers/${id}`)
    const byExternal = await company.post('/customers', { name: 'Bia', external_id: 'a' })
    expect(byExternal.body.error.message).to.equal(
      `O registro ${id}, que foi excluído, já tem este valor em external_id.`,
    )
    await company.post('/catalog/categories', { name: 'Sucos' })
    const batch = await company.post('/catalog/categories/batch', { items: [{ external_id: 's', name: 'Sucos' }] })
    expect(batch.body.meta.errors[0].message).to.match(/já tem este valor em name\.$/)
  })
})
