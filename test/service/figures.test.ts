import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { send, startApi, type TestApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import type { Service } from '../support/process.ts'
import { until } from '../support/wait.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { createFleet, type Fleet } from './fleet.ts'

describe('metrics of a process', function () {
  this.timeout(120_000)
  const database = useDatabase()
  let fleet: Fleet
  let office: TestApi
  let service: Service

  before(async () => {
    office = await startApi(database.url)
    fleet = createFleet(database.url)
    service = await fleet.start('api', { ROLES: 'api,projector,dispatcher' })
  })
  after(async () => {
    await fleet.close()
    await office.close()
  })

  /** Value of a metric, named with its labels as in the output. */
  async function figure(line: string): Promise<number | null> {
    const { text } = await send(`${service.url}/metrics`, 'GET')
    const found = text.split('\n').find((one) => one.startsWith(`${line} `))
    return found === undefined ? null : Number(found.slice(line.length + 1))
  }

  it('metrics count requests, commands and deliveries without companies [OPS-19]', async () => {
    const company = await office.company()
    const receiver = await startReceiver()
    const post = (path: string, body: object) =>
      send(`${service.url}/api/v1${path}`, 'POST', body, { authorization: `Bearer ${company.key}` })
    try {
      expect((await post('/webhooks', { url: receiver.url, events: ['customer.created'] })).status).to.equal(201)
      const { id } = (await post('/customers', { name: 'Ana' })).body.data
      expect((await post('/customers', { name: 'ana' })).status).to.equal(409)
      const items = [{ external_id: 'b', name: 'Bia' }, { external_id: 'c', name: 'ANA' }, { name: 'Caio' }]
      expect((await post('/customers/batch', { items })).status).to.equal(207)
      await company.run(createCustomer, { name: 'Davi', person_type: 'PF' }, 'pdv')
      await until(() => receiver.received.length === 1)

      const posted = 'tillbook_http_request_seconds_count{method="POST",route="/api/v1/customers",status'
      expect(await figure(`${posted}="201"}`)).to.equal(1)
      expect(await figure(`${posted}="409"}`)).to.equal(1)
      expect(await figure('tillbook_commands_total{outcome="accepted"}')).to.equal(3)
      expect(await figure('tillbook_commands_total{outcome="refused"}')).to.equal(2)
      expect(await figure('tillbook_refusals_total{code="duplicate_resource"}')).to.equal(2)
      expect(await figure('tillbook_writer_unanswered_commands')).to.equal(0)
      expect(await figure('tillbook_writer_group_commands_sum')).to.equal(5)
      expect(await figure('tillbook_writer_group_seconds_count')).to.equal(4)
      await until(async () => (await figure('tillbook_delivery_attempt_seconds_count{outcome="delivered"}')) === 1)
      expect(await figure('tillbook_deliveries_pending')).to.be.within(0, 1)
      expect(await figure('tillbook_deliveries_oldest_due_seconds')).to.be.within(0, 60)
      expect(await figure('tillbook_postgres_connections{pool="writer",state="idle"}')).to.be.above(0)
      for (const resource of ['commands', 'queries', 'verifications', 'body_bytes', 'large_requests', 'downloads']) {
        expect(await figure(`tillbook_shared_used{resource="${resource}"}`), resource).to.equal(0)
        expect(await figure(`tillbook_shared_refused_total{resource="${resource}"}`), resource).to.equal(0)
      }
      expect(await figure('nodejs_eventloop_lag_seconds')).to.be.at.least(0)
      expect(await figure('process_resident_memory_bytes')).to.be.above(0)

      await send(`${service.url}/api/v1/customers/${id}`, 'GET', undefined, { authorization: `Bearer ${company.key}` })
      const { text } = await send(`${service.url}/metrics`, 'GET')
      expect(text)
        .to.include('route="/api/v1/customers/:id"')
        .and.not.match(/company/i)
    } finally {
      await receiver.close()
    }
  })
})
