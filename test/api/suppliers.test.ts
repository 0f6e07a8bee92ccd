import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

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

describe('suppliers', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const create = async (body: object): Promise<Json> => {
    const reply = await company.post('/suppliers', body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }
  const put = (externalId: string, body: unknown) =>
    company.call('PUT', `/suppliers/by-external/${encodeURIComponent(externalId)}`, body)
  const patch = (id: number, body: unknown) => company.call('PATCH', `/suppliers/${id}`, body)
  const remove = (id: number) => company.call('DELETE', `/suppliers/${id}`)

  it('POST creates with all fields, with equal bytes in POST, GET and list [PERSON-1]', async () => {
    const created = await company.post('/suppliers', everything)
    expect(created.status).to.equal(201)
    const { id, created_at, updated_at, ...sent } = created.body.data
    expect(sent).to.deep.equal({ ...everything, forgotten_at: null, forgetting_due_on: null, deleted_at: null })
    expect(created_at).to.match(LOCAL_TIME).and.to.equal(updated_at)
    expect((await company.get(`/suppliers/${id}`)).text).to.equal(created.text)
    expect((await company.get('/suppliers')).text).to.include(`{"data":[${recordText(created)}],`)
  })

  it('POST requires a name only, and reports every wrong field [PERSON-1]', async () => {
    expect(await create({ name: 'Horta' })).to.include({ person_type: 'PF', trade_name: null, external_id: null })
    expectInvalid(await company.post('/suppliers', {}), ['name'])
    const wrong = { name: '', trade_name: 7, document: '1', kind: 'x' }
    expectInvalid(await company.post('/suppliers', wrong), ['name', 'trade_name', 'document'], ['kind'])
    expectInvalid(await company.post('/suppliers', { name: 'x', trade_name: 'x'.repeat(121) }), ['trade_name'])
  })

  it('POST refuses name and external_id of another supplier, but not of a customer [PERSON-2]', async () => {
    await company.post('/customers', { name: 'Horta', external_id: 'a' })
    const { id } = await create({ name: 'Horta', external_id: 'a' })
    const named = await company.post('/suppliers', { name: ' horta' })
    expect(expectProblem(named, 409, 'duplicate_resource')).to.deep.equal({
      field: 'name',
      conflicting_id: id,
      suggested_name: 'horta (2)',
    })
    const known = await company.post('/suppliers', { name: 'Outra', external_id: 'a' })
    expect(expectProblem(known, 409, 'duplicate_resource')).to.deep.equal({ field: 'external_id', conflicting_id: id })
  })

  it('PATCH changes the given fields; refuses values of others, unknown fields and missing records', async () => {
    const { id } = await create(everything)
    await create({ name: 'Horta', external_id: 'h' })
    const reply = await patch(id, { trade_name: null, address: { number: '2' } })
    expect(reply.status).to.equal(200)
    expect(reply.body.data).to.deep.include({ trade_name: null, address: { ...everything.address, number: '2' } })
    expect((await company.get(`/suppliers/${id}`)).text).to.equal(reply.text)
    expectProblem(await patch(id, { name: 'HORTA' }), 409, 'duplicate_resource')
    expectProblem(await patch(id, { external_id: 'h' }), 409, 'duplicate_resource')
    expectInvalid(await patch(id, { person_type: 'PF' }), ['person_type'])
    expectInvalid(await patch(id, { fantasia: 'x' }), [], ['fantasia'])
    expectProblem(await patch(999_999, {}), 404, 'not_found')
  })

  it('DELETE responds 204 once, releases the name, and adds the record to the list of deleted ones [LIST-6]', async () => {
    const { id } = await create({ name: 'Horta', external_id: 'h' })
    expect((await remove(id)).status).to.equal(204)
    expectProblem(await remove(id), 404, 'not_found')
    expect((await company.get(`/suppliers/${id}`)).body.data.deleted_at).to.be.a('string')
    expect(idsIn(await company.get('/suppliers'))).to.deep.equal([])
    const [gone] = (await company.get('/suppliers/deleted')).body.data
    expect(gone).to.include({ id, external_id: 'h' })
    expect(gone.deleted_at).to.match(LOCAL_TIME)
    await create({ name: 'Horta' })
    const reply = await company.post('/suppliers', { name: 'Outra', external_id: 'h' })
    const details = { field: 'external_id', conflicting_id: id, deleted: true }
    expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal(details)
  })

  it('PUT by-external creates, replaces and revives [REC-2]', async () => {
    const created = await put('a/1', { name: 'Horta', trade_name: 'H' })
    expect(created.status).to.equal(201)
    const { id } = created.body.data
    const replaced = await put('a/1', { name: 'Horta Nova' })
    expect(replaced.status).to.equal(200)
    expect(replaced.body.data).to.include({ id, name: 'Horta Nova', trade_name: null })
    expect((await put('a/1', { name: 'Horta Nova' })).text).to.equal(replaced.text)
    await remove(id)
    expect((await put('a/1', { name: 'Horta' })).body.data).to.include({ id, name: 'Horta' })
    expect(idsIn(await company.get('/suppliers/deleted'))).to.deep.equal([])
    expectInvalid(await put('a/1', { name: 'Horta', external_id: 'b' }), ['external_id'])
    await create({ name: 'Granja' })
    expectProblem(await put('a/1', { name: 'Granja' }), 409, 'duplicate_resource')
  })

  it('batch upserts each item separately [BATCH-1]', async () => {
    await create({ name: 'Horta' })
    const items = [
      { external_id: 'a', name: 'Moinho', trade_name: 'M' },
      { external_id: 'b', name: 'Horta' },
      { name: 'Sem external_id' },
      { external_id: 'a', name: 'Moinho Novo' },
    ]
    const { status, body } = await company.post('/suppliers/batch', { items })
    expect(status).to.equal(207)
    expect(body.data.map((record: Json) => [record.name, record.trade_name])).to.deep.equal([
      ['Moinho', 'M'],
      ['Moinho Novo', null],
    ])
    expect(body.data[0].id).to.equal(body.data[1].id)
    expect(body.meta).to.include({ succeeded: 2, failed: 2 })
    expect(body.meta.errors.map(({ index, code }: Json) => [index, code])).to.deep.equal([
      [1, 'duplicate_resource'],
      [2, 'validation_failed'],
    ])
    expect((await company.post('/suppliers/batch', { items: [items[0]] })).status).to.equal(200)
  })

  it('lists by substrings of names, by document and external_id, and by time of change', async () => {
    const moinho = await create({ name: 'Moinho Azul', document: '52998224725' })
    const horta = await create({ name: 'Horta', external_id: 'h' })
    expect(idsIn(await company.get('/suppliers?name=azul'))).to.deep.equal([moinho.id])
    expect(idsIn(await company.get('/suppliers?document=52998224725'))).to.deep.equal([moinho.id])
    expect(idsIn(await company.get('/suppliers?external_id=h'))).to.deep.equal([horta.id])
    await patch(moinho.id, { notes: 'x' })
    const since = encodeURIComponent(moinho.created_at)
    expect(idsIn(await company.get(`/suppliers?updated_since=${since}`))).to.deep.equal([horta.id, moinho.id])
    expectInvalid(await company.get('/suppliers?trade_name=x'), [], ['trade_name'])
  })

  it("another company's supplier looks like a missing one", async () => {
    const { id } = await create({ name: 'Horta', external_id: 'h' })
    const other = await api.company()
    const withoutRequestId = ({ text }: { text: string }) => text.replace(/"request_id":"[^"]+"/, '')
    for (const [method, body] of [['GET'], ['PATCH', {}], ['DELETE']] as const) {
      const [foreign, missing] = await Promise.all(
        [id, 999_999_999].map((each) => other.call(method, `/suppliers/${each}`, body)),
      )
      expect(foreign?.status).to.equal(404)
      expect(withoutRequestId(foreign!)).to.equal(withoutRequestId(missing!))
    }
    expect(idsIn(await other.get('/suppliers'))).to.deep.equal([])
    expect((await other.call('PUT', '/suppliers/by-external/h', { name: 'Horta' })).status).to.equal(201)
  })

  it('requires the scopes of suppliers [KEY-9]', async () => {
    const calls = [
      ['GET', '/suppliers', 'read'],
      ['GET', '/suppliers/1', 'read'],
      ['GET', '/suppliers/deleted', 'read'],
      ['POST', '/suppliers', 'write'],
      ['POST', '/suppliers/batch', 'write'],
      ['PUT', '/suppliers/by-external/a', 'write'],
      ['PATCH', '/suppliers/1', 'write'],
      ['DELETE', '/suppliers/1', 'write'],
    ] as const
    const reader = await company.newKey(['suppliers:read', 'customers:read', 'customers:write'])
    const writer = await company.newKey(['suppliers:write', 'customers:read', 'customers:write'])
    for (const [method, path, right] of calls) {
      const { key } = right === 'read' ? writer : reader
      const reply = await company.call(method, path, undefined, { authorization: `Bearer ${key}` })
      const details = expectProblem(reply, 403, 'insufficient_scope')
      expect(details).to.deep.equal({ missing_scope: `suppliers:${right}` })
    }
  })
})
