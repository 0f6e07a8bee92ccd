import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { expect } from 'chai'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { followEventStream, type ListenerAttempt, runListener, type StreamedEvent } from '#cli/listen-verbs.ts'
import { createServiceClient } from '#cli/service-client.ts'
import { TRIGGERED_EVENTS, trigger } from '#cli/trigger-verbs.ts'
import { createStore } from '#commands/store-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import { SCOPES } from '#domain/rights.ts'
import { WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { createSender } from '#webhooks/sender.ts'
import { startWebhooks } from '#webhooks/webhook-loops.ts'
import { send, type TestCompany } from '../support/api.ts'
import { startCutProxy } from '../support/cut-proxy.ts'
import { vault } from '../support/master-key.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { programOf, TEST_SETTINGS } from '../support/program.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { type Received, type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { tillbook } from './tillbook.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** Checks both signatures of a body against the secret. */
function expectSigned(headers: Received['headers'], body: string, secret: string): void {
  const timestamp = headers['x-service-timestamp']
  const signature = createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
  expect(headers['x-service-signature']).to.equal(`sha256=${signature}`)
  expect(() => new Webhook(secret).verify(body, { ...headers })).to.not.throw()
}

/** Waits until the stream contains an event of a record. */
async function expectTold(told: AsyncGenerator<StreamedEvent>, event: string, record: string): Promise<void> {
  for (;;) {
    const { messages } = (await told.next()).value as StreamedEvent
    const message = messages.find((one) => one.event === event)
    if (!message) continue
    const kind = event.startsWith('sale.return') ? 'return' : event.split('.')[0]
    expect(`${kind}/${JSON.parse(message.body).data.id}`).to.equal(record)
    return
  }
}

describe('tillbook listen and trigger', () => {
  const provider = createMemoryProvider()
  const api = useApi({ provider })
  const closing: (() => unknown)[] = []
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await startReceiver()
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
    await receiver.close()
  })

  const sell = (company: TestCompany, name: string) => company.post('/catalog/categories', { name })
  const namesOf = (received: readonly Received[]) => received.map(({ body }) => JSON.parse(body).data.name)

  /** Listens from the first event on. */
  function start(key: string, more: { url?: string; events?: string[]; pausesMs?: number[] } = {}) {
    const stop = new AbortController()
    const tried: ListenerAttempt[] = []
    const away: string[] = []
    const sender = createSender({ timeout_ms: 1_000, allowPrivate: true, clock: Date.now })
    const ended = runListener({
      service: createServiceClient(more.url ?? api.url, key, uuidv7),
      from: { after: -1 },
      forwardTo: receiver.url,
      secret: SECRET,
      events: more.events ?? null,
      sender,
      signal: stop.signal,
      pausesMs: more.pausesMs ?? [1, 1],
      onAway: (reason) => away.push(reason),
      onTried: (one) => tried.push(one),
    }).catch((error: unknown) => error)
    closing.push(async () => {
      stop.abort()
      await ended
      await sender.close()
    })
    return { tried, away, ended }
  }

  const arrived = (count: number) => until(() => receiver.received.length >= count)

  it('listen delivers the same bytes, headers and order as an endpoint [KIT-12]', async () => {
    const company = await api.company()
    const { key } = await company.newKey([...SCOPES])
    const endpoint = await startReceiver()
    closing.push(() => endpoint.close())
    const webhooks = startWebhooks({
      databaseUrl: api.databaseUrl,
      vault,
      switchOff: async () => true,
      retrySeconds: [60],
      switchOffHours: 24,
      allowPrivate: true,
      clock: Date.now,
      random: () => 0,
      newId: uuidv7,
      log: (message, error) => console.error(message, error),
    })
    closing.push(() => webhooks.stop())
    const registered = await send(
      `${api.url}/api/v1/webhooks`,
      'POST',
      { url: endpoint.url, events: ['basic'] },
      {
        authorization: `Bearer ${key}`,
      },
    )
    const cash = await company.paymentType('cash')
    start(company.key, { events: ['basic'] })
    await company.post('/sales', {
      items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
      payments: [{ payment_type_id: cash, amount: '10.00' }],
    })
    await arrived(1)
    await until(() => endpoint.received.length === 1)
    const [mine, real] = [receiver.received[0]!, endpoint.received[0]!]
    expect(mine.body).to.equal(real.body)
    expect(Object.keys(mine.headers)).to.deep.equal(Object.keys(real.headers))
    const same = ['x-service-event', 'x-service-revision', 'x-service-sequence', 'content-type', 'user-agent']
    for (const name of same) expect(mine.headers[name], name).to.equal(real.headers[name])
    for (const [{ headers, body }, secret] of [
      [mine, SECRET],
      [real, registered.body.data.secret],
    ] as const)
      expectSigned(headers, body, secret)
  })

  it('listen retries a failed delivery under its id while later ones wait [KIT-13]', async () => {
    const company = await api.company()
    const statuses = [500, 302, 204, 503, 503, 503, 200]
    receiver.answer = (_received, response) => response.writeHead(statuses.shift() ?? 204).end()
    const { tried } = start(company.key, { events: ['category.created'] })
    for (const name of ['Pães', 'Bolos', 'Sucos']) await sell(company, name)
    await arrived(7)
    expect(namesOf(receiver.received)).to.deep.equal(['Pães', 'Pães', 'Pães', 'Bolos', 'Bolos', 'Bolos', 'Sucos'])
    await until(() => tried.length === 7)
    expect(
      tried.map(({ sequence, attempt, status, again_in_ms }) => [sequence, attempt, status, again_in_ms]),
    ).to.deep.equal([
      [1, 1, 500, 1],
      [1, 2, 302, 1],
      [1, 3, 204, null],
      [2, 1, 503, 1],
      [2, 2, 503, 1],
      [2, 3, 503, null],
      [3, 1, 200, null],
    ])
    const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).to.equal(3)
    expect(ids[2]).to.equal(ids[0])
    // A new listener delivers the same event with the same delivery id.
    receiver.received.length = 0
    start(company.key, { events: ['category.created'] })
    await arrived(3)
    expect(receiver.received.map(({ headers }) => headers['webhook-id'])).to.deep.equal([...new Set(ids)])
  })

  it('a listener passes over interim answers, and waits as the receiver asks [HOOK-83, KIT-13]', async () => {
    const company = await api.company()
    const statuses = [503, 429, 204]
    receiver.answer = (_received, response) => {
      response.writeContinue()
      response.writeHead(statuses.shift() ?? 204, { 'retry-after': '3600' }).end()
    }
    const { tried } = start(company.key, { events: ['category.created'], pausesMs: [1, 30, 5] })
    await sell(company, 'Pães')
    await until(() => tried.length === 3)
    expect(tried.map(({ attempt, status, again_in_ms }) => [attempt, status, again_in_ms])).to.deep.equal([
      [1, 503, 30],
      [2, 429, 30],
      [3, 204, null],
    ])
    expect(receiver.received).to.have.length(3)
  })

  it('a listener misses nothing and doubles nothing when it is cut off, and tells of it [KIT-14]', async () => {
    const company = await api.company()
    const proxy = await startCutProxy('127.0.0.1', Number(new URL(api.url).port))
    closing.push(() => proxy.close())
    const { away } = start(company.key, { url: `http://127.0.0.1:${proxy.port}` })
    const names = Array.from({ length: 6 }, (_, index) => `Categoria ${index}`)
    for (const [index, name] of names.entries()) {
      await sell(company, name)
      if (index === 1) {
        await arrived(1)
        proxy.cut()
      }
      if (index === 3) proxy.mend()
    }
    await arrived(names.length)
    expect(namesOf(receiver.received)).to.deep.equal(names)
    expect(away).to.have.length(1)
  })

  it('listen ends if its key is revoked, or if its address is gone', async () => {
    const company = await api.company()
    const { id, key } = await company.newKey(['catalog:read'])
    const { ended, tried } = start(key)
    await sell(company, 'Pães')
    await until(() => tried.length === 1)
    await company.run(revokeApiKey, { id })
    expect(await ended).to.include({ name: 'Ended', code: 'invalid_token' })
    receiver.answer = (_received, response) => response.writeHead(410).end()
    expect(await start(company.key).ended).to.include({ name: 'Ended', code: 'gone' })
  })

  it('listen needs an address and a key, shows its secret once, and ends on interrupt', async () => {
    const company = await api.company()
    const { revision } = (await company.get('/events')).body.data.at(-1)
    await sell(company, 'Pães')
    await sell(company, 'Bolos')
    const words = ['listen', '--forward-to', receiver.url, '--url', api.url]
    const { PATH = '', HOME = '' } = process.env
    const child = spawn(
      process.execPath,
      programOf('src/cli/main.ts', ...words, '--key', company.key, '--replay-from', `${revision + 2}`),
      {
        env: { PATH, HOME, ...TEST_SETTINGS },
      },
    )
    let printed = ''
    child.stdout.on('data', (text: Buffer) => {
      printed += text.toString()
    })
    await until(() => /category\.created #\d+ -> 204/.test(printed), { timeout_ms: 10_000 })
    child.kill('SIGINT')
    expect((await once(child, 'exit'))[0]).to.equal(0)
    const [, secret = ''] = /^Listening to .+\nSigning secret: (whsec_\S+)\n/.exec(printed) ?? []
    expect(namesOf(receiver.received)).to.deep.equal(['Bolos'])
    const [{ headers, body }] = receiver.received as [Received]
    expectSigned(headers, body, secret)
    const refused = await tillbook({}, ...words, '--key', `${company.key.slice(0, -1)}?`, '--json')
    expect(refused).to.deep.include({ code: 1, stdout: '' })
    expect(JSON.parse(refused.stderr).error.code).to.equal('invalid_token')
  })

  const serviceOf = ({ key }: TestCompany) => createServiceClient(api.url, key, uuidv7)

  it('trigger causes every event that a request can cause [KIT-17]', async () => {
    const company = await api.company({ test: true })
    await company.paymentType('cash')
    provider.status = 'approved'
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true, access_token: 'TEST-token' })
    const service = serviceOf(company)
    const stop = new AbortController()
    const { revision } = await service.call('GET', '/me')
    const told = followEventStream({ service, from: { after: revision }, onAway: () => {}, signal: stop.signal })
    for (const [place, event] of TRIGGERED_EVENTS.entries()) {
      // The newest order determines the store of the next one.
      const store = event === 'order.created' ? alias : undefined
      const { record } = await trigger(event, { service, tag: `${place}`, store })
      // Moved stock is no event of the ledger, which the stream follows.
      if (event !== 'catalog_item.stock_changed') await expectTold(told, event, record)
    }
    expect(WEBHOOK_EVENTS.filter((name) => !TRIGGERED_EVENTS.includes(name))).to.deep.equal([
      'order.expired',
      'cash_session.closed',
      'cash_session.explained',
    ])
    // Removes events of earlier records, because their messages are not known.
    await service.call('POST', '/test/reset', {})
    const { record } = await trigger('category.created', { service, tag: 'anew' })
    const again = followEventStream({ service, from: { after: -1 }, onAway: () => {}, signal: stop.signal })
    await expectTold(again, 'category.created', record)
    stop.abort()
  })

  it('trigger does nothing in a real company [KIT-17]', async () => {
    const company = await api.company()
    const head = (await company.get('/events')).headers.get('x-ledger-revision')
    const refused = await trigger('customer.created', { service: serviceOf(company), tag: 'x' }).catch((error) => error)
    expect(refused).to.include({ name: 'Ended', code: 'not_test_company' })
    expect((await company.get('/events')).headers.get('x-ledger-revision')).to.equal(head)
  })
})
