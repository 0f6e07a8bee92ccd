import { expect } from 'chai'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { Json } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { purgeTables } from '../support/purge.ts'
import { until } from '../support/wait.ts'
import { notify, type OnlineShop, openShop, paymentOf, SECRET, signedHeaders, stubProvider, told } from './shop.ts'

describe('notification log', () => {
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

  it('lists all notifications of an order in order of arrival, with their outcome [RCV-11]', async () => {
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

  it('pages with limit and cursor', async () => {
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

  it('refuses a cursor of another order’s log, and unknown parameters', async () => {
    for (let n = 0; n < 2; n++) await notify(shop, order.id, { type: 'plan' })
    const { next_cursor } = (await listed('?limit=1')).meta
    const other = await shop.order()
    for (const query of [`cursor=${next_cursor}`, 'updated_since=2026-01-01T00:00:00Z', 'limit=0']) {
      const { status, body } = await shop.company.get(`/orders/${other.id}/notifications?${query}`)
      expect([status, body.error.code], query).to.deep.equal([422, 'validation_failed'])
    }
  })

  it('is visible to its own company only', async () => {
    await notify(shop, order.id, { type: 'plan' })
    const stranger = await shop.api.company()
    const { status, body } = await stranger.get(`/orders/${order.id}/notifications`)
    const missing = await stranger.get('/orders/999999999/notifications')
    expect([status, body.error.code, body.error.message]).to.deep.equal([404, 'not_found', missing.body.error.message])
    expect((await shop.company.get('/orders/abc/notifications')).status).to.equal(404)
  })

  it('contains a notification before its response, and keeps it without one [RCV-11]', async () => {
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

  it('stores only the beginning of notifications about unknown orders, separately [RCV-30]', async () => {
    await shop.api.core.pool.query('delete from unverified_notifications')
    const body = { ...told('1'), text: 'é'.repeat(2_000) }
    await notify({ ...shop, alias: 'a'.repeat(150) }, order.id, body)
    await notify(shop, 999_999, 'no json')
    expect((await listed()).data).to.deep.equal([])
    const [long, short] = await shop.strangers()
    expect(long).to.include({
      store_alias: 'a'.repeat(64),
      order_path: String(order.id),
      http_status: 404,
      outcome: 'refused',
    })
    expect(JSON.stringify(body).startsWith((long?.payload ?? 'x').replace(/\uFFFD$/, ''))).to.equal(true)
    const { rows } = await shop.api.core.pool.query<{ bytes: number }>(
      'select max(pg_column_size(s.*)) as bytes from unverified_notifications s',
    )
    expect(rows[0]?.bytes).to.be.within(700, 1_024)
    expect(short).to.include({ store_alias: shop.alias, http_status: 400, outcome: 'refused', payload: '"no json"' })
  })

  it('keeps a bounded number of those, the newest ones [RCV-30]', async () => {
    const { pool } = shop.api.core
    await pool.query('delete from unverified_notifications')
    await notify(shop, 999_999, 'first')
    // Simulates that all other slots were filled since.
    await pool.query(
      `select setval('ops.unverified_notification_ids', last_value + 49999) from ops.unverified_notification_ids`,
    )
    await notify(shop, 999_999, 'second')
    expect((await shop.strangers()).map(({ payload, http_status }) => [payload, http_status])).to.deep.equal([
      ['"second"', 400],
    ])
  })

  it('stores 8 MiB per store and hour, signed ones apart, and counts the rest [RCV-31]', async () => {
    const { pool } = shop.api.core
    const owner = await panelUser(shop.api, shop.company, 'owner')
    const signing = { ...shop, alias: await shop.store({ secret: SECRET }) }
    const { id } = await shop.order(signing.alias)
    const signed = () => notify(signing, id, told('1', { type: 'plan' }), signedHeaders('1', SECRET))
    const forged = () => notify(signing, id, told('1', { type: 'plan' }))
    expect([(await forged()).status, (await signed()).status]).to.deep.equal([401, 200])
    const before = (await shop.kept()).length
    // Unauthenticated clients used up the hour.
    await pool.query(
      `update payment_notification_hours set stored_bytes = 8388608 - 1024
       where not is_signed and store_id = (select id from stores where alias = $1)`,
      [signing.alias],
    )
    const replies = [await forged(), await forged(), await signed(), await notify(shop, order.id, { type: 'plan' })]
    expect(replies.map(({ status }) => status)).to.deep.equal([401, 401, 200, 200])
    const kept = (await shop.kept()).slice(before)
    expect(kept.map(({ http_status, order_id }) => [http_status, order_id])).to.deep.equal([
      [200, id],
      [200, order.id],
    ])
    const { rows } = await pool.query<{ is_signed: boolean; stored: number; not_stored: number; store_id: number }>(
      `select h.store_id, is_signed, stored, not_stored from payment_notification_hours h join stores s on s.id = h.store_id
       where s.alias = $1 order by is_signed`,
      [signing.alias],
    )
    expect(rows.map(({ store_id: _, ...row }) => row)).to.deep.equal([
      { is_signed: false, stored: 1, not_stored: 2 },
      { is_signed: true, stored: 2, not_stored: 0 },
    ])
    const page = textIn((await owner.get(`/painel/loja/lojas/${rows[0]?.store_id}`)).html)
    expect(page).to.include('só foram contadas, porque vieram demais em uma hora: 2.')
    // The next hour starts.
    await pool.query(`update payment_notification_hours set hour = hour - interval '1 hour'`)
    await forged()
    expect((await shop.kept()).slice(before)).to.have.length(3)
  })

  it('deletes notifications by age: unknown, refused, others [RCV-11, RCV-30]', async () => {
    const { pool } = shop.api.core
    await pool.query('delete from payment_notifications')
    await pool.query('delete from unverified_notifications')
    const insert = `insert into payment_notifications (store_alias, order_path, company_id, order_id, request_id, received_at, outcome)
      values ($1, '1', $2, $3, gen_random_uuid(), now() - make_interval(days => $4), $5)`
    for (const [name, days, outcome] of [
      ['kept', 89, 'refused'],
      ['gone', 91, 'refused'],
      ['kept', 399, 'applied'],
      ['gone', 401, 'applied'],
      ['kept', 399, null],
    ])
      await pool.query(insert, [name, shop.company.id, order.id, days, outcome])
    for (const [slot, days] of [
      [1, 29],
      [2, 31],
    ])
      await pool.query(
        `insert into unverified_notifications (slot, id, store_alias, order_path, request_id, received_at)
         values ($1::int, $1::int, 'x', '1', gen_random_uuid(), now() - make_interval(days => $2))`,
        [slot, days],
      )
    expect(await purgeTables(pool, 'payment_notifications', 'unverified_notifications')).to.equal(3)
    const { rows } = await pool.query<{ store_alias: string }>('select store_alias from payment_notifications')
    expect(rows.map(({ store_alias }) => store_alias)).to.deep.equal(['kept', 'kept', 'kept'])
    expect(await shop.strangers()).to.have.length(1)
  })
})
