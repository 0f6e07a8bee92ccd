import { createHmac } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { updateItem } from '#commands/item-commands.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { createRoundRobin } from '#lib/background-loops.ts'
import { createPool } from '#postgres/pool.ts'
import { createRecorder } from '#webhooks/delivery.ts'
import { createDeliveryNotifier } from '#webhooks/outbox.ts'
import { queueStockChanges } from '#webhooks/stock-changes.ts'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { openCounter } from '../support/offline-sales.ts'
import { purgeTables } from '../support/purge.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from './delivering-service.ts'
import { addEndpoint, createEndpoints, queue } from './outbox.ts'

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

describe('a recorder', () => {
  const recording = (record: (items: readonly number[]) => Promise<void>) => {
    const recorded: number[][] = []
    const errors: unknown[] = []
    const recorder = createRecorder<number>({
      record,
      onRecorded: (items) => recorded.push([...items]),
      onError: (error) => errors.push(error),
    })
    return { recorder, recorded, errors }
  }

  it('writes simultaneous results together, and later ones in the next batch', async () => {
    const releases: (() => void)[] = []
    const { recorder, recorded } = recording(() => new Promise((resolve) => releases.push(resolve)))
    const release = async (place: number) => {
      await until(() => releases.length === place)
      releases[place - 1]?.()
      await until(() => recorded.length === place)
    }
    for (const item of [1, 2, 3]) recorder.add(item)
    await until(() => releases.length === 1)
    for (const item of [4, 5]) recorder.add(item)
    await release(1)
    await release(2)
    expect(recorded).to.deep.equal([
      [1, 2, 3],
      [4, 5],
    ])
    recorder.add(6)
    await release(3)
  })

  it('limits the size of a batch', async () => {
    const { recorder, recorded } = recording(async () => {})
    for (let item = 0; item < 600; item++) recorder.add(item)
    await recorder.drain()
    expect(recorded.map((items) => items.length)).to.deep.equal([256, 256, 88])
    expect(recorded.flat()).to.deep.equal(Array.from({ length: 600 }, (_, index) => index))
  })

  it('retries until it succeeds, and loses nothing', async () => {
    let failures = 3
    const { recorder, recorded, errors } = recording(async () => {
      if (failures-- > 0) throw new Error('Connection terminated unexpectedly')
    })
    recorder.add(1)
    await until(() => recorded.length === 1)
    expect(errors).to.have.length(3)
    expect(recorded).to.deep.equal([[1]])
  })

  it('gives up on shutdown if writes keep failing', async () => {
    const { recorder, recorded, errors } = recording(async () => {
      throw new Error('Connection terminated unexpectedly')
    })
    recorder.add(1)
    await recorder.drain()
    expect(errors).to.have.length(3)
    expect(recorded).to.deep.equal([])
  })
})

describe('a delivery notifier', () => {
  function opened() {
    const sent: string[] = []
    const pool = { query: async ({ values }: { values: [string] }) => void sent.push(values[0]) } as unknown as Pool
    return { sent, notifier: createDeliveryNotifier(pool, 'this process', () => {}) }
  }

  it('wakes its own dispatcher at each call, and other processes in groups', async () => {
    const { sent, notifier } = opened()
    let wakes = 0
    notifier.onNotify(() => (wakes += 1))
    notifier.notify()
    await until(() => sent.length === 1)
    for (let n = 0; n < 5; n++) {
      notifier.notify()
      await nextTurn()
    }
    await notifier.close()
    expect(wakes).to.equal(6)
    expect(sent).to.deep.equal(['this process', 'this process'])
  })

  it('notifies other processes of each call if it has no dispatcher', async () => {
    const { sent, notifier } = opened()
    for (let n = 1; n < 4; n++) {
      notifier.notify()
      await until(() => sent.length === n)
    }
    await notifier.close()
    expect(sent).to.have.length(3)
  })
})

const STOCK_CHANGED = 'catalog_item.stock_changed'

