import { expect } from 'chai'
import { describeServiceOn } from '../ledger/outside-service.ts'
import { expectProblem } from '../support/answers.ts'
import { send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore, type FaultyStore } from '../support/outside-store.ts'
import { until } from '../support/wait.ts'

const shared = createOutsideStore()
describeServiceOn('the stand-in for a store outside Postgres', () => shared)

describe('service with an unreachable event store', () => {
  const database = useDatabase()
  let api: TestApi
  let store: FaultyStore
  let company: TestCompany
  const logged: string[] = []

  before(async () => {
    store = createOutsideStore()
    api = await startApi(database.url, { store, log: (message) => logged.push(message) })
    company = await api.company()
  })
  beforeEach(() => {
    store.down = false
  })
  after(() => api.close())

  const ready = () => send(`${api.url}/health/ready`, 'GET')

  it('an outage refuses writes with 503, serves reads, and ends by itself [HTTP-13, OPS-7, OPS-8]', async () => {
    const before = await company.post('/customers', { name: 'Ana' })
    store.down = true
    const refused = await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'bia' })
    expectProblem(refused, 503, 'unavailable')
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
    expect((await company.get(`/customers/${before.body.data.id}`)).status).to.equal(200)
    const down = await ready()
    expect(down.status).to.equal(503)
    expect(down.body).to.deep.equal({ status: 'not_ready', parts: { postgres: 'up', event_store: 'down' } })
    store.down = false
    expect((await ready()).body).to.deep.equal({ status: 'ready', parts: { postgres: 'up', event_store: 'up' } })
    const accepted = await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'bia' })
    expect(accepted.status).to.equal(201)
    expect((await company.get('/customers')).body.data).to.have.length(2)
  })

  it('starts, serves reads, and accepts writes once the store is reachable [OPS-7]', async () => {
    await company.post('/customers', { name: 'Caio' })
    store.down = true
    const other = await startApi(database.url, { store, log: (message) => logged.push(message) })
    try {
      const call = (method: string, body?: object) =>
        send(`${other.url}/api/v1/customers`, method, body, { authorization: `Bearer ${company.key}` })
      expect((await call('GET')).status).to.equal(200)
      expectProblem(await call('POST', { name: 'Davi' }), 503, 'unavailable')
      expect(logged).to.include('event store: catch-up failed, will retry')
      store.down = false
      await until(async () => (await send(`${other.url}/health/ready`, 'GET')).status === 200, { what: 'readiness' })
      expect((await call('POST', { name: 'Davi' })).status).to.equal(201)
    } finally {
      await other.close()
    }
  })
})
