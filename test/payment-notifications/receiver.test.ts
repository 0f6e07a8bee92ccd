import { inspect } from 'node:util'
import { expect } from 'chai'
import { disableStore } from '#commands/store-commands.ts'
import { ProviderMisconfigured, type ProviderPayment, ProviderUnavailable } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import { send as post, send, startApi } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import {
  addressOf,
  notify,
  type OnlineStore,
  openOnlineStore,
  paymentOf,
  SECRET,
  signedHeaders,
  told,
} from './online-store.ts'

describe('notification receiver', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let order: OrderObject
  let payment: ProviderPayment

  before(async () => {
    const log = (message: string, error: unknown) =>
      error instanceof ProviderUnavailable ? undefined : console.error(message, error)
    shop = await openOnlineStore(database.url, { provider, log })
  })
  beforeEach(async () => {
    order = await shop.order()
    payment = paymentOf(order)
    provider.put(payment)
    provider.asked.length = 0
  })
  after(() => shop.close())

  const lastKept = async () => (await shop.kept()).at(-1)

  describe('records the provider’s state of the payment', () => {
    it('which makes the order paid [RCV-4]', async () => {
      const reply = await notify(shop, order.id, told(payment.id))
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.body).to.deep.equal({
        processed: true,
        order_id: order.id,
        status: 'paid',
        message: 'Notificação processada.',
      })
      expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
      const now = await shop.orderNow(order.id)
      expect(now).to.include({ status: 'paid' })
      expect(now.payment).to.include({ provider_payment_id: payment.id, provider_status: 'approved', status: 'paid' })
    })

    it('with the commission of a paid order, to the cent [ORDER-7]', async () => {
      await notify(shop, order.id, told(payment.id))
      const { commission, released_at } = await shop.orderNow(order.id)
      expect(commission).to.include({ percentage: '5.00', amount: '2.32', store_amount: '43.98', reversed_at: null })
      expect(released_at).to.be.a('string')
    })

    it('regardless of the notification’s content [RCV-4]', async () => {
      const lies = { action: 'payment.refunded', status: 'refunded', data: { id: payment.id, status: 'refunded' } }
      expect((await notify(shop, order.id, told(payment.id, lies))).body).to.include({ status: 'paid' })
    })

    it('also with numeric ids, missing fields and additional ones', async () => {
      const body = { type: 'payment', live_mode: false, data: { id: Number(payment.id), more: [] }, extra: { a: 1 } }
      expect((await notify(shop, order.id, body)).body).to.include({ processed: true, status: 'paid' })
    })

    it('by the id in the body, not the one in the query [RCV-4]', async () => {
      const url = `${addressOf(shop.api.url, shop.alias, order.id)}?data.id=1&type=plan`
      expect((await post(url, 'POST', told(payment.id))).body).to.include({ processed: true })
      expect(provider.asked).to.deep.equal([payment.id])
    })
  })

  describe('changes nothing, and responds 200,', () => {
    it('if the payment is already in this state, for any number of notifications and ids [RCV-7]', async () => {
      await notify(shop, order.id, told(payment.id))
      const revision = await shop.revision()
      for (const id of [12345, 12346]) {
        const { status, body } = await notify(shop, order.id, told(payment.id, { id }))
        expect([status, body.processed, body.status]).to.deep.equal([200, true, 'paid'])
        expect(await lastKept()).to.include({ outcome: 'duplicate', http_status: 200 })
      }
      expect(provider.asked).to.have.length(3)
      expect(await shop.revision()).to.equal(revision)
    })

    it('if the payment has advanced since [RCV-7]', async () => {
      await notify(shop, order.id, told(payment.id))
      provider.put({ ...payment, status: 'pending' })
      const revision = await shop.revision()
      const { status, body } = await notify(shop, order.id, told(payment.id))
      expect([status, body.processed, body.status]).to.deep.equal([200, false, 'paid'])
      expect(await lastKept()).to.include({ outcome: 'stale' })
      expect(await shop.revision()).to.equal(revision)
    })

    it('if the status is unknown [RCV-7]', async () => {
      provider.put({ ...payment, status: 'vanished' })
      const revision = await shop.revision()
      const { status, body } = await notify(shop, order.id, told(payment.id))
      expect([status, body.processed, body.status]).to.deep.equal([200, false, 'pending'])
      expect(await lastKept()).to.include({ outcome: 'ignored' })
      expect(await shop.revision()).to.equal(revision)
    })

    for (const [name, changes] of [
      ['it is about something else', { type: 'plan' }],
      [
        'it is about something else and has no payment',
        { type: 'topic_claims', data: undefined, live_mode: undefined },
      ],
      ['it comes from production and the store is a sandbox', { live_mode: true }],
    ] as const) {
      it(`if ${name}; without a provider call [RCV-4]`, async () => {
        const { status, body } = await notify(shop, order.id, told(payment.id, changes))
        expect(status).to.equal(200)
        expect(body).to.include({ processed: false, order_id: order.id, status: 'pending' })
        expect(body.message).to.be.a('string').and.not.equal('')
        expect(await lastKept()).to.include({ outcome: 'ignored', order_id: order.id })
        expect(provider.asked).to.deep.equal([])
      })
    }

    it('if it comes from the sandbox and the store is in production [RCV-4]', async () => {
      const alias = await shop.store({ sandbox: false })
      const real = await shop.order(alias)
      const live = paymentOf(real, { liveMode: true })
      provider.put(live)
      const there = { ...shop, alias }
      expect((await notify(there, real.id, told(live.id))).body).to.include({ processed: false })
      expect((await notify(there, real.id, told(live.id, { live_mode: true }))).body).to.include({ status: 'paid' })
    })
  })

  describe('of a store with a notification secret', () => {
    let signedShop: OnlineStore
    let mine: OrderObject
    let id: string

    beforeEach(async () => {
      signedShop = { ...shop, alias: await shop.store({ secret: SECRET }) }
      mine = await shop.order(signedShop.alias)
      id = paymentOf(mine).id
      provider.put(paymentOf(mine))
    })

    describe('with an X-Request-Id that was processed before', () => {
      const send = (order: OrderObject | number = mine, requestId = 'req-1', by = signedShop) =>
        notify(by, typeof order === 'number' ? order : order.id, told(id), signedHeaders(id, SECRET, requestId))

      it('is answered without a provider call, regardless of its age [RCV-41]', async () => {
        expect((await send()).body).to.include({ processed: true, status: 'paid' })
        provider.put({ ...paymentOf(mine), status: 'refunded', changedAt: '2026-11-22T10:00:00.000Z' })
        for (let n = 0; n < 3; n++) {
          const reply = await send()
          expect(reply.status).to.equal(200)
          expect(reply.body).to.include({ processed: true, status: 'paid' })
          expect(await lastKept()).to.include({ outcome: 'duplicate' })
        }
        expect(provider.asked).to.deep.equal([id])
        expect((await send(mine, 'req-2')).body).to.include({ status: 'refunded' })
        expect(provider.asked).to.deep.equal([id, id])
      })

      it('is refused for another order of the store, without a provider call [RCV-41]', async () => {
        const other = await shop.order(signedShop.alias)
        expect((await send()).status).to.equal(200)
        const reply = await send(other)
        expect([reply.status, reply.body.error.code]).to.deep.equal([400, 'invalid_notification'])
        expect(provider.asked).to.deep.equal([id])
      })

      it('is processed if it failed or was refused before [RCV-41]', async () => {
        const other = await shop.order(signedShop.alias)
        expect((await send(other)).status).to.equal(400)
        provider.before = () => {
          throw new ProviderUnavailable('late')
        }
        expect((await send()).status).to.equal(503)
        provider.before = () => {}
        expect((await send()).body).to.include({ processed: true, status: 'paid' })
        expect(provider.asked).to.deep.equal([id, id, id])
      })

      it('is applied once by two concurrent processes, and a duplicate for both afterwards [RCV-41]', async () => {
        const another = await startApi(shop.api.databaseUrl, { provider })
        try {
          const elsewhere = { ...signedShop, api: another }
          const replies = await Promise.all(
            Array.from({ length: 20 }, (_, n) => send(mine, 'req-1', n % 2 === 0 ? signedShop : elsewhere)),
          )
          for (const { status, body } of replies) expect([status, body.processed]).to.deep.equal([200, true])
          const { body } = await shop.company.get(`/events?subject=order/${mine.id}`)
          expect(body.data.filter(({ type }: { type: string }) => type === 'OrderPaid')).to.have.length(1)
          const asked = provider.asked.length
          for (const by of [signedShop, elsewhere]) expect((await send(mine, 'req-1', by)).status).to.equal(200)
          expect(provider.asked).to.have.length(asked)
        } finally {
          await another.close()
        }
      })

      it('is processed for another store with the same id [RCV-41]', async () => {
        const next = { ...shop, alias: await shop.store({ secret: SECRET }) }
        const its = await shop.order(next.alias)
        const itsId = paymentOf(its).id
        provider.put(paymentOf(its))
        expect((await send()).status).to.equal(200)
        const reply = await notify(next, its.id, told(itsId), signedHeaders(itsId, SECRET))
        expect(reply.body).to.include({ processed: true, status: 'paid' })
      })
    })

    it('accepts signed notifications, repeated ones included [RCV-6]', async () => {
      for (const outcome of ['applied', 'duplicate']) {
        const reply = await notify(signedShop, mine.id, told(id), signedHeaders(id, SECRET))
        expect(reply.body, reply.text).to.include({ processed: true, status: 'paid' })
        expect(await lastKept()).to.include({ outcome })
      }
    })

    for (const [name, headers] of [
      ['nothing', () => ({})],
      ['another secret', () => signedHeaders(id, 'another-secret')],
      ['another payment', () => signedHeaders('77', SECRET)],
      ['another request id', () => ({ ...signedHeaders(id, SECRET), 'x-request-id': 'req-2' })],
      ['something else', () => ({ 'x-signature': 'ts=1,v1=00' })],
    ] as const) {
      it(`refuses a signature with ${name}, without a provider call [RCV-6]`, async () => {
        const reply = await notify(signedShop, mine.id, told(id), headers())
        expect([reply.status, reply.body.error.code]).to.deep.equal([401, 'invalid_signature'])
        expect(await lastKept()).to.include({ outcome: 'refused', http_status: 401, order_id: mine.id })
        expect((await shop.orderNow(mine.id)).status).to.equal('pending')
        expect(provider.asked).to.deep.equal([])
      })
    }

    it('refuses unsigned notifications after the secret was lost with the ops tables [RCV-6]', async () => {
      await shop.api.core.pool.query('delete from store_secrets where alias = $1', [signedShop.alias])
      for (const headers of [{}, signedHeaders(id, SECRET)]) {
        const reply = await notify(signedShop, mine.id, told(id), headers)
        expect([reply.status, reply.body.error.code]).to.deep.equal([401, 'invalid_signature'])
      }
      expect(provider.asked).to.deep.equal([])
    })

    it('responds alike to unsigned notifications about existing and missing orders [RCV-20]', async () => {
      const answers: unknown[] = []
      const foreign = await shop.order()
      for (const order of [mine.id, foreign.id, 999_999_999, 0, 'abc']) {
        for (const headers of [{}, signedHeaders(id, 'another-secret')]) {
          const { status, body } = await notify(signedShop, order, told(id), headers)
          const { request_id: _, ...error } = body.error
          answers.push([status, error])
        }
        expect((await notify(signedShop, order, told(id), signedHeaders(id, SECRET))).status).to.equal(
          order === mine.id ? 200 : 404,
        )
      }
      expect(answers[0]).to.have.property('0', 401)
      for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    })

    it('requires a signature for other types too [RCV-6]', async () => {
      const body = told(id, { type: 'plan' })
      expect((await notify(signedShop, mine.id, body)).status).to.equal(401)
      expect((await notify(signedShop, mine.id, body, signedHeaders(id, SECRET))).body).to.include({ processed: false })
    })

    it('stores no secret in its log [PAY-8]', async () => {
      await notify(signedShop, mine.id, told(id), signedHeaders(id, SECRET))
      await notify(signedShop, mine.id, told(id), { authorization: 'Bearer abcdef', 'x-signature': 'ts=1,v1=feed' })
      const { rows } = await shop.api.core.pool.query(
        'select row_to_json(n)::text as line from payment_notifications n',
      )
      const all = rows.map(({ line }: { line: string }) => line).join('\n')
      for (const secret of [SECRET, 'TEST-token', 'Bearer', 'v1=', 'x-signature']) expect(all).not.to.include(secret)
    })
  })

  it('stores notifications unchanged, to the last digit, with response and duration [RCV-11]', async () => {
    const sent = `{ "id": 123456789012345678901,\n "live_mode": false, "type": "payment", "data": {"id":"${payment.id}"} }`
    const reply = await notify(shop, order.id, sent)
    expect(await lastKept()).to.include({
      company_id: shop.company.id,
      order_id: order.id,
      payload: sent,
      response: reply.text,
      http_status: 200,
      outcome: 'applied',
    })
  })

  it('changes an order once for concurrent notifications [RCV-7]', async () => {
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => notify(shop, order.id, told(payment.id, { id: n }))),
    )
    for (const reply of replies) expect(reply.body, reply.text).to.include({ processed: true, status: 'paid' })
    const outcomes = (await shop.kept()).filter((kept) => kept.order_id === order.id).map(({ outcome }) => outcome)
    expect(outcomes.filter((outcome) => outcome === 'applied')).to.have.length(1)
    expect(outcomes.filter((outcome) => outcome === 'duplicate')).to.have.length(19)
  })
})

