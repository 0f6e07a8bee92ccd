import { expect } from 'chai'
import { useCaller } from './caller.ts'

describe('errors of API v1: headers', () => {
  const { api, company } = useCaller()

  it('every response has an id, which callers cannot choose [HTTP-1]', async () => {
    const headers = { 'x-request-id': 'mine' }
    const replies = [
      await company.call('GET', '/me', undefined, headers),
      await company.call('GET', '/nothing', undefined, headers),
      await company.call('POST', '/customers', { name: 'Com id' }, headers),
      await company.call('POST', '/customers', '{', headers),
    ]
    const ids = replies.map((reply) => reply.headers.get('x-request-id'))
    for (const id of ids) expect(id).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).to.equal(4)
  })

  it("an event carries the id of its request, and the response the event's revision [HTTP-3, LEDGER-3]", async () => {
    const reply = await company.post('/customers', { name: 'Rastreada' })
    const revision = Number(reply.headers.get('x-ledger-revision'))
    const events = []
    for await (const event of api.core.store.read(`company-${company.id}`, revision)) events.push(event)
    expect(events).to.have.length(1)
    expect(events[0]).to.include({ request_id: reply.headers.get('x-request-id'), origin: 'api' })
    expect((await company.get('/customers')).headers.get('x-ledger-revision')).to.equal(String(revision))
  })

  it('X-Ledger-Revision changes with recorded events only [HTTP-3]', async () => {
    const revision = async (method: string, path: string, body?: unknown) =>
      Number((await company.call(method, path, body)).headers.get('x-ledger-revision'))
    const before = await revision('GET', '/me')
    expect(await revision('POST', '/customers', {})).to.equal(before)
    expect(await revision('GET', '/nothing')).to.equal(before)
    expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
    expect(await revision('PUT', '/customers/by-external/rev', { name: 'Revisão' })).to.equal(before + 1)
    expect(await revision('GET', '/sales')).to.equal(before + 1)
  })

  it('X-Min-Ledger-Revision accepts revisions only; without a replica it changes nothing [READ-921]', async () => {
    const least = (value: string, path = '/customers?limit=1') =>
      company.call('GET', path, undefined, { 'x-min-ledger-revision': value })
    for (const value of ['', '-1', '1.5', '07', 'abc', '1, 2', '1'.repeat(16)]) {
      const { status, body } = await least(value)
      expect([status, body.error.code], value).to.deep.equal([422, 'validation_failed'])
      expect(body.error.details.fields).to.have.all.keys('X-Min-Ledger-Revision')
    }
    expect((await least('x', '/me')).status, 'also where nothing is read from a standby').to.equal(422)
    const reply = await company.post('/customers', { name: 'Nova' })
    const { id } = reply.body.data
    for (const value of ['0', reply.headers.get('x-ledger-revision') ?? '', '999999999999999']) {
      const { status, headers } = await least(value, `/customers/${id}`)
      expect([status, headers.get('x-ledger-revision')]).to.deep.equal([200, reply.headers.get('x-ledger-revision')])
    }
  })

  it('HEAD responds like GET, without the body [HTTP-10]', async () => {
    const get = await company.get('/customers?limit=1')
    const head = await company.call('HEAD', '/customers?limit=1')
    expect(head.status).to.equal(200)
    expect(head.text).to.equal('')
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
  })
})
