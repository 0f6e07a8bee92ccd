import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'

const FIELDS = [
  'id',
  'external_id',
  'name',
  'person_type',
  'document',
  'phone',
  'email',
  'address',
  'notes',
  'created_at',
  'updated_at',
]

/** Check digits are right; no such person is meant. */
const CPF = '52998224725'
const CNPJ = '11222333000181'
/** The example of the tax authority for the form of 2026. */
const ALPHANUMERIC_CNPJ = '12ABC34501DE35'

const everything = {
  external_id: 'erp-77',
  name: 'Maria da Silva',
  person_type: 'PF',
  document: CPF,
  phone: '+55 (11) 98765-4321',
  email: 'maria@example.com',
  address: {
    zip: '01310100',
    street: 'Avenida Paulista',
    number: '1000-A',
    complement: 'Sala 3',
    district: 'Bela Vista',
    city: 'São Paulo',
    state: 'SP',
  },
  notes: 'Prefere entregas à tarde.',
}

describe('customers', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url)
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => api.close())

  const create = async (body: object): Promise<Json> => {
    const reply = await company.post('/customers', body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const put = (externalId: string, body: unknown) =>
    company.call('PUT', `/customers/by-external/${encodeURIComponent(externalId)}`, body)
  const patch = (id: number, body: unknown) => company.call('PATCH', `/customers/${id}`, body)
  const remove = (id: number) => company.call('DELETE', `/customers/${id}`)
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  describe('POST', () => {
    it('creates a customer with all its fields, and answers what GET and the list answer, byte by byte', async () => {
      const created = await company.post('/customers', everything)
      expect(created.status).to.equal(201)
      const { id, created_at, updated_at, ...sent } = created.body.data
      expect(Object.keys(created.body.data)).to.have.members(FIELDS)
      expect(sent).to.deep.equal(everything)
      expect(id).to.be.a('number').above(0)
      expect(created_at)
        .to.match(LOCAL_TIME)
        .and.to.match(/-03:00$/)
      expect(updated_at).to.equal(created_at)
      expect((await company.get(`/customers/${id}`)).text).to.equal(created.text)
      expect((await company.get('/customers')).text).to.include(`{"data":[${recordText(created)}],`)
    })

    it('needs a name alone: person_type is PF, everything else null', async () => {
      const { id: _, created_at, updated_at, ...rest } = await create({ name: 'Ana' })
      expect(rest).to.deep.equal({
        external_id: null,
        name: 'Ana',
        person_type: 'PF',
        document: null,
        phone: null,
        email: null,
        address: null,
        notes: null,
      })
      expectInvalid(await company.post('/customers', {}), ['name'])
      expectInvalid(await company.post('/customers', { name: null }), ['name'])
    })

    it('takes null for every optional field as absent', async () => {
      const nulls = { external_id: null, document: null, phone: null, email: null, address: null, notes: null }
      expect(await create({ name: 'Ana', ...nulls })).to.include(nulls)
    })

    it('names every wrong field at once', async () => {
      expectInvalid(
        await company.post('/customers', {
          external_id: '',
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

    it('takes a name once a company, whatever its case and blanks, and tells who has it', async () => {
      const { id } = await create({ name: 'João  da Silva' })
      for (const name of ['João  da Silva', 'joão da silva', '  JOÃO DA SILVA ', 'Joa\u0303o da Silva']) {
        const reply = await company.post('/customers', { name })
        expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({ field: 'name', conflicting_id: id })
      }
      await create({ name: 'Joao da Silva' })
      const other = await api.company()
      expect((await other.post('/customers', { name: 'João da Silva' })).status).to.equal(201)
    })

    it('takes an external_id once a company, byte by byte', async () => {
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

  describe('documents', () => {
    it('are the bare number that fits the type of person', async () => {
      await create({ name: 'Ana', document: CPF })
      await create({ name: 'Padaria', person_type: 'PJ', document: CNPJ })
      await create({ name: 'Nova', person_type: 'PJ', document: ALPHANUMERIC_CNPJ })
      for (const body of [
        { document: CNPJ },
        { person_type: 'PF', document: ALPHANUMERIC_CNPJ },
        { person_type: 'PJ', document: CPF },
      ]) {
        expectInvalid(await company.post('/customers', { name: 'x', ...body }), ['document'])
      }
    })

    it('are refused with punctuation, wrong check digits or one digit only', async () => {
      for (const document of [
        '529.982.247-25',
        '52998224726',
        '11111111111',
        '5299822472',
        '529982247250',
        ' 52998224725',
        '',
      ]) {
        expectInvalid(await company.post('/customers', { name: 'x', document }), ['document'])
      }
      for (const document of [
        '11.222.333/0001-81',
        '11222333000180',
        '00000000000000',
        '12abc34501de35',
        '12ABC34501DE36',
      ]) {
        expectInvalid(await company.post('/customers', { name: 'x', person_type: 'PJ', document }), ['document'])
      }
      expectInvalid(await company.post('/customers', { name: 'x', document: Number(CPF) }), ['document'])
    })

    it('may be shared by several customers', async () => {
      const [a, b] = [await create({ name: 'Ana', document: CPF }), await create({ name: 'Ana 2', document: CPF })]
      expect(idsIn(await company.get(`/customers?document=${CPF}`))).to.deep.equal([a.id, b.id])
    })

    it('and the type of person cannot be parted by a PATCH', async () => {
      const { id } = await create({ name: 'Ana', document: CPF })
      expectInvalid(await patch(id, { person_type: 'PJ' }), ['person_type'])
      expectInvalid(await patch(id, { document: CNPJ }), ['document'])
      expect((await patch(id, { person_type: 'PJ', document: CNPJ })).body.data).to.include({ document: CNPJ })
      expect((await patch(id, { person_type: 'PF', document: null })).body.data).to.include({ document: null })
    })
  })

  describe('PATCH', () => {
    it('changes what is named and leaves the rest alone', async () => {
      const before = await create(everything)
      const reply = await patch(before.id, { phone: '1133334444', notes: 'x' })
      expect(reply.status).to.equal(200)
      const { updated_at, ...after } = reply.body.data
      const { updated_at: _, ...kept } = before
      expect(after).to.deep.equal({ ...kept, phone: '1133334444', notes: 'x' })
      expect(Date.parse(updated_at)).to.be.at.least(Date.parse(before.updated_at))
      expect((await company.get(`/customers/${before.id}`)).text).to.equal(reply.text)
    })

    it('clears an optional field with null, and refuses null for the others', async () => {
      const { id } = await create(everything)
      const nulls = { external_id: null, document: null, phone: null, email: null, address: null, notes: null }
      expect((await patch(id, nulls)).body.data).to.include(nulls)
      expectInvalid(await patch(id, { name: null, person_type: null }), ['name', 'person_type'])
    })

    it('with {} or the present values answers 200 and records nothing', async () => {
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

    it('cannot take the name or external_id of another, but its own in another spelling', async () => {
      const [a, b] = [await create({ name: 'Ana', external_id: 'a' }), await create({ name: 'Bia', external_id: 'b' })]
      const conflict = (field: string) => ({ field, conflicting_id: a.id })
      expect(expectProblem(await patch(b.id, { name: 'ana' }), 409, 'duplicate_resource')).to.deep.equal(
        conflict('name'),
      )
      expect(expectProblem(await patch(b.id, { external_id: 'a' }), 409, 'duplicate_resource')).to.deep.equal(
        conflict('external_id'),
      )
      expect((await patch(a.id, { name: 'ANA', external_id: 'a' })).body.data.name).to.equal('ANA')
      expect((await company.get(`/customers/${b.id}`)).body.data).to.include({ name: 'Bia', external_id: 'b' })
    })

    it('frees the old name and external_id at once', async () => {
      const { id } = await create({ name: 'Ana', external_id: 'a' })
      await patch(id, { name: 'Outra', external_id: null })
      await create({ name: 'Ana', external_id: 'a' })
    })
  })

  describe('DELETE', () => {
    it('answers 204 without a body; afterwards GET, PATCH and a second DELETE are 404', async () => {
      const { id } = await create({ name: 'Ana' })
      const reply = await remove(id)
      expect(reply.status).to.equal(204)
      expect(reply.text).to.equal('')
      expect(reply.headers.has('content-type')).to.equal(false)
      expectProblem(await company.get(`/customers/${id}`), 404, 'not_found')
      expectProblem(await patch(id, { name: 'Bia' }), 404, 'not_found')
      expectProblem(await remove(id), 404, 'not_found')
      expect(idsIn(await company.get('/customers'))).to.deep.equal([])
    })

    it('frees the name, and keeps the external_id for a revival', async () => {
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

    it('shows in the deleted listing as {id, external_id, deleted_at}', async () => {
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

  describe('PUT by-external', () => {
    it('creates with 201 and then replaces with 200: absent optional fields are cleared', async () => {
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
        document: null,
        phone: null,
        email: null,
        address: null,
        notes: null,
        created_at,
      })
      expect((await company.get(`/customers/${id}`)).text).to.equal(replaced.text)
    })

    it('may be repeated: the same body again answers 200, the same bytes, and records nothing', async () => {
      const created = await put('a', { name: 'Ana', phone: '1133334444' })
      const before = await revision()
      const again = await put('a', { name: 'Ana', phone: '1133334444' })
      expect(again.status).to.equal(200)
      expect(again.text).to.equal(created.text)
      expect(await revision()).to.equal(before)
    })

    it('accepts the same external_id in the body and refuses another, which would rename the record', async () => {
      expect((await put('a', { external_id: 'a', name: 'Ana' })).status).to.equal(201)
      expectInvalid(await put('a', { external_id: 'b', name: 'Ana' }), ['external_id'])
      expectInvalid(await put('c', { external_id: 'b', name: 'Caio' }), ['external_id'])
      expect((await company.get('/customers')).body.data).to.have.length(1)
    })

    it('decodes the external id of the path just once', async () => {
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

    it('refuses a name that another has with 409, on creation and on replacement', async () => {
      const { id } = await create({ name: 'Ana' })
      const conflict = { field: 'name', conflicting_id: id }
      expect(expectProblem(await put('b', { name: 'ANA' }), 409, 'duplicate_resource')).to.deep.equal(conflict)
      expect((await put('b', { name: 'Bia' })).status).to.equal(201)
      expect(expectProblem(await put('b', { name: 'Ana' }), 409, 'duplicate_resource')).to.deep.equal(conflict)
    })

    it('revives a deleted record with 200: same id, fields as sent, and out of the deleted listing', async () => {
      const before = await create({ ...everything, external_id: 'a' })
      await remove(before.id)
      const reply = await put('a', { name: 'Ana' })
      expect(reply.status).to.equal(200)
      expect(reply.body.data).to.include({ id: before.id, name: 'Ana', phone: null, created_at: before.created_at })
      expect((await company.get(`/customers/${before.id}`)).text).to.equal(reply.text)
      expect(idsIn(await company.get('/customers/deleted'))).to.deep.equal([])
      expect(idsIn(await company.get('/customers'))).to.deep.equal([before.id])
    })

    it('revives with 200 also where nothing else changed', async () => {
      const { id } = await create({ name: 'Ana', external_id: 'a' })
      await remove(id)
      expect((await put('a', { name: 'Ana' })).status).to.equal(200)
      expect((await company.get(`/customers/${id}`)).status).to.equal(200)
    })

    it('cannot revive under a name that was taken meanwhile: 409, and it stays deleted', async () => {
      const { id } = await create({ name: 'Ana', external_id: 'a' })
      await remove(id)
      const taker = await create({ name: 'Ana' })
      expect(expectProblem(await put('a', { name: 'Ana' }), 409, 'duplicate_resource')).to.deep.equal({
        field: 'name',
        conflicting_id: taker.id,
      })
      expectProblem(await company.get(`/customers/${id}`), 404, 'not_found')
      expect(idsIn(await company.get('/customers/deleted'))).to.deep.equal([id])
    })
  })

  describe('filters', () => {
    it('the name is a part of a name, in any case, with nothing of a pattern language', async () => {
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

    it('are exact for document and external_id, and all must hold', async () => {
      const a = await create({ name: 'Ana', document: CPF, external_id: 'a' })
      await create({ name: 'Bia', document: CPF, external_id: 'ab' })
      expect(idsIn(await company.get('/customers?external_id=a'))).to.deep.equal([a.id])
      expect(idsIn(await company.get(`/customers?document=${CPF}&name=an`))).to.deep.equal([a.id])
      expect(idsIn(await company.get(`/customers?document=${CPF.slice(1)}`))).to.deep.equal([])
    })
  })
})
