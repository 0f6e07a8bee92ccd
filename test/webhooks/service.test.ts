import { createHmac } from 'node:crypto'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { createCustomer } from '#commands/person-commands.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from './delivering-service.ts'

describe('webhook delivery of the service', () => {
  const database = useDatabase()
  let service: DeliveringService

  beforeEach(async () => {
    service = await startDelivering(database.url, { switchOffHours: 0.0002, retrySeconds: [0.05] })
  })
  afterEach(() => service.close())

  const show = async (path: string) => (await service.company.get(path)).body.data
  const act = (name: string) => service.company.run(createCustomer, { name, person_type: 'PF' as const }, 'pdv')
  const events = async () => {
    const { rows } = await service.api.core.pool.query<{ type: string; reason: string }>(
      `select envelope->>'type' as type, envelope->'data'->>'reason' as reason from ledger.events where envelope->>'type' = 'WebhookSwitchedOff'
         and stream = $1`,
      [`company-${service.company.id}`],
    )
    return rows
  }

  it('posts the answer of GET for the record, signed so that the public library verifies it [HOOK-9]', async () => {
    const { company, receiver } = service
    const { secret } = await service.register(['customer.created'])
    const customer = await act('Maria')
    const [received] = await until(() => receiver.received.length === 1 && receiver.received)
    const { headers, body } = received!
    const told = new Webhook(secret).verify(body, headers) as Record<string, unknown>
    expect(told).to.include({ event: 'customer.created', origin: 'pdv' })
    expect(told.data).to.deep.equal(await show(`/customers/${customer.id}`))
    const signed = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`).digest('hex')
    expect(headers).to.include({
      'x-service-signature': `sha256=${signed}`,
      'x-service-event': 'customer.created',
      'x-service-sequence': '1',
      'x-service-revision': (await company.get('/me')).headers.get('x-ledger-revision')!,
    })
    expect(Number(headers['x-service-timestamp'])).to.be.closeTo(Date.now() / 1000, 30)
  })

  it('disables an endpoint at once on 410, and cancels its pending deliveries [HOOK-21]', async () => {
    const { company, receiver } = service
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const { path } = await service.register()
    await act('Adeus')
    await until(async () => (await show(path)).status === 'disabled')
    expect(await events()).to.deep.equal([{ type: 'WebhookSwitchedOff', reason: 'gone' }])
    const latest = async () => (await company.get(`${path}/deliveries`)).body.data[0]
    // Deliveries of a disabled endpoint are cancelled a moment after it.
    await until(async () => (await latest()).status === 'failed')
    const delivery = await latest()
    expect(delivery.next_attempt_at).to.equal(null)
    expect(delivery.attempts[0]).to.include({ status: 410, error: 'gone' })
    expect(receiver.received).to.have.length(1)
  })

  it('starts on commit, without polling', async () => {
    const woken = await startDelivering(database.url, { poll_ms: 3_600_000 })
    try {
      await woken.register()
      for (let n = 1; n <= 3; n++) {
        await woken.company.run(createCustomer, { name: `Cliente ${n}`, person_type: 'PF' }, 'pdv')
        await until(() => woken.receiver.received.length === n)
      }
    } finally {
      await woken.close()
    }
  })

  it('delivers without its LISTEN connection, and reconnects it', async () => {
    const { receiver, api } = service
    await service.register()
    const kill = `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'tillbook listener' and datname = current_database()`
    await until(async () => (await api.core.pool.query(kill)).rowCount === 1)
    await act('Sem aviso')
    await until(() => receiver.received.length === 1)
    await until(async () => (await api.core.pool.query(kill)).rowCount === 1)
  })

  it('disables an endpoint that keeps failing once, with a notice [HOOK-20]', async () => {
    const second = await startDelivering(database.url, { switchOffHours: 0.0002, retrySeconds: [0.05] })
    const { receiver } = service
    try {
      receiver.answer = (_received, response) => response.writeHead(503).end()
      const { path, id } = await service.register()
      await act('Silêncio')
      await until(async () => (await show(path)).status === 'disabled')
      expect(receiver.received).to.have.length(2)
      const { rows } = await service.api.core.pool.query(`select kind, data from notifications where company_id = $1`, [
        service.company.id,
      ])
      expect(rows).to.deep.equal([
        { kind: 'webhook_switched_off', data: { webhook_id: id, url: receiver.url, reason: 'no_response' } },
      ])
    } finally {
      await second.close()
    }
    expect([...service.errors, ...second.errors]).to.deep.equal([])
    expect(await events()).to.deep.equal([{ type: 'WebhookSwitchedOff', reason: 'no_response' }])
  })
})
