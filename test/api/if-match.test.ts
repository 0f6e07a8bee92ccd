import { expect } from 'chai'
import { expectProblem } from '../support/answers.ts'
import type { Json, Reply } from '../support/api.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

/** Access key of a fiscal document. */
const KEY = '35260111222333000181650010000012341000012345'

/** Resources with a body that creates a record, and changes of it. */
const RESOURCES = [
  ['/customers', { name: 'Ana' }, { notes: 'x' }],
  ['/suppliers', { name: 'Bom Grão' }, { notes: 'x' }],
  ['/catalog/items', { name: 'Café', price: '10.00' }, { price: '11.00' }],
  ['/catalog/categories', { name: 'Bebidas' }, { name: 'Sucos' }],
  ['/finance/receivables', { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }, { amount: '11.00' }],
  ['/finance/payables', { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }, { amount: '11.00' }],
  ['/webhooks', { url: 'https://erp.example/x', events: ['basic'] }, { description: 'ERP' }],
] as const

describe('If-None-Match', () => {
  const { company } = useCompanyPerTest()

  for (const [path, body, changes] of RESOURCES.filter(([each]) => each !== '/webhooks')) {
    it(`${path}: with * lets PUT by external id create only, and answers 412 otherwise [HTTP-843]`, async () => {
      const byExternal = `${path}/by-external/x`
      const put = (sent: object, none: string, headers = {}) =>
        company.call('PUT', byExternal, sent, { 'if-none-match': none, ...headers })
      const created = await put(body, '*')
      expect(created.status, created.text).to.equal(201)
      const etag = created.headers.get('etag') ?? ''
      const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')
      const before = await revision()
      for (const none of ['*', etag, `"y", ${etag}`])
        expectProblem(await put({ ...body, ...changes }, none), 412, 'precondition_failed')
      expectProblem(await put(body, '"y"', { 'if-match': '"z"' }), 412, 'precondition_failed')
      expect(await revision()).to.equal(before)
      expect((await put({ ...body, ...changes }, '"y"')).status).to.equal(200)
      await company.call('DELETE', `${path}/${created.body.data.id}`)
      expect((await put(body, '*')).status).to.be.oneOf([200, 201])
    })
  }
})

describe('If-Match', () => {
  const { company } = useCompanyPerTest()

  const etagOf = async (path: string): Promise<string> => (await company.get(path)).headers.get('etag') as string
  const call = (method: string, path: string, body: object | undefined, etag: string): Promise<Reply> =>
    company.call(method, path, body, { 'if-match': etag })
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  for (const [path, body, changes] of RESOURCES) {
    it(`${path}: admits a change with the present ETag, and answers 412 with an older one [HTTP-45]`, async () => {
      const { id } = (await company.post(path, body)).body.data
      const one = `${path}/${id}`
      const first = await etagOf(one)
      const changed = await call('PATCH', one, changes, first)
      expect(changed.status, changed.text).to.equal(200)
      const second = await etagOf(one)
      expect(second).not.to.equal(first)
      expect(changed.headers.get('etag'), 'ETag of the answer').to.equal(second)
      const before = await revision()
      for (const method of ['PATCH', 'DELETE'])
        expectProblem(
          await call(method, one, method === 'PATCH' ? changes : undefined, first),
          412,
          'precondition_failed',
        )
      expect(await revision()).to.equal(before)
      expect((await call('DELETE', one, undefined, second)).status).to.equal(204)
      expectProblem(await call('PATCH', one, changes, second), 404, 'not_found')
    })
  }

  for (const [path, body, changes] of RESOURCES.filter(([each]) => each !== '/webhooks')) {
    it(`${path}: holds for PUT by external id, and forbids to create [HTTP-45]`, async () => {
      const byExternal = `${path}/by-external/x`
      for (const etag of ['*', '"x"'])
        expectProblem(await call('PUT', byExternal, body, etag), 412, 'precondition_failed')
      const { data } = (await company.call('PUT', byExternal, body)).body
      const etag = await etagOf(byExternal)
      expect(etag).to.equal(await etagOf(`${path}/${data.id}`))
      expect((await call('PUT', byExternal, { ...body, ...changes }, etag)).status).to.equal(200)
      expectProblem(await call('PUT', byExternal, body, etag), 412, 'precondition_failed')
    })
  }

  it('accepts lists, strong forms and `*`, and never matches what is no ETag [HTTP-45]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const path = `/customers/${id}`
    let notes = 0
    for (const write of [
      (tag: string) => tag,
      (tag: string) => tag.slice(2),
      (tag: string) => `"a", ${tag}`,
      () => '*',
    ])
      expect((await call('PATCH', path, { notes: `${++notes}` }, write(await etagOf(path)))).status).to.equal(200)
    for (const etag of ['', '""', 'x', 'W/""', await etagOf('/customers')])
      expectProblem(await call('PATCH', path, { notes: 'y' }, etag), 412, 'precondition_failed')
  })

  it('guards the fiscal document of a sale by the ETag of the sale [HTTP-45]', async () => {
    const payment_type_id = await company.paymentType('cash')
    const sale = {
      items: [{ description: 'Café', quantity: '1', unit_price: '5.00' }],
      payments: [{ payment_type_id, amount: '5.00' }],
    }
    const { id } = (await company.post('/sales', sale)).body.data
    const etag = await etagOf(`/sales/${id}`)
    const document = { model: '65', series: '1', number: '1234', access_key: KEY, status: 'contingency' }
    expect((await call('PUT', `/sales/${id}/fiscal-document`, document, etag)).status).to.equal(200)
    const at = '2026-11-21T08:17:20-03:00'
    const authorized = { ...document, status: 'authorized', protocol: '135260000012345', authorized_at: at }
    expectProblem(await call('PUT', `/sales/${id}/fiscal-document`, authorized, etag), 412, 'precondition_failed')
  })

  it('admits one of many writers that have read the same state [HTTP-45]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const path = `/customers/${id}`
    const etag = await etagOf(path)
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, n) => call('PATCH', path, { notes: `escrita ${n}` }, etag)),
    )
    const won = replies.filter(({ status }) => status === 200)
    expect(won).to.have.length(1)
    for (const reply of replies) if (reply !== won[0]) expectProblem(reply, 412, 'precondition_failed')
    expect((await company.get(path)).body.data).to.deep.equal((won[0] as { body: Json }).body.data)
  })

  it('does not hold for the repetition of a request under its Idempotency-Key [IDEM-2]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const headers = { 'if-match': await etagOf(`/customers/${id}`), 'idempotency-key': 'k' }
    const change = () => company.call('PATCH', `/customers/${id}`, { notes: 'x' }, headers)
    const [first, again] = [await change(), await change()]
    expect([first.status, again.status, again.text]).to.deep.equal([200, 200, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
  })
})
