import { expect } from 'chai'
import { purgeNotifications } from '#payments/notification-log.ts'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { Json } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { notify, type OnlineShop, openShop, paymentOf, stubProvider, told } from './shop.ts'

describe('the log of notifications', () => {
  const database = useDatabase()
  const provider = stubProvider()
  let shop: OnlineShop
  let order: OrderObject

  before(async () => {
    shop = await openShop(database.url, { provider, log: () => {} })
  })
  beforeEach(async () => {
    provider.before = () => {}
    order = await shop.order()
    provider.payments.set(paymentOf(order).id, paymentOf(order))
  })
  after(() => shop.close())

  const listed = async (query = '', of = shop.company): Promise<Json> => {
    const { status, body, text } = await of.get(`/orders/${order.id}/notifications${query}`)
    expect(status, text).to.equal(200)
    return body
  }

  it('lists everything that arrived for an order, in the order of arrival, with what came of it [RCV-11, RCV-12]', async () => {
    const payment = paymentOf(order)
    const bodies = [told(payment.id), told(payment.id), { type: 'plan' }, told('1'), '{"half":', told(payment.id)]
    const replies = []
    for (const body of bodies.slice(0, 5)) replies.push(await notify(shop, order.id, body))
    provider.payments.set(payment.id, { ...payment, status: 'rejected' })
    replies.push(await notify(shop, order.id, bodies[5]))
    provider.before = () => Promise.reject(new ProviderUnavailable('down'))
    replies.push(await notify(shop, order.id, bodies[5]))
    const { data } = await listed()
    expect(data.map(({ outcome }: Json) => outcome)).to.deep.equal([
      'applied',
      'duplicate',
      'ignored',
      'refused',
      'refused',
      'stale',
      'failed',
    ])
    for (const [position, { response, http_status, duration_ms, received_at, payload }] of data.entries()) {
      const reply = replies[position]!
      expect([http_status, response]).to.deep.equal([reply.status, reply.body])
      expect(payload).to.deep.equal(bodies[Math.min(position, 5)])
      expect(duration_ms).to.be.at.least(0)
      expect(received_at).to.match(/-03:00$/)
    }
  })

  it('pages with limit and cursor [RCV-12]', async () => {
    for (let n = 0; n < 5; n++) await notify(shop, order.id, { type: `type-${n}` })
    const types: string[] = []
    let cursor = ''
    for (let pages = 1; ; pages++) {
      const { data, meta } = await listed(`?limit=2${cursor}`)
      types.push(...data.map(({ payload }: Json) => payload.type))
      if (!meta.has_more) {
        expect(pages).to.equal(3)
        break
      }
      cursor = `&cursor=${meta.next_cursor}`
    }
    expect(types).to.deep.equal([0, 1, 2, 3, 4].map((n) => `type-${n}`))
  })

  it('takes no cursor of another order’s log, and no unknown parameter', async () => {
    for (let n = 0; n < 2; n++) await notify(shop, order.id, { type: 'plan' })
    const { next_cursor } = (await listed('?limit=1')).meta
    const other = await shop.order()
    for (const query of [`cursor=${next_cursor}`, 'updated_since=2026-01-01T00:00:00Z', 'limit=0']) {
      const { status, body } = await shop.company.get(`/orders/${other.id}/notifications?${query}`)
      expect([status, body.error.code], query).to.deep.equal([422, 'validation_failed'])
    }
  })

  it('is the company’s own [RCV-12]', async () => {
    await notify(shop, order.id, { type: 'plan' })
    const stranger = await shop.api.company()
    const { status, body } = await stranger.get(`/orders/${order.id}/notifications`)
    const missing = await stranger.get('/orders/999999999/notifications')
    expect([status, body.error.code, body.error.message]).to.deep.equal([404, 'not_found', missing.body.error.message])
    expect((await shop.company.get('/orders/abc/notifications')).status).to.equal(404)
  })

  it('has what is under way before it is answered, and keeps it if it never is [RCV-11]', async () => {
    let go = () => {}
    provider.before = () => new Promise((resolve) => (go = resolve))
    const sent = notify(shop, order.id, told(paymentOf(order).id))
    const [entry] = await until(async () => {
      const { data } = await listed()
      return data.length === 1 && data
    })
    expect(entry).to.deep.include({ response: null, http_status: null, duration_ms: null, outcome: null })
    expect(entry.payload).to.deep.equal(told(paymentOf(order).id))
    await until(() => provider.asked.includes(paymentOf(order).id))
    go()
    await sent
    expect((await listed()).data[0]).to.include({ outcome: 'applied' })
  })

  it('is without rows of requests that name no order, which are kept apart [RCV-11]', async () => {
    await notify({ ...shop, alias: 'nao-existe' }, order.id, told('1'))
    expect((await listed()).data).to.deep.equal([])
    expect((await shop.kept()).at(-1)).to.include({ company_id: null, order_id: null, outcome: 'refused' })
  })

  it('forgets strangers’ requests after a month, and those about orders after more than a year [RCV-11]', async () => {
    const { pool } = shop.api.core
    await pool.query('delete from payment_notifications')
    const insert = `insert into payment_notifications (store_alias, order_path, company_id, order_id, request_id, received_at)
      values ($1, '1', $2, $3, gen_random_uuid(), now() - make_interval(days => $4))`
    for (const [name, days] of [
      ['kept', 29],
      ['gone', 31],
    ])
      await pool.query(insert, [name, null, null, days])
    for (const [name, days] of [
      ['kept', 399],
      ['gone', 401],
    ])
      await pool.query(insert, [name, shop.company.id, order.id, days])
    expect(await purgeNotifications(pool)).to.equal(2)
    const { rows } = await pool.query<{ store_alias: string }>('select store_alias from payment_notifications')
    expect(rows).to.deep.equal([{ store_alias: 'kept' }, { store_alias: 'kept' }])
  })
})
