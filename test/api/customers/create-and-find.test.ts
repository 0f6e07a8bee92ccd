import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { CPF, everything, useCustomers } from './customers.ts'

const FIELDS = [
  'metadata',
  'id',
  'external_id',
  'name',
  'person_type',
  'document',
  'phone',
  'email',
  'address',
  'notes',
  'state_registration',
  'ie_indicator',
  'forgotten_at',
  'forgetting_due_on',
  'created_at',
  'updated_at',
  'deleted_at',
]

describe('customers', () => {
  const { api, company, create } = useCustomers()

  describe('POST', () => {
    it('creates a customer with all its fields, with equal bytes in POST, GET and list [VAL-5, REC-1]', async () => {
      const created = await company.post('/customers', everything)
      expect(created.status).to.equal(201)
      const { id, created_at, updated_at, ...sent } = created.body.data
      expect(Object.keys(created.body.data)).to.have.members(FIELDS)
      expect(sent).to.deep.equal({
        ...everything,
        metadata: null,
        forgotten_at: null,
        forgetting_due_on: null,
        deleted_at: null,
      })
      expect(id).to.be.a('number').above(0)
      expect(created_at)
        .to.match(LOCAL_TIME)
        .and.to.match(/-03:00$/)
      expect(updated_at).to.equal(created_at)
      expect((await company.get(`/customers/${id}`)).text).to.equal(created.text)
      expect((await company.get('/customers')).text).to.include(`{"data":[${recordText(created)}],`)
    })

    it('requires a name only: person_type is PF, everything else null', async () => {
      const { id: _, created_at, updated_at, ...rest } = await create({ name: 'Ana' })
      expect(rest).to.deep.equal({
        external_id: null,
        name: 'Ana',
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
        deleted_at: null,
      })
      expectInvalid(await company.post('/customers', {}), ['name'])
      expectInvalid(await company.post('/customers', { name: null }), ['name'])
    })

    it('suggests a free name for a taken one, also to items of a batch [PERSON-100]', async () => {
      const { id } = await create({ name: 'José da Silva' })
      const details = { field: 'name', conflicting_id: id, suggested_name: 'José da Silva (2)' }
      const refused = await company.post('/customers', { name: 'José da Silva' })
      expect(refused.body.error).to.deep.include({ code: 'duplicate_resource', details })
      const items = [
        { external_id: 'a', name: details.suggested_name },
        { external_id: 'b', name: 'José da Silva' },
      ]
      const { errors } = (await company.post('/customers/batch', { items })).body.meta
      expect(errors[0].details).to.deep.equal({ ...details, suggested_name: 'José da Silva (3)' })
    })

    it('finds by phone in any punctuation, alone and with a document', async () => {
      const { id } = await create({ name: 'Ana', phone: '(11) 98765-4321', document: CPF })
      await create({ name: 'Bia', phone: '11987654321' })
      const find = async (query: string) => idsIn(await company.get(`/customers?${query}`))
      expect(await find('phone=%2B55+11+98765-4321')).to.have.length(2)
      expect(await find(`phone=11987654321&document=${CPF}`)).to.deep.equal([id])
      expect(await find('phone=11900000000')).to.deep.equal([])
      expectInvalid(await company.get('/customers?phone=ana'), ['phone'])
    })

    it('treats null as absent in every optional field', async () => {
      const nulls = { external_id: null, document: null, phone: null, email: null, address: null, notes: null }
      expect(await create({ name: 'Ana', ...nulls })).to.include(nulls)
    })

    it('reports every wrong field at once [HTTP-6]', async () => {
      expectInvalid(
        await company.post('/customers', {
          external_id: ' a',
          name: 7,
          person_type: 'XX',
          document: '1',
          phone: 'x',
          email: 'nobody',
          address: { zip: '1', state: 'XX', city: 5 },
          notes: [],
          id: 3,
        }),
        [
          'external_id',
          'name',
          'person_type',
          'document',
          'phone',
          'email',
          'address.zip',
          'address.state',
          'address.city',
          'notes',
        ],
        ['id'],
      )
    })

    it('refuses a name taken but for case and blanks, with the id of its holder [REC-1, PERSON-2]', async () => {
      const { id } = await create({ name: 'João  da Silva' })
      for (const name of ['João  da Silva', 'joão da silva', '  JOÃO DA SILVA ', 'Joa\u0303o da Silva']) {
        const reply = await company.post('/customers', { name })
        expect(expectProblem(reply, 409, 'duplicate_resource')).to.include({ field: 'name', conflicting_id: id })
      }
      await create({ name: 'Joao da Silva' })
      const other = await api.company()
      expect((await other.post('/customers', { name: 'João da Silva' })).status).to.equal(201)
    })

    it('accepts an external_id once per company, compared byte by byte [REC-1, REC-7]', async () => {
      const { id } = await create({ name: 'Ana', external_id: 'A-1' })
      const reply = await company.post('/customers', { name: 'Bia', external_id: 'A-1' })
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({
        field: 'external_id',
        conflicting_id: id,
      })
      await create({ name: 'Bia', external_id: 'a-1' })
      expectInvalid(await company.post('/customers', { name: 'Caio', external_id: ' A-1' }), ['external_id'])
      expectInvalid(await company.post('/customers', { name: 'Caio', external_id: 1 }), ['external_id'])
    })
  })

  describe('filters', () => {
    it('match a substring of the name, ignoring case, without wildcards [LIST-7]', async () => {
      const names = ['Padaria Ipê', 'PADARIA ipê rosa', 'Bar 100%', 'Bar 100x', 'a_b', 'axb', 'c\\d']
      for (const name of names) await create({ name })
      const found = async (name: string) =>
        (await company.get(`/customers?name=${encodeURIComponent(name)}`)).body.data.map((record: Json) => record.name)
      expect(await found('ipÊ')).to.deep.equal(['Padaria Ipê', 'PADARIA ipê rosa'])
      expect(await found('100%')).to.deep.equal(['Bar 100%'])
      expect(await found('a_b')).to.deep.equal(['a_b'])
      expect(await found('\\')).to.deep.equal(['c\\d'])
      expect(await found("'")).to.deep.equal([])
      expect(await found('zzz')).to.deep.equal([])
    })

    it('match document and external_id exactly, and all filters together [LIST-7]', async () => {
      const a = await create({ name: 'Ana', document: CPF, external_id: 'a' })
      await create({ name: 'Bia', document: CPF, external_id: 'ab' })
      expect(idsIn(await company.get('/customers?external_id=a'))).to.deep.equal([a.id])
      expect(idsIn(await company.get(`/customers?document=${CPF}&name=an`))).to.deep.equal([a.id])
      expect(idsIn(await company.get(`/customers?document=${CPF.slice(1)}`))).to.deep.equal([])
    })
  })
})