describe('stock changes of the webhook outbox', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)

  const pending = async () =>
    (
      await api.core.pool.query<{ catalog_item_id: number; due_at: string; actor: string | null }>(
        'select * from webhook_stock_changes where company_id = $1',
        [company.id],
      )
    ).rows
  /** Makes what waits due, and queues it. */
  async function queue(): Promise<{ event: string; body: { origin: string; data: { stock: string } } }[]> {
    await api.core.pool.query(`update webhook_stock_changes set due_at = clock_timestamp() where company_id = $1`, [
      company.id,
    ])
    await queueStockChanges(api.core.pool, uuidv7, createRoundRobin())
    const { rows } = await api.core.pool.query<{ event: string; body: string }>(
      `select d.event, m.body from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
       where d.company_id = $1 order by d.sequence`,
      [company.id],
    )
    return rows.map(({ event, body }) => ({ event, body: JSON.parse(body) }))
  }
  const register = (events: readonly string[]) =>
    company.post('/webhooks', { url: 'https://erp.example/eventos', events })
  const setStock = (id: number, stock: string) => company.run(updateItem, { id, changes: { stock } }, 'pdv')

  it('are one message for all movements of an item, with the stock that it ended at [HOOK-90]', async () => {
    const counter = await openCounter(company)
    await register([STOCK_CHANGED])
    const [first] = await until(async () => {
      await counter.record(counter.sale('pdv-1'))
      const rows = await pending()
      return rows.length > 0 && rows
    })
    await counter.record(counter.sale('pdv-2'))
    await setStock(counter.product, '40')
    await counter.record(counter.sale('pdv-3'))
    const [change, ...others] = await pending()
    expect(others).to.deep.equal([])
    expect(change?.due_at).to.deep.equal(first?.due_at)
    const [message, ...more] = await queue()
    expect(more).to.deep.equal([])
    expect(message?.event).to.equal(STOCK_CHANGED)
    expect(message?.body.origin).to.equal('pdv')
    expect(message?.body.data).to.deep.equal((await company.get(`/catalog/items/${counter.product}`)).body.data)
    expect(message?.body.data.stock).to.equal('39.000')
    expect(await pending()).to.deep.equal([])
  })

  it('are noted only for endpoints that name them or want all events; basic does not [HOOK-90]', async () => {
    await register(['basic'])
    const counter = await openCounter(company)
    await counter.record(counter.sale('pdv-1'))
    expect(await pending()).to.deep.equal([])
  })

  it('are not sent to the key that caused them all [HOOK-90, HOOK-10]', async () => {
    await register([STOCK_CHANGED])
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    await company.call('PATCH', `/catalog/items/${id}`, { stock: '6' })
    expect(await queue()).to.deep.equal([])
    await company.call('PATCH', `/catalog/items/${id}`, { stock: '7' })
    await setStock(id, '8')
    expect((await queue()).map(({ body }) => body.data.stock)).to.deep.equal(['8.000'])
  })

  it('survive a failed transaction, and are queued by the next one [HOOK-90]', async () => {
    const counter = await openCounter(company)
    await register([STOCK_CHANGED])
    await setStock(counter.product, '9')
    await api.core.pool.query(`update webhook_stock_changes set due_at = clock_timestamp() where company_id = $1`, [
      company.id,
    ])
    const failing = () => {
      throw new Error('killed')
    }
    const error = await queueStockChanges(api.core.pool, failing, createRoundRobin()).catch((problem) => problem)
    expect(String(error)).to.include('killed')
    expect(await pending()).to.have.length(1)
    expect((await queue()).map(({ body }) => body.data.stock)).to.deep.equal(['9.000'])
  })

  it('of a recorded movement are told as catalog_item.updated too, with the item [HOOK-29]', async () => {
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    const other = await company.newKey(['catalog:write', 'catalog:read'])
    await register(['basic'])
    const body = { catalog_item_id: id, kind: 'purchase', quantity: '1', unit_cost: '2.00' }
    const headers = { authorization: `Bearer ${other.key}` }
    await company.call('POST', '/stock/movements', body, headers)
    await company.call('POST', '/stock/movements', { ...body, kind: 'loss', unit_cost: null }, headers)
    const told = (await queue()).map(({ event, body: { data } }) => [event, data.stock])
    expect(told).to.deep.equal([
      ['catalog_item.updated', '6.000'],
      ['catalog_item.updated', '5.000'],
    ])
  })
})

describe('stock changes of the delivering service', () => {
  const database = useDatabase()
  let service: DeliveringService

  beforeEach(async () => {
    service = await startDelivering(database.url)
  })
  afterEach(() => service.close())

  it('are delivered a second after the first movement, without a revision [HOOK-90]', async () => {
    const { company, receiver } = service
    const { id } = (await company.post('/catalog/items', { name: 'Café', price: '1.00', stock: '5' })).body.data
    await service.register([STOCK_CHANGED])
    const begun = Date.now()
    for (const stock of ['6', '7', '8']) await company.run(updateItem, { id, changes: { stock } }, 'pdv')
    const [received] = await until(() => receiver.received.length > 0 && receiver.received)
    expect(Date.now() - begun).to.be.at.least(950)
    expect(JSON.parse(String(received?.body)).data).to.include({ stock: '8.000' })
    expect(received?.headers).to.include({ 'x-service-sequence': '1' }).and.not.to.have.any.keys('x-service-revision')
    expect(service.errors).to.deep.equal([])
  })
})

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

