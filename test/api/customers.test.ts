import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, Reply, TestApi, TestCompany } from '../support/api.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { useApi, useCompanyPerTest } from '../support/use-api.ts'

/** Fictitious, with valid check digits. */
const CPF = '52998224725'
const CNPJ = '11222333000181'
/** Example of the tax authority for the format of 2026. */
const ALPHANUMERIC_CNPJ = '12ABC34501DE35'

/** Customer with all fields. */
const everything = {
  external_id: 'erp-77',
  name: 'Maria da Silva',
  person_type: 'PF',
  document: CPF,
  phone: '5511987654321',
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
  state_registration: '110042490114',
  ie_indicator: '1',
}

interface CustomerCalls {
  readonly api: TestApi
  readonly company: TestCompany
  /** Creates a customer; fails if it is refused. */
  create(body: object): Promise<Json>
  put(externalId: string, body: unknown): Promise<Reply>
  patch(id: number, body: unknown): Promise<Reply>
  remove(id: number): Promise<Reply>
  /** Current revision of the ledger. */
  revision(): Promise<string | null>
}

/** Customers of a company, new in each test. */
function useCustomers(): CustomerCalls {
  const { api, company } = useCompanyPerTest()
  return {
    api,
    company,
    async create(body) {
      const reply = await company.post('/customers', body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
    put: (externalId, body) => company.call('PUT', `/customers/by-external/${encodeURIComponent(externalId)}`, body),
    patch: (id, body) => company.call('PATCH', `/customers/${id}`, body),
    remove: (id) => company.call('DELETE', `/customers/${id}`),
    revision: async () => (await company.get('/me')).headers.get('x-ledger-revision'),
  }
}

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

    it('refuses a name taken but for case and blanks, with the id of its holder [REC-1]', async () => {
      const { id } = await create({ name: 'João  da Silva' })
      for (const name of ['João  da Silva', 'joão da silva', '  JOÃO DA SILVA ', 'Joa\u0303o da Silva']) {
        const reply = await company.post('/customers', { name })
        expect(expectProblem(reply, 409, 'duplicate_resource')).to.include({ field: 'name', conflicting_id: id })
      }
      await create({ name: 'Joao da Silva' })
      const other = await api.company()
      expect((await other.post('/customers', { name: 'João da Silva' })).status).to.equal(201)
    })
  })
})

describe('changes of customers', () => {
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
})

describe('customers: documents', () => {
  const { company, create } = useCustomers()

  it('determine the person type, and are stored bare [PERSON-3]', async () => {
    await create({ name: 'Ana', document: CPF })
    const written = await create({ name: 'Padaria', document: '11.222.333/0001-81' })
    expect(written).to.include({ person_type: 'PJ', document: CNPJ })
    expect(idsIn(await company.get('/customers?document=11.222.333/0001-81'))).to.deep.equal([written.id])
    expect((await create({ name: 'Nova 2', document: '12.abc.345/01de-35' })).document).to.equal(ALPHANUMERIC_CNPJ)
    await create({ name: 'Nova', person_type: 'PJ', document: ALPHANUMERIC_CNPJ })
    for (const body of [
      { person_type: 'PF', document: ALPHANUMERIC_CNPJ },
      { person_type: 'PJ', document: CPF },
    ]) {
      expectInvalid(await company.post('/customers', { name: 'x', ...body }), ['document'])
    }
  })

  it('may be shared by several customers [PERSON-3]', async () => {
    const [a, b] = [await create({ name: 'Ana', document: CPF }), await create({ name: 'Ana 2', document: CPF })]
    expect(idsIn(await company.get(`/customers?document=${CPF}`))).to.deep.equal([a.id, b.id])
  })
})

