import { expect } from 'chai'
import { NOTIFICATIONS_PER_MINUTE } from '#payment-notifications/payment-notifications.ts'
import type { OrderObject } from '#projections/orders.ts'
import { send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { startFaultyApi } from '../support/faulty-api.ts'
import { until } from '../support/wait.ts'
import {
  addressOf,
  notify,
  type OnlineShop,
  openShop,
  paymentOf,
  SECRET,
  signedHeaders,
  stubProvider,
  told,
} from './shop.ts'

describe('limits of the notification receiver', () => {
  const database = useDatabase()
  const provider = stubProvider()
  let shop: OnlineShop
  let order: OrderObject

  const open = async (options: Parameters<typeof openShop>[1]) => {
    shop = await openShop(database.url, { provider, log: () => {}, ...options })
    order = await shop.order()
  }
  beforeEach(() => {
    provider.before = () => {}
    provider.asked.length = 0
  })
  afterEach(() => shop.close())

  const from = (address: string) => ({ 'x-forwarded-for': address })
  const plan = { type: 'plan' }

  it('accepts 60 per minute from one address, then responds 429, and stores all [RCV-10, RCV-11]', async () => {
    await open({ notificationsPerMinute: NOTIFICATIONS_PER_MINUTE })
    const before = (await shop.kept()).length
    const statuses: number[] = []
    for (let n = 0; n < 65; n++) statuses.push((await notify(shop, order.id, plan)).status)
    expect(statuses).to.deep.equal([...Array(60).fill(200), ...Array(5).fill(429)])
    const { status, body, headers } = await notify(shop, order.id, plan)
    expect([status, body.error.code]).to.deep.equal([429, 'rate_limited'])
    expect(Number(headers.get('retry-after'))).to.be.within(1, 60)
    // Each is stored whole, with its response.
    const kept = (await shop.kept()).slice(before)
    expect(kept.map(({ http_status }) => http_status)).to.deep.equal([...Array(60).fill(200), ...Array(6).fill(429)])
    for (const { payload, order_id } of kept)
      expect({ payload, order_id }).to.deep.equal({ payload: JSON.stringify(plan), order_id: order.id })
    expect(JSON.parse(kept.at(-1)?.response ?? '')).to.deep.equal(body)
  })

  it('stores nothing of unknown orders beyond the limit, with equal responses [RCV-10, RCV-32]', async () => {
    await open({ notificationsPerMinute: 1 })
    await notify(shop, order.id, plan)
    const [known, unknown] = [await notify(shop, order.id, plan), await notify(shop, 999_999, plan)]
    const { request_id: _, ...error } = known.body.error
    expect([unknown.status, unknown.body.error]).to.deep.equal([
      429,
      { ...error, request_id: unknown.body.error.request_id },
    ])
    expect(await shop.strangers()).to.deep.equal([])
    expect((await shop.kept()).at(-1)).to.include({ http_status: 429, order_id: order.id })
  })

  it('counts refused notifications too, before they are read [RCV-10]', async () => {
    await open({ notificationsPerMinute: 2 })
    for (const expected of [400, 404, 429]) {
      const [id, body] = expected === 400 ? [order.id, '{'] : [0, plan]
      expect((await notify(shop, id, body)).status).to.equal(expected)
    }
  })

  describe('of signed notifications', () => {
    const twoStores = async (perMinute: number) => {
      await open({ notificationsPerMinute: perMinute, trustProxy: true })
      const stores = [await shop.store({ secret: SECRET }), await shop.store({ secret: SECRET })]
      const orders = [await shop.order(stores[0]), await shop.order(stores[1])]
      const told1 = told('1', { type: 'plan' })
      const send = (store: number, headers: object) =>
        notify({ ...shop, alias: stores[store]! }, orders[store]!.id, told1, { ...from('203.0.113.9'), ...headers })
      return { orders, send }
    }
    const signed = signedHeaders('1', SECRET)
    const forged = signedHeaders('1', 'another-secret')

    it('is 60 a minute for each store and address; what is refused is stored [RCV-10, RCV-11, RCV-21]', async () => {
      const { send, orders } = await twoStores(NOTIFICATIONS_PER_MINUTE)
      const statuses: number[] = []
      for (let n = 0; n < 63; n++) statuses.push((await send(0, signed)).status)
      expect(statuses).to.deep.equal([...Array(60).fill(200), ...Array(3).fill(429)])
      expect((await send(0, signed)).headers.get('retry-after')).to.match(/^[1-9]\d?$/)
      expect((await send(1, signed)).status, 'another store').to.equal(200)
      expect((await send(0, { ...signed, ...from('203.0.113.10') })).status, 'another address').to.equal(200)
      const kept = (await shop.kept()).filter(({ order_id }) => order_id === orders[0]!.id)
      expect(kept.filter(({ http_status }) => http_status === 429)).to.have.length(4)
    })

    it('is apart from that of unsigned and forged ones, which take nothing from the provider [RCV-21]', async () => {
      const { send } = await twoStores(2)
      for (const [headers, status] of [
        [{}, 401],
        [forged, 401],
        [forged, 429],
        [{}, 429],
        [signed, 200],
        [signed, 200],
        [signed, 429],
      ] as const)
        expect((await send(0, headers)).status).to.equal(status)
    })
  })

  it('counts the client behind a trusted proxy [RCV-10]', async () => {
    await open({ notificationsPerMinute: 1, trustProxy: true })
    expect((await notify(shop, order.id, plan, from('203.0.113.1'))).status).to.equal(200)
    expect((await notify(shop, order.id, plan, from('203.0.113.2'))).status).to.equal(200)
    expect((await notify(shop, order.id, plan, from('203.0.113.1'))).status).to.equal(429)
  })

  it('counts an IPv6 network as one address [RCV-10]', async () => {
    await open({ notificationsPerMinute: 1, trustProxy: true })
    expect((await notify(shop, order.id, plan, from('2001:db8:1:2::1'))).status).to.equal(200)
    expect((await notify(shop, order.id, plan, from('2001:db8:1:2:ffff::2'))).status).to.equal(429)
    expect((await notify(shop, order.id, plan, from('2001:db8:1:3::1'))).status).to.equal(200)
  })

  it('ignores addresses claimed by untrusted clients [OPS-24]', async () => {
    await open({ notificationsPerMinute: 1 })
    expect((await notify(shop, order.id, plan, from('203.0.113.1'))).status).to.equal(200)
    expect((await notify(shop, order.id, plan, from('203.0.113.2'))).status).to.equal(429)
  })

  it('responds 503 if it cannot store a notification, without a provider call', async () => {
    await open({})
    const faulty = await startFaultyApi(shop.api.core, database.url)
    const url = addressOf(faulty.down.handlers, shop.alias, order.id)
    const { status, body, headers } = await send(url, 'POST', told(paymentOf(order).id))
    await faulty.close()
    expect([status, body.error.code]).to.deep.equal([503, 'unavailable'])
    expect(Number(headers.get('retry-after'))).to.be.above(0)
  })

  it('slow providers hold no connection: other requests continue beside 20 notifications [PAY-7]', async () => {
    await open({ queryConnections: 1 })
    const orders = [order]
    while (orders.length < 20) orders.push(await shop.order())
    const waiting: (() => void)[] = []
    provider.before = () => new Promise((resolve) => waiting.push(resolve))
    for (const each of orders) provider.payments.set(paymentOf(each).id, paymentOf(each))
    const sent = orders.map((each) => notify(shop, each.id, told(paymentOf(each).id)))
    await until(() => waiting.length === 20, { what: 'the provider being asked 20 times' })
    const { rows } = await shop.api.core.pool.query<{ open: number }>(
      `select count(*) filter (where xact_start is not null and pid <> pg_backend_pid()) as open
       from pg_stat_activity where datname = current_database()`,
    )
    expect(rows).to.deep.equal([{ open: 0 }])
    expect((await shop.company.get(`/orders/${order.id}`)).body.data.status).to.equal('pending')
    expect((await shop.company.post('/customers', { name: 'Ana' })).status).to.equal(201)
    for (const go of waiting) go()
    for (const reply of await Promise.all(sent)) expect(reply.body, reply.text).to.include({ status: 'paid' })
  })
})
