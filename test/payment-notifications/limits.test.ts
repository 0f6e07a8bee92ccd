import { expect } from 'chai'
import { disableStore } from '#commands/store-commands.ts'
import { type ProviderPayment, ProviderUnavailable } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import { NOTIFICATIONS_PER_MINUTE } from '#public/payment-notifications.ts'
import { FOREIGN_IDS, type Json, type Reply, send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { startFaultyApi } from '../support/faulty-api.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { panelUser, textIn } from '../support/panel.ts'
import { purgeTables } from '../support/purge.ts'
import { rawRequest } from '../support/raw-request.ts'
import { until } from '../support/wait.ts'
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

describe('limits of the notification receiver', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let order: OrderObject

  const open = async (options: Parameters<typeof openOnlineStore>[1]) => {
    shop = await openOnlineStore(database.url, { provider, log: () => {}, ...options })
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

  it('ignores addresses claimed by untrusted clients [KEY-7]', async () => {
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
    for (const each of orders) provider.put(paymentOf(each))
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

describe('notification log', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let order: OrderObject

  before(async () => {
    shop = await openOnlineStore(database.url, { provider, log: () => {} })
  })
  beforeEach(async () => {
    provider.before = () => {}
    order = await shop.order()
    provider.put(paymentOf(order))
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
    provider.put({ ...payment, status: 'rejected' })
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

describe('notification receiver refuses without changes, and stores,', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let order: OrderObject
  let payment: ProviderPayment

  before(async () => {
    shop = await openOnlineStore(database.url, { provider })
  })
  beforeEach(async () => {
    order = await shop.order()
    payment = paymentOf(order)
    provider.put(payment)
    provider.asked.length = 0
  })
  after(() => shop.close())

  const lastKept = async () => (await shop.kept()).at(-1)

  async function refused(reply: Reply, status: number, code: string): Promise<void> {
    expect([reply.status, reply.body?.error?.code], reply.text).to.deep.equal([status, code])
    expect(reply.body.error).to.include({ request_id: reply.headers.get('x-request-id') })
    expect(reply.body.error.message).to.be.a('string')
    const isOfRequest = ({ request_id }: { request_id: string }) => request_id === reply.headers.get('x-request-id')
    const ofOrder = (await shop.kept()).find(isOfRequest)
    const kept = ofOrder ?? (await shop.strangers()).find(isOfRequest)
    expect(kept).to.include({ outcome: 'refused', http_status: status })
    if (ofOrder) expect(ofOrder.response).to.equal(reply.text)
    expect(kept?.duration_ms).to.be.at.least(0)
    expect((await shop.orderNow(order.id)).status).to.equal('pending')
  }

  for (const [name, body] of [
    ['invalid JSON', '{"type":'],
    ['an empty body', undefined],
    ['control characters', '\u0000'],
    ['a member twice', '{"type":"payment","live_mode":false,"data":{"id":"1","id":"2"}}'],
  ] as const) {
    it(`${name} [SYNC-40]`, async () => refused(await notify(shop, order.id, body), 400, 'malformed_json'))
  }

  it('invalid UTF-8, as far as it is readable', async () => {
    const path = addressOf('', shop.alias, order.id)
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x00, 0x22, 0x7d])
    await refused(await rawRequest(shop.api.url, { method: 'POST', path, body }), 400, 'malformed_json')
    expect(JSON.parse((await lastKept())?.payload as string)).to.equal('{"\u{FFFD}\0"}')
  })

  it('excessive nesting, as a text that parsers can handle', async () => {
    const body = `{"type":"payment","live_mode":false,"data":{"id":"1"},"x":${'['.repeat(3_000)}${']'.repeat(3_000)}}`
    await refused(await notify(shop, order.id, body), 400, 'malformed_json')
    expect(JSON.parse((await lastKept())?.payload as string)).to.equal(body)
  })

  for (const [name, body, field] of [
    ['an empty object', {}, 'type'],
    ['a list', [], 'body'],
    ['a text', '"payment"', 'body'],
    ['null', 'null', 'body'],
    ['a type that is not a text', told('1', { type: 7 }), 'type'],
    ['no live_mode', told('1', { live_mode: undefined }), 'live_mode'],
    ['a live_mode that is not a boolean', told('1', { live_mode: 'false' }), 'live_mode'],
    ['no data', told('1', { data: undefined }), 'data'],
    ['data that is not an object', told('1', { data: '1' }), 'data'],
    ['no payment id', told(undefined), 'data.id'],
    ['an id that is a path', told('../users/me'), 'data.id'],
    ['an id that is too long', told('1'.repeat(101)), 'data.id'],
    ['an id that is a fraction', told(1.5), 'data.id'],
    ['an empty id', told(''), 'data.id'],
    ['an invalid notification id', told('1', { id: {} }), 'id'],
    ['an action that is not a text', told('1', { action: 1 }), 'action'],
  ] as const) {
    it(`a payload with ${name} [SYNC-40]`, async () => {
      const reply = await notify(shop, order.id, body)
      await refused(reply, 400, 'invalid_notification')
      expect(reply.body.error.details.fields).to.have.all.keys(field)
    })
  }

  it('a body above the limit, without reading it [SYNC-40]', async () => {
    const reply = await notify(shop, order.id, told('1', { x: 'x'.repeat(8_192) }))
    await refused(reply, 413, 'payload_too_large')
    expect(await lastKept()).to.include({ payload: null, order_id: order.id })
  })

  it('a missing, disabled or foreign store or order, with equal responses [RCV-2]', async () => {
    const other = await openOnlineStore(database.url, { provider }, FOREIGN_IDS)
    const foreign = await other.order()
    const closedAlias = await shop.store()
    const closed = await shop.order(closedAlias)
    await shop.company.run(disableStore, { alias: closedAlias })
    const otherStore = await shop.store()
    const answers: unknown[] = []
    for (const [alias, id] of [
      ['nao-existe', order.id],
      [shop.alias, 999_999_999],
      [shop.alias, foreign.id],
      [other.alias, order.id],
      [otherStore, order.id],
      [closedAlias, closed.id],
      [shop.alias, 0],
      [shop.alias, 'abc'],
      [shop.alias, '9'.repeat(300)],
      ['%00', order.id],
    ] as const) {
      const reply = await notify({ ...shop, alias }, id, told(payment.id))
      await refused(reply, 404, 'not_found')
      const { request_id: _, ...error } = reply.body.error
      answers.push(error)
    }
    await other.close()
    for (const answer of answers) expect(answer).to.deep.equal(answers[0])
    expect(provider.asked).to.deep.equal([])
  })

  it('invalid content, before looking up its store', async () => {
    await refused(await notify({ ...shop, alias: 'nao-existe' }, order.id, '{'), 400, 'malformed_json')
  })

  it('a payment unknown to the provider [RCV-5]', async () => {
    await refused(await notify(shop, order.id, told('1')), 400, 'invalid_notification')
  })

  for (const [name, changes] of [
    ['another order’s payment', { externalReference: 'order-1-019aa6c3-7d2e-7b1a-9c54-3f0e8d6a1b42' }],
    ['a payment of no order', { externalReference: null }],
    ['a payment of another amount', { amountCents: 4629 }],
    ['a payment in the other mode', { liveMode: true }],
  ] as const) {
    it(`${name} [RCV-5]`, async () => {
      provider.put({ ...payment, ...changes })
      await refused(await notify(shop, order.id, told(payment.id)), 400, 'invalid_notification')
    })
  }

  it('a payment with another id than requested [RCV-5]', async () => {
    const { getPayment } = provider
    provider.getPayment = async () => ({ ...payment, id: '77' })
    await refused(await notify(shop, order.id, told(payment.id)), 400, 'invalid_notification')
    provider.getPayment = getPayment
  })

  it('other methods, but stores nothing of them', async () => {
    const before = (await shop.kept()).length
    const reply = await send(addressOf(shop.api.url, shop.alias, order.id), 'GET')
    expect([reply.status, reply.headers.get('allow')]).to.deep.equal([405, 'POST'])
    expect(await shop.kept()).to.have.length(before)
  })
})