describe('notification receiver without a working provider', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  const logged: unknown[] = []
  let shop: OnlineStore
  let order: OrderObject
  let payment: ProviderPayment

  before(async () => {
    shop = await openOnlineStore(database.url, { provider, log: (...line) => logged.push(line) })
  })
  beforeEach(async () => {
    provider.before = () => {}
    order = await shop.order()
    payment = paymentOf(order)
    provider.put(payment)
  })
  after(() => shop.close())

  const lastKept = async () => (await shop.kept()).at(-1)

  it('responds 503, stores the notification as failed, and applies its repetition [RCV-9]', async () => {
    provider.before = () => Promise.reject(new ProviderUnavailable('down'))
    const reply = await notify(shop, order.id, told(payment.id))
    expect([reply.status, reply.body.error.code]).to.deep.equal([503, 'unavailable'])
    expect(Number(reply.headers.get('retry-after'))).to.be.above(0)
    expect(await lastKept()).to.include({ outcome: 'failed', http_status: 503, response: reply.text })
    provider.before = () => {}
    expect((await notify(shop, order.id, told(payment.id))).body).to.include({ processed: true, status: 'paid' })
  })

  it('responds 500 if the store’s credentials are rejected [PAY-53]', async () => {
    provider.before = () => Promise.reject(new ProviderMisconfigured('401'))
    const reply = await notify(shop, order.id, told(payment.id))
    expect([reply.status, reply.body.error.code]).to.deep.equal([500, 'provider_configuration_invalid'])
    expect(await lastKept()).to.include({ outcome: 'failed', http_status: 500 })
  })

  it('responds 500 for a bug, without revealing it [RCV-9]', async () => {
    provider.before = () => Promise.reject(new Error('secret detail'))
    const reply = await notify(shop, order.id, told(payment.id))
    expect([reply.status, reply.body.error.code]).to.deep.equal([500, 'internal_error'])
    expect(reply.text).not.to.include('secret detail')
    expect(await lastKept()).to.include({ outcome: 'failed' })
  })

  it('logs for the operator, without secrets [PAY-8]', () => {
    expect(logged).to.have.length(3)
    expect(inspect(logged, { depth: 20 }))
      .not.to.include('TEST-token')
      .and.not.include(SECRET)
  })
})

