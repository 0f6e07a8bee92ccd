import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { everything, useCustomers } from './customers.ts'

describe('customers', () => {
  const { api, company, create, patch, remove, revision } = useCustomers()

  describe('PATCH', () => {
    it('changes the given fields only [REC-5]', async () => {
      const before = await create(everything)
      const reply = await patch(before.id, { phone: '1133334444', notes: 'x' })
      expect(reply.status).to.equal(200)
      const { updated_at, ...after } = reply.body.data
      const { updated_at: _, ...kept } = before
      expect(after).to.deep.equal({ ...kept, phone: '1133334444', notes: 'x' })
      expect(Date.parse(updated_at)).to.be.at.least(Date.parse(before.updated_at))
      expect((await company.get(`/customers/${before.id}`)).text).to.equal(reply.text)
    })

    it('clears an optional field with null, and refuses null for others [REC-5]', async () => {
      const { id } = await create(everything)
      const nulls = { external_id: null, document: null, phone: null, email: null, address: null, notes: null }
      expect((await patch(id, nulls)).body.data).to.include(nulls)
      expectInvalid(await patch(id, { name: null }), ['name'])
    })

    it('responds 200 to {} or equal values, and records nothing [REC-3]', async () => {
      const created = await company.post('/customers', everything)
      const { id } = created.body.data
      const before = await revision()
      for (const body of [{}, { name: everything.name }, everything]) {
        const reply = await patch(id, body)
        expect(reply.status).to.equal(200)
        expect(reply.text).to.equal(created.text)
      }
      expect(await revision()).to.equal(before)
    })

    it('changes parts of an address by the same rule', async () => {
      const { id } = await create(everything)
      const { address } = (await patch(id, { address: { complement: null, number: '12' } })).body.data
      expect(address).to.deep.equal({ ...everything.address, complement: null, number: '12' })
    })

    it('refuses name or external_id of another customer, but accepts its own in another notation', async () => {
      const [a, b] = [await create({ name: 'Ana', external_id: 'a' }), await create({ name: 'Bia', external_id: 'b' })]
      const conflict = (field: string) => ({ field, conflicting_id: a.id })
      expect(expectProblem(await patch(b.id, { name: 'ana' }), 409, 'duplicate_resource')).to.deep.equal({
        ...conflict('name'),
        suggested_name: 'ana (2)',
      })
      expect(expectProblem(await patch(b.id, { external_id: 'a' }), 409, 'duplicate_resource')).to.deep.equal(
        conflict('external_id'),
      )
      expect((await patch(a.id, { name: 'ANA', external_id: 'a' })).body.data.name).to.equal('ANA')
      expect((await company.get(`/customers/${b.id}`)).body.data).to.include({ name: 'Bia', external_id: 'b' })
    })
  })

  describe('DELETE', () => {
    it('responds 204 without a body; then PATCH and a second DELETE are 404 [REC-6]', async () => {
      const { id } = await create({ name: 'Ana' })
      const reply = await remove(id)
      expect(reply.status).to.equal(204)
      expect(reply.text).to.equal('')
      expect(reply.headers.has('content-type')).to.equal(false)
      expectProblem(await patch(id, { name: 'Bia' }), 404, 'not_found')
      expectProblem(await remove(id), 404, 'not_found')
      expect(idsIn(await company.get('/customers'))).to.deep.equal([])
    })

    it('releases the name, and keeps the external_id for a revival [REC-6]', async () => {
      const { id } = await create({ name: 'Ana', external_id: 'a' })
      await remove(id)
      await create({ name: 'Ana' })
      const reply = await company.post('/customers', { name: 'Bia', external_id: 'a' })
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({
        field: 'external_id',
        conflicting_id: id,
        deleted: true,
      })
      const { id: other } = await create({ name: 'Caio' })
      expect(expectProblem(await patch(other, { external_id: 'a' }), 409, 'duplicate_resource')).to.include({
        conflicting_id: id,
        deleted: true,
      })
    })

    it('leaves no personal data in the read model except the name on existing sales [PERSON-10]', async () => {
      const { id } = await create(everything)
      const item = { description: 'Bala', quantity: '1', unit_price: '2.00' }
      const payments = [{ payment_type_id: await company.paymentType('cash'), amount: '2.00' }]
      const sale = await company.post('/sales', { customer_id: id, items: [item], payments })
      await remove(id)
      const { rows } = await api.core.pool.query<{ kept: string }>(
        'select to_jsonb(c)::text as kept from read.customers c where company_id = $1 and id = $2',
        [company.id, id],
      )
      const { address, external_id: _external, person_type: _type, ie_indicator: _indicator, ...told } = everything
      const { state: _state, ...where } = address
      for (const value of [...Object.values(told), ...Object.values(where)]) {
        expect(rows[0]?.kept).to.not.contain(value)
      }
      expect((await company.get(`/sales/${sale.body.data.id}`)).body.data.customer.name).to.equal(everything.name)
    })

    it('adds {id, external_id, deleted_at} to the list of deleted records [LIST-6]', async () => {
      const [a, b] = [await create({ name: 'Ana', external_id: 'a' }), await create({ name: 'Bia' })]
      await remove(a.id)
      await remove(b.id)
      const { data, meta } = (await company.get('/customers/deleted')).body
      expect(data.map(({ deleted_at: _, ...rest }: Json) => rest)).to.deep.equal([
        { id: a.id, external_id: 'a' },
        { id: b.id, external_id: null },
      ])
      for (const record of data) expect(record.deleted_at).to.match(LOCAL_TIME)
      expect(meta).to.include({ has_more: false, next_cursor: null, limit: 50 })
    })
  })
})
