import { expect } from 'chai'
import { MASKED } from '#domain/person-values.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { TestCompany } from '../support/api.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

const NOBODY = '01a00000-0000-7000-8000-000000000000'

describe('request log', () => {
  const api = useApi(OWN_DATABASE)
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const logged = async (query = '') => (await company.get(`/requests${query}`)).body.data as Record<string, unknown>[]
  const idOf = ({ headers }: { readonly headers: Headers }) => headers.get('x-request-id') ?? ''
  const whole = async (id: string) => (await company.get(`/requests/${id}`)).body.data

  it('lists requests with key, path, status, code and replay, newest first [KIT-50]', async () => {
    const headers = { 'Idempotency-Key': 'um' }
    const first = await company.call('POST', '/customers', { name: 'Ana Prado' }, headers)
    const again = await company.call('POST', '/customers', { name: 'Ana Prado' }, headers)
    const refused = await company.post('/customers', { nome: 'Ana Prado' })
    const missing = await company.get('/sales/999?x=1')
    const calls = await logged()
    expect(calls.map(({ request_id }) => request_id)).to.deep.equal([missing, refused, again, first].map(idOf))
    const me = (await company.get('/me')).body.data
    const shared = { api_key_id: me.key.id, method: 'POST', path: '/customers', query: null }
    expect(calls[3]).to.deep.include({ ...shared, status: 201, code: null, replayed: false })
    expect(calls[2]).to.deep.include({ ...shared, status: 201, code: null, replayed: true })
    expect(calls[1]).to.deep.include({ ...shared, status: 422, code: 'validation_failed', replayed: false })
    expect(calls[0]).to.deep.include({ method: 'GET', path: '/sales/999', query: `x=${MASKED}`, status: 422 })
    for (const { at, duration_ms } of calls) {
      expect(Date.parse(String(at))).to.be.within(Date.now() - 60_000, Date.now() + 1_000)
      expect(duration_ms).to.be.a('number')
    }
  })

  it('stores body and reason of refused requests without personal data [KIT-51, KIT-54]', async () => {
    const sent = {
      name: 'Bia Souza',
      document: '529.982.247-25',
      email: 'bia@example.com',
      limite: 'Bia',
      person_type: 'XX',
    }
    const refused = await company.post('/customers', sent)
    const { body, details, code } = await whole(idOf(refused))
    expect(body).to.deep.equal({
      name: MASKED,
      document: MASKED,
      email: MASKED,
      limite: MASKED,
      person_type: 'XX',
    })
    expect(code).to.equal('validation_failed')
    expect(details.unknown_fields).to.deep.equal(['limite'])
    expect(Object.keys(details.fields)).to.include('person_type')
    const accepted = await company.post('/customers', { name: 'Bia Souza' })
    expect(await whole(idOf(accepted))).to.deep.include({ body: null, details: null })
    const broken = await fetch(`${api.url}/api/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' },
      body: '{"name":',
    })
    expect(await whole(idOf(broken))).to.deep.include({ code: 'malformed_json', body: null })
    const { rows } = await api.core.pool.query<{ text: string }>('select t::text as text from ops.request_log t')
    for (const { text } of rows) expect(text).not.to.match(/\bbia\b|souza|529\.?982\.?247/i)
  })

  it('is filtered by key, method, status, class, code, path and time, in pages [KIT-50]', async () => {
    await company.get('/me')
    await company.get('/sales')
    await company.get('/sales/1')
    await company.get('/salesmen')
    await company.post('/customers', {})
    const paths = async (query: string) => (await logged(query)).map(({ path }) => path)
    expect(await paths('?path=/sales')).to.deep.equal(['/sales/1', '/sales'])
    expect(await paths('?status=4xx&method=GET')).to.deep.equal(['/salesmen', '/sales/1'])
    expect(await paths('?status=422')).to.deep.equal(['/customers'])
    expect(await paths('?code=not_found&path=/sales')).to.deep.equal(['/sales/1'])
    const other = await company.newKey(['sales:read'])
    await fetch(`${api.url}/api/v1/me`, { headers: { authorization: `Bearer ${other.key}` } })
    expect(await paths(`?api_key_id=${other.id}`)).to.deep.equal(['/me'])
    const [newest] = await logged('?path=/customers')
    const at = encodeURIComponent(String(newest!.at))
    expect(await paths(`?path=/customers&since=${at}`)).to.deep.equal(['/customers'])
    expect(await paths(`?path=/customers&until=${at}`)).to.deep.equal([])
    const page = (await company.get('/requests?limit=2&path=/sales&status=4xx')).body
    expect(page.meta).to.include({ has_more: false, next_cursor: null })
    const { next_cursor } = (await company.get('/requests?limit=1&path=/sales')).body.meta
    expect(await paths(`?limit=1&path=/sales&cursor=${next_cursor}`)).to.deep.equal(['/sales'])
    expectInvalid(await company.get('/requests?status=9xx'), ['status'])
    expectInvalid(await company.get('/requests?since=ontem'), ['since'])
    expectInvalid(await company.get('/requests?path=/%00&code=%00'), ['path', 'code'])
  })

  it('requires the scope of the ledger, for the own company only [KIT-51]', async () => {
    const id = idOf(await company.post('/customers', {}))
    const other = await api.company()
    expectProblem(await other.get(`/requests/${id}`), 404, 'not_found')
    const theirs = (await other.get('/requests')).body.data as { path: string }[]
    expect(theirs.map(({ path }) => path)).to.deep.equal([`/requests/${id}`])
    expectProblem(await company.get(`/requests/${NOBODY}`), 404, 'not_found')
    expectProblem(await company.get('/requests/1'), 404, 'not_found')
    const { key } = await company.newKey(['customers:write', 'customers:read'])
    const refused = await fetch(`${api.url}/api/v1/requests`, { headers: { authorization: `Bearer ${key}` } })
    expect(refused.status).to.equal(403)
    const [last] = await logged('?status=403')
    expect(last).to.deep.include({ path: '/requests', code: 'insufficient_scope' })
  })

  it('stores nothing of unauthenticated clients [KIT-50]', async () => {
    const count = async () => (await api.core.pool.query('select 1 from ops.request_log')).rowCount
    await logged()
    const before = await count()
    const wrong = await fetch(`${api.url}/api/v1/sales`, { headers: { authorization: 'Bearer tb_live_x' } })
    expect(wrong.status).to.equal(401)
    await fetch(`${api.url}/api/v1/sales?token=${company.key}`)
    await logged()
    // The reading request has been added since.
    expect(await count()).to.equal((before ?? 0) + 1)
  })
})
