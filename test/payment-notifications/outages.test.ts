import { inspect } from 'node:util'
import { expect } from 'chai'
import { ProviderMisconfigured, type ProviderPayment, ProviderUnavailable } from '#payments/provider-port.ts'
import type { OrderObject } from '#projections/orders.ts'
import { useDatabase } from '../support/database.ts'
import { notify, type OnlineShop, openShop, paymentOf, SECRET, stubProvider, told } from './shop.ts'

describe('notification receiver without a working provider', () => {
  const database = useDatabase()
  const provider = stubProvider()
  const logged: unknown[] = []
  let shop: OnlineShop
  let order: OrderObject
  let payment: ProviderPayment

  before(async () => {
    shop = await openShop(database.url, { provider, log: (...line) => logged.push(line) })
  })
  beforeEach(async () => {
    provider.before = () => {}
    order = await shop.order()
    payment = paymentOf(order)
    provider.payments.set(payment.id, payment)
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

  it('responds 500 if the store’s credentials are rejected [PAY-5]', async () => {
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