describe('trace context', () => {
  const database = useDatabase()
  let service: DeliveringService
  let key: string

  before(async () => {
    service = await startDelivering(database.url)
    key = (await service.company.newKey(['customers:write'])).key
  })
  after(() => service.close())

  /** Creates a customer; returns the traceparent of its delivery and of its entry in the request log. */
  async function traced(name: string, traceparent?: string): Promise<readonly [unknown, unknown]> {
    const { api, company, receiver } = service
    const headers = { authorization: `Bearer ${key}`, ...(traceparent !== undefined && { traceparent }) }
    const reply = await send(`${api.url}/api/v1/customers`, 'POST', { name }, headers)
    expect(reply.status, reply.text).to.equal(201)
    const found = () => receiver.received.find(({ body }) => JSON.parse(body).data.name === name)
    await until(() => found() !== undefined)
    const logged = await company.get(`/requests/${reply.headers.get('x-request-id')}`)
    return [found()?.headers.traceparent, logged.body.data.traceparent]
  }

  it('of a request is logged and passed on to its webhooks [HTTP-46]', async () => {
    await service.register(['customer.created'])
    expect(await traced('Ana', TRACE)).to.deep.equal([TRACE, TRACE])
    expect(await traced('Bia', `cc${TRACE.slice(2)}-what-the-future`), 'later version').to.deep.equal([TRACE, TRACE])
    for (const [name, malformed] of [
      ['Caio', undefined],
      ['Davi', 'x'],
      ['Eva', `ff${TRACE.slice(2)}`],
      ['Fábio', TRACE.replace(/[1-9a-f]/g, '0')],
      ['Gil', TRACE.toUpperCase()],
      ['Hugo', `${TRACE}0`],
    ] as const)
      expect(await traced(name, malformed), name).to.deep.equal([undefined, null])
  })
})

describe('old deliveries', () => {
  const database = useDatabase('withoutReadModel')
  let pool: Pool

  before(async () => {
    pool = createPool(database.url, { max: 2 })
    await createEndpoints(pool)
  })
  after(() => pool.end())

  const rows = async (table: string) =>
    (await pool.query<{ id: string }>(`select id from ${table} order by id`)).rows.map(({ id }) => id)

  it('are deleted after 30 days with their messages, unless they are pending [OPS-22]', async () => {
    const endpoint = await addEndpoint(pool, 'http://127.0.0.1/')
    const [old, waiting, recent, oldButAskedAgain] = await queue(pool, endpoint, 4)
    const { rows: before } = await pool.query<{ id: string; message_id: string }>(
      'select id, message_id from webhook_deliveries',
    )
    const messageOf = (id: string | undefined) => before.find((delivery) => delivery.id === id)?.message_id
    await pool.query(`update webhook_deliveries set status = 'delivered', next_attempt_at = null where id = any($1)`, [
      [old, recent],
    ])
    const aged = `created_at = now() - interval '30 days 1 hour'`
    await pool.query(`update webhook_deliveries set ${aged} where id = any($1)`, [[old, waiting, oldButAskedAgain]])
    await pool.query(`update webhook_messages set ${aged}`)
    expect(await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')).to.equal(2)
    expect(await rows('webhook_deliveries')).to.have.members([waiting, recent, oldButAskedAgain])
    expect(await rows('webhook_messages')).to.have.members([waiting, recent, oldButAskedAgain].map(messageOf))
    expect(await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')).to.equal(0)
  })

  it('are all deleted, in batches', async () => {
    await queue(pool, await addEndpoint(pool, 'http://127.0.0.1/'), 6_000)
    await pool.query(
      `update webhook_deliveries set status = 'failed', next_attempt_at = null, created_at = now() - interval '31 days'`,
    )
    await pool.query(`update webhook_messages set created_at = now() - interval '31 days'`)
    await purgeTables(pool, 'webhook_deliveries', 'webhook_messages')
    expect([await rows('webhook_deliveries'), await rows('webhook_messages')]).to.deep.equal([[], []])
  })
})
