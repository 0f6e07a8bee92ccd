import { expect } from 'chai'
import { expectInvalid, idsIn } from '../../support/answers.ts'
import { everything, useCustomers } from './customers.ts'

describe('customers: PUT by-external', () => {
  const { company, create, put, remove, revision } = useCustomers()

  it('creates with 201 and then replaces with 200: absent optional fields are cleared [REC-2]', async () => {
    const { external_id, ...body } = everything
    const created = await put('erp-77', body)
    expect(created.status).to.equal(201)
    expect(created.body.data).to.deep.include(everything)
    const replaced = await put('erp-77', { name: 'Maria Souza' })
    expect(replaced.status).to.equal(200)
    const { id, created_at } = created.body.data
    const { updated_at: _, ...after } = replaced.body.data
    expect(after).to.deep.equal({
      id,
      external_id,
      name: 'Maria Souza',
      person_type: 'PF',
      metadata: null,
      document: null,
      phone: null,
      email: null,
      address: null,
      notes: null,
      state_registration: null,
      ie_indicator: null,
      forgotten_at: null,
      forgetting_due_on: null,
      created_at,
      deleted_at: null,
    })
    expect((await company.get(`/customers/${id}`)).text).to.equal(replaced.text)
  })

  it('is idempotent: the same body responds 200 with the same bytes, and records nothing [REC-3]', async () => {
    const created = await put('a', { name: 'Ana', phone: '1133334444' })
    const before = await revision()
    const again = await put('a', { name: 'Ana', phone: '1133334444' })
    expect(again.status).to.equal(200)
    expect(again.text).to.equal(created.text)
    expect(await revision()).to.equal(before)
  })

  it('refuses an external_id in the body that differs from the path [REC-7]', async () => {
    expect((await put('a', { external_id: 'a', name: 'Ana' })).status).to.equal(201)
    expectInvalid(await put('a', { external_id: 'b', name: 'Ana' }), ['external_id'])
    expectInvalid(await put('c', { external_id: 'b', name: 'Caio' }), ['external_id'])
    expect((await company.get('/customers')).body.data).to.have.length(1)
  })

  it('decodes the external id of the path exactly once', async () => {
    for (const id of [
      'a/b',
      'a%2Fb',
      'ação 🥖',

      'batch',
      'deleted',
      '0',
      'a+b',
      "x'; drop table customers; --",
      'a?b#c',
    ]) {
      const reply = await put(id, { name: `Cliente ${id}` })
      expect(reply.status, id).to.equal(201)
      expect(reply.body.data.external_id).to.equal(id)
      const found = await company.get(`/customers?external_id=${encodeURIComponent(id)}`)
      expect(idsIn(found)).to.deep.equal([reply.body.data.id])
    }
  })

  it('revives a deleted record with 200 under its id [REC-4]', async () => {
    const before = await create({ ...everything, external_id: 'a' })
    await remove(before.id)
    const reply = await put('a', { name: 'Ana' })
    expect(reply.status).to.equal(200)
    expect(reply.body.data).to.include({ id: before.id, name: 'Ana', phone: null, created_at: before.created_at })
    expect((await company.get(`/customers/${before.id}`)).text).to.equal(reply.text)
    expect(idsIn(await company.get('/customers/deleted'))).to.deep.equal([])
    expect(idsIn(await company.get('/customers'))).to.deep.equal([before.id])
  })

  it('revives with 200 also without other changes', async () => {
    const { id } = await create({ name: 'Ana', external_id: 'a' })
    await remove(id)
    expect((await put('a', { name: 'Ana' })).status).to.equal(200)
    expect((await company.get(`/customers/${id}`)).status).to.equal(200)
  })
})
