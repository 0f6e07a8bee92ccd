import { expect } from 'chai'
import { disableStore } from '#commands/store-commands.ts'
import type { ProviderPayment } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import { FOREIGN_IDS, type Reply, send } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { addressOf, notify, type OnlineShop, openShop, paymentOf, stubProvider, told } from './shop.ts'

describe('notification receiver refuses without changes, and stores,', () => {
  const database = useDatabase()
  const provider = stubProvider()
  let shop: OnlineShop
  let order: OrderObject
  let payment: ProviderPayment

  before(async () => {
    shop = await openShop(database.url, { provider })
  })
  beforeEach(async () => {
    order = await shop.order()
    payment = paymentOf(order)
    provider.payments.set(payment.id, payment)
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
    it(`${name} [RCV-8]`, async () => refused(await notify(shop, order.id, body), 400, 'malformed_json'))
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
    it(`a payload with ${name} [RCV-8]`, async () => {
      const reply = await notify(shop, order.id, body)
      await refused(reply, 400, 'invalid_notification')
      expect(reply.body.error.details.fields).to.have.all.keys(field)
    })
  }

  it('a body above the limit, without reading it [RCV-8]', async () => {
    const reply = await notify(shop, order.id, told('1', { x: 'x'.repeat(8_192) }))
    await refused(reply, 413, 'payload_too_large')
    expect(await lastKept()).to.include({ payload: null, order_id: order.id })
  })

  it('a missing, disabled or foreign store or order, with equal responses [STORE-3, RCV-2]', async () => {
    const other = await openShop(database.url, { provider }, FOREIGN_IDS)
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
    ['a payment with another id than requested', { id: '77' }],
  ] as const) {
    it(`${name} [RCV-5]`, async () => {
      provider.payments.set(payment.id, { ...payment, ...changes })
      await refused(await notify(shop, order.id, told(payment.id)), 400, 'invalid_notification')
    })
  }

  it('other methods, but stores nothing of them', async () => {
    const before = (await shop.kept()).length
    const reply = await send(addressOf(shop.api.url, shop.alias, order.id), 'GET')
    expect([reply.status, reply.headers.get('allow')]).to.deep.equal([405, 'POST'])
    expect(await shop.kept()).to.have.length(before)
  })
})
