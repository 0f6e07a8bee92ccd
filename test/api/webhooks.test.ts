import { expect } from 'chai'
import { MAX_WEBHOOKS } from '#commands/webhook-commands.ts'
import { expectInvalid, expectProblem, idsIn } from '../support/answers.ts'
import { type Json, startApi, type TestCompany } from '../support/api.ts'
import { openedRows } from '../support/master-key.ts'
import { useApi } from '../support/use-api.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const address = { url: 'https://erp.example/eventos', events: ['sale.completed'], description: 'ERP' }

/** Of one endpoint. */
const ROUTES = [
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/enable'],
  ['POST', '/disable'],
  ['POST', '/rotate-secret'],
  ['POST', '/test'],
  ['POST', '/replay'],
  ['GET', '/deliveries'],
] as const

describe('webhook endpoints', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  async function register(fields: object = {}): Promise<Json> {
    const reply = await company.post('/webhooks', { ...address, ...fields })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  it('are registered with a secret that is shown once [HOOK-1]', async () => {
    const { secret, ...record } = await register()
    expect(secret).to.match(SECRET)
    expect(record).to.include({ ...address, events: record.events, status: 'active', last_success_at: null })
    expect(record.events).to.deep.equal(['sale.completed'])
    const read = await company.get(`/webhooks/${record.id}`)
    expect(read.body.data).to.deep.equal(record)
    const listed = await company.get('/webhooks')
    expect(listed.body.data).to.deep.equal([record])
  })

  it('keep the secret out of stored responses and out of the ledger [HOOK-1]', async () => {
    const headers = { 'idempotency-key': 'um' }
    const first = await company.post('/webhooks', address, headers)
    const second = await company.post('/webhooks', address, headers)
    expect(second.headers.get('idempotent-replayed')).to.equal('true')
    expect(second.body.data).to.not.have.property('secret')
    expect(second.body.data.id).to.equal(first.body.data.id)
    const rotated = await company.post(
      `/webhooks/${first.body.data.id}/rotate-secret`,
      {},
      { 'idempotency-key': 'dois' },
    )
    expect(rotated.body.data.secret).to.match(SECRET)
    const { rows } = await api.core.pool.query(
      `select 1 from ledger.events where stream = $1 and envelope::text like '%whsec_%'
       union all select 1 from idempotent_answers where company_id = $2 and body like '%whsec_%'`,
      [`company-${company.id}`, company.id],
    )
    expect(rows).to.have.length(0)
  })

  it('must be public unless the operator allows more, also when they are changed [HOOK-3]', async () => {
    const strict = await startApi(api.databaseUrl, { allowPrivateTargets: false })
    try {
      company = await strict.company()
      const { id } = await register()
      const url = 'https://127.0.0.1/x'
      expectInvalid(await company.post('/webhooks', { ...address, url }), ['url'])
      expectInvalid(await company.call('PATCH', `/webhooks/${id}`, { url }), ['url'])
      expect((await company.get('/webhooks')).body.data.map((each: Json) => each.url)).to.deep.equal([address.url])
    } finally {
      await strict.close()
    }
  })

  it('are changed, and missing once they are deleted [HOOK-5]', async () => {
    const { id } = await register()
    const changed = await company.call('PATCH', `/webhooks/${id}`, { events: ['basic'], description: null })
    expect(changed.body.data).to.deep.include({ events: ['basic'], description: null, url: address.url })
    expect((await company.call('DELETE', `/webhooks/${id}`)).status).to.equal(204)
    for (const [method, path] of ROUTES) {
      expectProblem(await company.call(method, `/webhooks/${id}${path}`), 404, 'not_found')
    }
    expect(idsIn(await company.get('/webhooks'))).to.deep.equal([])
  })

  it('show their current health', async () => {
    const { id } = await register()
    const show = async () => (await company.get(`/webhooks/${id}`)).body.data
    await api.core.pool.query(
      `insert into webhook_health (company_id, webhook_id, last_success_at, failing_since, no_response_since)
       values ($1, $2, now() - interval '2 days', now() + interval '1 second', now() + interval '2 seconds')`,
      [company.id, id],
    )
    const silent = await show()
    expect(silent.status).to.equal('no_response')
    expect(silent.failing_since).to.match(/-03:00$/)
    expect((await company.get('/webhooks')).body.data).to.deep.equal([silent])
    await api.core.pool.query(
      `update webhook_health set failing_since = now() - interval '2 days', no_response_since = now() - interval '1 day'
       where company_id = $1 and webhook_id = $2`,
      [company.id, id],
    )
    // From before the endpoint was registered, as after enabling it again.
    expect(await show()).to.include({ status: 'active', failing_since: null })
  })

  it('are active again once enabled, also from no_response [HOOK-5]', async () => {
    const { id } = await register()
    await api.core.pool.query(
      `insert into webhook_health (company_id, webhook_id, failing_since, no_response_since)
       select $1, $2, watched_since, watched_since from webhooks where company_id = $1 and id = $2`,
      [company.id, id],
    )
    expect((await company.get(`/webhooks/${id}`)).body.data.status).to.equal('no_response')
    const enabled = (await company.post(`/webhooks/${id}/enable`)).body.data
    expect(enabled).to.include({ status: 'active', failing_since: null })
    expect((await company.get(`/webhooks/${id}`)).body.data).to.deep.equal(enabled)
    const again = (await company.post(`/webhooks/${id}/enable`)).body.data
    expect(again.updated_at).to.equal(enabled.updated_at)
  })

  it('show until when the old secret is valid, and may be rotated at once meanwhile [HOOK-84]', async () => {
    const { id } = await register()
    const show = async () => (await company.get(`/webhooks/${id}`)).body.data
    const rotate = (overlap_hours: number) => company.post(`/webhooks/${id}/rotate-secret`, { overlap_hours })
    expect((await show()).overlap_ends_at).to.equal(null)
    const until = (await rotate(168)).body.data.overlap_ends_at
    expect(until).to.match(/-03:00$/)
    expect((await show()).overlap_ends_at).to.equal(until)
    expect((await company.get('/webhooks')).body.data[0].overlap_ends_at).to.equal(until)
    expect(expectProblem(await rotate(1), 409, 'rotation_running')).to.deep.equal({ until })
    expect((await rotate(0)).body.data.overlap_ends_at).to.equal(null)
    expect((await show()).overlap_ends_at).to.equal(null)
  })

  it('rotate their secret once under five concurrent requests [HOOK-84]', async () => {
    const { id, secret } = await register()
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => company.post(`/webhooks/${id}/rotate-secret`, { overlap_hours: 24 })),
    )
    const [rotated, ...others] = [...replies].sort((one, other) => one.status - other.status)
    expect(rotated?.status).to.equal(200)
    for (const reply of others) expectProblem(reply, 409, 'rotation_running')
    const rows = await openedRows(api.core.pool, 'webhook_secrets')
    const stored = rows.find(({ company_id, webhook_id }) => company_id === company.id && webhook_id === id)
    expect(stored?.secrets).to.deep.equal({ secret, next_secret: rotated?.body.data.secret })
  })

  it('get the largest sale within the documented bound of a body [HOOK-85]', async () => {
    const cash = await company.paymentType('cash')
    const items = Array.from({ length: 500 }, () => ({
      description: '😀'.repeat(200),
      quantity: '1',
      unit_price: '1.00',
    }))
    const sale = { external_id: '"'.repeat(100), items }
    const sold = await company.post('/sales', { ...sale, payments: [{ payment_type_id: cash, amount: '500.00' }] })
    expect(sold.status, sold.text.slice(0, 500)).to.equal(201)
    expect(Buffer.byteLength(sold.text)).to.be.within(400_000, 5_000_000)
  })

  it('of another company look like missing ones [HOOK-5]', async () => {
    const { id } = await register()
    const other = await api.company()
    expect(idsIn(await other.get('/webhooks'))).to.deep.equal([])
    for (const [method, path] of ROUTES) {
      expectProblem(await other.call(method, `/webhooks/${id}${path}`), 404, 'not_found')
    }
    expect((await company.get(`/webhooks/${id}`)).status).to.equal(200)
  })

  it('are limited exactly under concurrent registrations [HOOK-4]', async () => {
    const replies = await Promise.all(
      Array.from({ length: MAX_WEBHOOKS + 10 }, () => company.post('/webhooks', address)),
    )
    const statuses = replies.map((reply) => reply.status)
    expect(statuses.filter((status) => status === 201)).to.have.length(MAX_WEBHOOKS)
    expect(statuses.filter((status) => status === 409)).to.have.length(10)
  })
})
