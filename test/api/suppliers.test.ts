import { expect } from 'chai'
import { expectInvalid, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
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
  const patch = (id: number, body: unknown) => company.call('PATCH', `/suppliers/${id}`, body)

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
})
