import { expect } from 'chai'
import { disableStore } from '#commands/store-commands.ts'
import type { OrderObject } from '#projections/orders.ts'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { addressOf, type OnlineShop, openShop, paymentOf, SECRET, signedHeaders, stubProvider, told } from './shop.ts'

/** The provider's older notification format, which repeats for days unless it is answered 200. */
describe('notifications in the format IPN', () => {
  const database = useDatabase()
  const provider = stubProvider()
  let shop: OnlineShop
  let order: OrderObject

  const open = async (options: Partial<Parameters<typeof openShop>[1]> = {}) => {
    shop = await openShop(database.url, { provider, log: () => {}, ...options })
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
    provider.payments.set(payment.id, payment)
    const query = `source_news=webhooks&data.id=${payment.id}&type=payment`
    const reply = await ipn(query, { body: told(payment.id) })
    expect(reply.body, reply.text).to.include({ processed: true, status: 'paid' })
  })

  it('need a complete query, and no other body [RCV-8, RCV-42]', async () => {
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