/** The provider's older notification format, which repeats for days unless it is answered 200. */
describe('notifications in the format IPN', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let order: OrderObject

  const open = async (options: Partial<Parameters<typeof openOnlineStore>[1]> = {}) => {
    shop = await openOnlineStore(database.url, { provider, log: () => {}, ...options })
    order = await shop.order()
  }
  beforeEach(() => {
    provider.asked.length = 0
  })
  afterEach(() => shop.close())

  const ipn = (query: string, { body, headers, alias = shop.alias, id = order.id }: IpnOptions = {}) =>
    send(`${addressOf(shop.api.url, alias, id)}?${query}`, 'POST', body, headers)

  interface IpnOptions {
    readonly body?: unknown
    readonly headers?: Record<string, string>
    readonly alias?: string
    readonly id?: number | string
  }

  it('are answered 200 and not processed, with an empty body or one of that format [RCV-42]', async () => {
    await open()
    for (const [query, body] of [
      ['topic=payment&id=123', undefined],
      ['topic=merchant_order&id=123', {}],
      ['topic=payment&id=123', { topic: 'payment', id: '123' }],
      ['id=123&topic=payment', { resource: 'https://api.example/payments/123', topic: 'payment' }],
      ['type=payment&data.id=123', undefined],
      ['data.id=123&type=payment', { type: 'payment', data: { id: '123' } }],
    ] as const) {
      const text = JSON.stringify(body) === '{}' ? '  ' : body
      const reply = await ipn(query, { body: text })
      expect(reply.status, `${query} ${reply.text}`).to.equal(200)
      expect(reply.body).to.deep.equal({
        processed: false,
        order_id: order.id,
        status: 'ignored',
        message: 'Notificações IPN não são processadas: só as do tipo webhook.',
      })
      expect((await shop.kept()).at(-1)).to.include({ order_id: order.id, outcome: 'ignored', http_status: 200 })
    }
    expect(provider.asked).to.deep.equal([])
    expect((await shop.orderNow(order.id)).status).to.equal('pending')
  })

  it('are stored, an empty body with its query [RCV-11, RCV-42]', async () => {
    await open()
    await ipn('topic=payment&id=123&x=%00')
    expect(JSON.parse((await shop.kept()).at(-1)?.payload ?? '')).to.deep.equal({
      topic: 'payment',
      id: '123',
      x: '\0',
    })
    await ipn('topic=payment&id=123', { body: { topic: 'payment', id: 7 } })
    expect((await shop.kept()).at(-1)?.payload).to.equal('{"topic":"payment","id":7}')
  })

  it('answers IPN alike for existing and missing orders [RCV-42]', async () => {
    await open()
    const alias = await shop.store({ secret: SECRET })
    const { id } = await shop.order(alias)
    const bodies = [id, 999_999, order.id].map(async (of) => {
      const { status, body } = await ipn('topic=payment&id=123', { alias, id: of })
      return [status, { ...body, order_id: body.order_id === of }]
    })
    const [first, ...others] = await Promise.all(bodies)
    expect(first?.[0]).to.equal(200)
    for (const other of others) expect(other).to.deep.equal(first)
  })

  it('of a missing or disabled store, or without an order id, are 404 [RCV-2, RCV-42]', async () => {
    await open()
    const closed = await shop.store()
    await shop.company.run(disableStore, { alias: closed })
    for (const at of [{ alias: 'nao-existe' }, { alias: closed }, { id: 'abc' }, { id: 0 }])
      expect((await ipn('topic=payment&id=123', at)).status, JSON.stringify(at)).to.equal(404)
  })

  it('count as unsigned, whatever their signature [RCV-10, RCV-42]', async () => {
    await open({ notificationsPerMinute: 2 })
    const alias = await shop.store({ secret: SECRET })
    const { id } = await shop.order(alias)
    const headers = signedHeaders('123', SECRET)
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) statuses.push((await ipn('type=payment&data.id=123', { alias, id, headers })).status)
    expect(statuses).to.deep.equal([200, 200, 429])
    expect((await ipn('topic=payment&id=123', { alias, id })).status).to.equal(429)
  })

  it('are not webhooks whose query repeats the payment: those are processed [RCV-42]', async () => {
    await open()
    const payment = paymentOf(order)
    provider.put(payment)
    const query = `source_news=webhooks&data.id=${payment.id}&type=payment`
    const reply = await ipn(query, { body: told(payment.id) })
    expect(reply.body, reply.text).to.include({ processed: true, status: 'paid' })
  })

  it('need a complete query, and no other body [SYNC-40, RCV-42]', async () => {
    await open()
    for (const [query, body] of [
      ['', undefined],
      ['topic=payment', undefined],
      ['id=123', undefined],
      ['topic=payment&id=../users', undefined],
      ['topic=&id=123', undefined],
      ['topic=payment&id=123', '{'],
      ['topic=payment&id=123', '[]'],
      ['topic=payment&id=123', { hello: 1 }],
      ['type=payment&data.id=123', told('123', { live_mode: undefined })],
    ] as const) {
      const reply = await ipn(query, { body })
      expect(reply.status, `${query} ${reply.text}`).to.equal(400)
    }
  })
})
