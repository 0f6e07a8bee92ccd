import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { Json } from '../support/api.ts'
import { panelUser } from '../support/panel.ts'
import { useCompany } from '../support/use-api.ts'

const GIVEN = { 'erp.id': '00471', canal: ' loja ' }
const due = { description: 'Fiado', amount: '10.00', due_date: '2030-01-10' }

/** Kinds of records with metadata that can be changed: their path and a body. */
const KINDS = [
  ['/customers', { name: 'Ana' }],
  ['/suppliers', { name: 'Moinho' }],
  ['/catalog/items', { name: 'Café', price: '1.00' }],
  ['/finance/receivables', due],
  ['/finance/payables', due],
] as const

describe('metadata of records', () => {
  const { company, api } = useCompany()
  let count = 0
  /** Names of persons are unique. */
  const whole = (body: object) => ('name' in body ? { ...body, name: `${body.name} ${++count}` } : body)

  /** As they are stored. */
  const events = async (): Promise<Json[]> => {
    const stored: Json[] = []
    for await (const event of company.core.store.read(`company-${company.id}`, 0)) stored.push(event)
    return stored
  }

  for (const [path, body] of KINDS)
    describe(`of ${path}`, () => {
      it('are kept, merged by PATCH and listed', async () => {
        const made = await company.post(path, { ...whole(body), metadata: { ...GIVEN, vazio: '', nulo: null } })
        expect(made.status, made.text).to.equal(201)
        expect(made.body.data.metadata).to.deep.equal(GIVEN)
        const at = `${path}/${made.body.data.id}`
        const patch = async (metadata: unknown) => (await company.call('PATCH', at, { metadata })).body.data.metadata
        expect(await patch({ canal: '', novo: 'x' })).to.deep.equal({ 'erp.id': '00471', novo: 'x' })
        expect(await patch({ novo: null })).to.deep.equal({ 'erp.id': '00471' })
        const listed = (await company.get(path)).body.data.find(({ id }: Json) => id === made.body.data.id)
        expect(listed.metadata).to.deep.equal({ 'erp.id': '00471' })
        expect(await patch(null)).to.equal(null)
        expect((await company.get(at)).body.data.metadata).to.equal(null)
      })

      it('stay as they are in a PUT without them, and are replaced by one with them', async () => {
        const named = whole(body)
        const put = async (metadata?: unknown) =>
          (await company.call('PUT', `${path}/by-external/m-1`, { ...named, metadata })).body.data.metadata
        expect(await put(GIVEN)).to.deep.equal(GIVEN)
        expect(await put()).to.deep.equal(GIVEN)
        expect(await put({ b: '2' })).to.deep.equal({ b: '2' })
        expect(await put(null)).to.equal(null)
      })

      it('are refused with wrong keys or values, without changes', async () => {
        for (const metadata of ['x', ['x'], { a: 1 }, { 'a b': 'x' }, { a: 'x'.repeat(501) }])
          expect((await company.post(path, { ...whole(body), metadata })).status).to.equal(422)
        const many = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`k${n}`, 'x']))
        const { id } = (await company.post(path, { ...whole(body), metadata: many })).body.data
        expectInvalid(await company.call('PATCH', `${path}/${id}`, { metadata: { more: 'x' } }), ['metadata'])
        expectProblem(await company.call('PATCH', `${path}/${id}`, { metadata: 'x' }), 422, 'validation_failed')
      })
    })

  it('of sales and orders are kept as they were sent', async () => {
    const cash = await company.paymentType('cash')
    const items = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    const sale = { items, payments: [{ payment_type_id: cash, amount: '10.00' }], metadata: GIVEN }
    const made = await company.post('/sales', sale)
    expect(made.body.data.metadata, made.text).to.deep.equal(GIVEN)
    expect((await company.post('/sales', { ...sale, metadata: {} })).body.data.metadata).to.equal(null)
    expect((await company.get(`/sales/${made.body.data.id}`)).body.data.metadata).to.deep.equal(GIVEN)
  })

  it('are sealed for the person of the record, and follow an account to another one [REC-863]', async () => {
    const person = async (name: string) =>
      (await company.post('/customers', { ...whole({ name }), metadata: GIVEN })).body.data.id
    const [ana, bia] = [await person('Ana'), await person('Bia')]
    const made = await company.post('/finance/receivables', { ...due, customer_id: ana, metadata: GIVEN })
    const at = `/finance/receivables/${made.body.data.id}`
    const moved = await company.call('PATCH', at, { customer_id: bia })
    expect(moved.body.data.metadata).to.deep.equal(GIVEN)
    await company.call('PATCH', at, { metadata: { canal: 'site' } })
    for (const { type, data } of await events()) {
      if (!/^(Customer|Receivable)/.test(type)) continue
      const metadata = data.metadata ?? data.changes?.metadata
      if (metadata) expect(metadata, type).to.have.all.keys('sealed')
    }
    const forget = (id: number) =>
      company.post(`/customers/${id}/forget`, { ground: 'unlawful', reason: 'x', queue: true })
    await forget(ana)
    expect((await company.get(at)).body.data.metadata).to.deep.equal({ ...GIVEN, canal: 'site' })
    expect((await company.get(`/customers/${ana}`)).body.data.metadata).to.equal(null)
  })

  it('without a person are in clear in the ledger, and stand in files as JSON [REC-863]', async () => {
    await company.post('/catalog/items', { name: 'Café', price: '1.00', metadata: GIVEN })
    expect((await events()).at(-1)?.data.metadata).to.deep.equal(GIVEN)
    const owner = await panelUser(api, company)
    const { html } = await owner.get('/painel/catalogo.csv')
    expect(html).to.include('Metadados').and.to.include('"{""erp.id"":""00471"",""canal"":"" loja ""}"')
  })
})