describe('deleted persons with open accounts', () => {
  const api = useApi()

  for (const [people, accounts, party, pages] of [
    ['customers', 'receivables', 'customer', ['/painel/clientes', '/painel/contas-a-receber']],
    ['suppliers', 'payables', 'supplier', ['/painel/fornecedores', '/painel/contas-a-pagar']],
  ] as const) {
    const owing = async () => {
      const company = await api.company()
      const { id } = (await company.post(`/${people}`, { name: 'Dona Benta', phone: '11987654321' })).body.data
      const account = { description: 'Fiado', amount: '37.50', due_date: '2030-01-10', [`${party}_id`]: id }
      const owed = (await company.post(`/finance/${accounts}`, { ...account, external_id: 'c-1' })).body.data
      return { company, id, account, owed }
    }

    it(`are deleted with force only (${people}) [PERSON-10]`, async () => {
      const { company, id, owed } = await owing()
      const refused = await company.call('DELETE', `/${people}/${id}`)
      expect([refused.status, refused.body.error.code]).to.deep.equal([409, 'open_balance'])
      expect(refused.body.error.details).to.deep.equal({ balance: '37.50' })
      expect((await company.call('DELETE', `/${people}/${id}?force=talvez`)).status).to.equal(422)
      expect((await company.call('DELETE', `/${people}/${id}?force=true`)).status).to.equal(204)
      const kept = (await company.get(`/${people}/${id}`)).body.data
      expect([kept.name, kept.phone]).to.deep.equal(['Dona Benta', null])
      await company.post(
        `/finance/${accounts}/${owed.id}/settle`,
        { payment_method: 'cash' },
        { 'idempotency-key': `quita-${accounts}` },
      )
      expect((await company.get(`/${people}/${id}`)).body.data.name).to.equal(null)
    })

    it(`keep their accounts: PUT by-external may change them (${accounts}) [PERSON-10]`, async () => {
      const { company, id, account } = await owing()
      await company.call('DELETE', `/${people}/${id}?force=true`)
      const path = `/finance/${accounts}/by-external/c-1`
      const changed = await company.call('PUT', path, { ...account, amount: '40.00' })
      expect([changed.status, changed.body.data[`${party}_name`]]).to.deep.equal([200, 'Dona Benta'])
      const other = await company.call('PUT', `/finance/${accounts}/by-external/c-2`, account)
      expect(other.status).to.equal(422)
    })

    it(`stay among the debtors, by name, with a page and in the search (${people}) [PANEL-800]`, async () => {
      const { company, id, owed } = await owing()
      const user = await panelUser(api, company)
      const [personPath, accountPath] = pages
      const removal = await user.get(`${personPath}/${id}/excluir`)
      expect(textIn(removal.html)).to.include('1 conta em aberto: R$ 37,50')
      expect((await user.submit(`${personPath}/${id}/excluir`, {})).status).to.equal(303)
      const debtors = (await user.get(`${accountPath}/em-aberto`)).html
      expect(debtors).to.include(`href="${personPath}/${id}"`)
      expect(textIn(debtors)).to.include('Dona Benta (excluído)')
      expect(textIn((await user.get('/painel/busca?q=benta')).html)).to.include('Dona Benta')
      const shown = await user.get(`${personPath}/${id}`)
      expect([shown.status, textIn(shown.html).includes('R$ 37,50')]).to.deep.equal([200, true])
      expect(shown.html).to.include(`${personPath}/${id}/liquidar`).and.not.to.include(`${personPath}/${id}/editar`)
      expect((await user.get(`${personPath}/${id}/liquidar`)).status).to.equal(200)
      expect((await user.get(`${accountPath}/${owed.id}`)).html).to.include(`href="${personPath}/${id}"`)
    })
  }
})

describe('suppliers', () => {
  const everything = {
    external_id: 'FOR-1',
    name: 'Distribuidora Bom Grão Ltda',
    person_type: 'PJ',
    document: '11222333000181',
    phone: '1133334444',
    email: 'vendas@bomgrao.example',
    address: {
      zip: '01310100',
      street: 'Avenida Paulista',
      number: '1000',
      complement: null,
      district: 'Bela Vista',
      city: 'São Paulo',
      state: 'SP',
    },
    notes: 'Entrega às terças.',
    trade_name: 'Bom Grão',
  }

  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  it('POST creates with all fields, with equal bytes in POST, GET and list', async () => {
    const created = await company.post('/suppliers', everything)
    expect(created.status).to.equal(201)
    const { id, created_at, updated_at, ...sent } = created.body.data
    expect(sent).to.deep.equal({
      ...everything,
      metadata: null,
      forgotten_at: null,
      forgetting_due_on: null,
      deleted_at: null,
    })
    expect(created_at).to.match(LOCAL_TIME).and.to.equal(updated_at)
    expect((await company.get(`/suppliers/${id}`)).text).to.equal(created.text)
    expect((await company.get('/suppliers')).text).to.include(`{"data":[${recordText(created)}],`)
  })
})
