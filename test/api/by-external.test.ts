import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { rawRequest } from '../support/raw-request.ts'
import { useCompany } from '../support/use-api.ts'

const account = { description: 'Aluguel', amount: '100.00', due_date: '2020-01-31' }
const RESOURCES = [
  ['/customers', { name: 'Ana' }],
  ['/suppliers', { name: 'Moinho' }],
  ['/catalog/items', { name: 'Café', price: '10.00' }],
  ['/catalog/categories', { name: 'Bebidas' }],
  ['/finance/receivables', account],
  ['/finance/payables', account],
] as const

describe('GET …/by-external/{external_id}', () => {
  const { api, company } = useCompany()

  for (const [path, body] of RESOURCES)
    it(`of ${path} equals GET by id, for its company, until the record is deleted`, async () => {
      const external_id = 'código/1 ?'
      const { id } = (await company.post(path, { ...body, external_id })).body.data
      const at = `${path}/by-external/${encodeURIComponent(external_id)}`
      const found = await company.get(at)
      expect(found.status, found.text).to.equal(200)
      expect(found.text).to.equal((await company.get(`${path}/${id}`)).text)
      expectProblem(await (await api.company()).get(at), 404, 'not_found')
      for (const other of ['c%C3%B3digo', '%20', 'x'.repeat(101)])
        expectProblem(await company.get(`${path}/by-external/${other}`), 404, 'not_found')
      await company.call('DELETE', `${path}/${id}`)
      expectProblem(await company.get(at), 404, 'not_found')
    })

  it('would not find "." and "..": a PUT refuses them, "..." is found [REC-10]', async () => {
    for (const id of ['%2E', '%2E%2E']) {
      const replaced = await rawRequest(api.url, {
        method: 'PUT',
        path: `/api/v1/customers/by-external/${id}`,
        headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Ponto' }),
      })
      expectInvalid(replaced, ['external_id'])
    }
    const { id } = (await company.post('/customers', { name: 'Três pontos', external_id: '...' })).body.data
    expect((await company.get('/customers/by-external/...')).body.data.id).to.equal(id)
    expect((await company.get('/customers?external_id=..')).body.data).to.deep.equal([])
  })

  it('records that have "." stay readable and changeable by id [REC-10]', async () => {
    const { id } = await company.run(createCustomer, { name: 'Ponto', person_type: 'PF', external_id: '.' }, 'pdv')
    expect((await company.get(`/customers/${id}`)).body.data.external_id).to.equal('.')
    expect((await company.get('/customers?external_id=.')).body.data).to.have.length(1)
    const changed = await company.call('PATCH', `/customers/${id}`, { name: 'Ponto final' })
    expect(changed.body.data).to.include({ external_id: '.', name: 'Ponto final' })
    const account = { ...RESOURCES[4][1], customer_external_id: '.' }
    expect((await company.post('/finance/receivables', account)).body.data.customer_id).to.equal(id)
  })

  it('of /orders equals GET by id', async () => {
    const store_alias = 'loja-externa'
    await company.run(createStore, { alias: store_alias, commission_percentage: '5', sandbox: true })
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    const order = { store_alias, external_id: 'a', customer: { name: 'Ana' }, items }
    const placed = await company.post('/orders', order)
    expect((await company.get('/orders/by-external/a')).text).to.equal(placed.text)
    expectProblem(await company.get('/orders/by-external/b'), 404, 'not_found')
  })
})
