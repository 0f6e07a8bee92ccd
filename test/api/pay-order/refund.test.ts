import { expect } from 'chai'
import { createStore } from '#commands/store-commands.ts'
import {
  ProviderMisconfigured,
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { vault } from '../../support/master-key.ts'
import { paymentTold, placedOrder } from '../../support/orders.ts'
import { useCashier } from './cashier.ts'

describe('refund of an order', () => {
  const { api, company, provider, alias, place, pay, show, tell } = useCashier()
  beforeEach(() => {
    provider.refundCalls.length = 0
    provider.readFailure = null
  })

  async function paid(): Promise<number> {
    const { id } = await place()
    provider.status = 'approved'
    expect((await pay(id)).body.data.status).to.equal('paid')
    return id
  }
  const refund = (id: number, key: string | null, body: object = {}) =>
    company.post(`/orders/${id}/refunds`, body, key === null ? {} : { 'idempotency-key': key })
  const lost = (give: () => ProviderRefund): never => {
    give()
    provider.readFailure = new ProviderUnavailable('unreachable')
    throw new ProviderUnavailable('response lost')
  }

  it('refunds a part, then the rest, and responds 201 with the order [ORDER-11]', async () => {
    const id = await paid()
    const part = await refund(id, 'a', { amount: '20.00' })
    expect(part.status, part.text).to.equal(201)
    expect(part.body.data).to.deep.include({ status: 'paid', refunded_total: '20.00', partially_refunded: true })
    expect(part.body.data.commission).to.include({ amount: '2.38', refunded: '0.66', reversed_at: null })
    expect(part.body.data.refunds[0]).to.include({ amount: '20.00', status: 'completed' })
    const rest = await refund(id, 'b')
    expect(rest.body.data).to.deep.include({ status: 'refunded', refunded_total: '71.52', partially_refunded: false })
    expect(rest.body.data.commission).to.include({ refunded: '2.38' })
    expect(provider.refundCalls.map(({ amountCents }) => amountCents)).to.deep.equal([2000, 5152])
    expectProblem(await refund(id, 'c'), 409, 'order_not_paid')
    expect((await refund(id, 'a', { amount: '20.00' })).text).to.equal(part.text)
  })

  it('refunds once if the response is lost, and for equal concurrent calls [PAY-25]', async () => {
    const id = await paid()
    provider.twistRefund(lost)
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 503, 'unavailable')
    provider.readFailure = null
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    const replies = await Promise.all(Array.from({ length: 12 }, () => refund(id, 'k', { amount: '10.00' })))
    expect(replies.map(({ status }) => status)).to.deep.equal(Array(12).fill(201))
    expect(provider.payments[0]?.refundedCents).to.equal(1000)
    expect(await show(id)).to.include({ refunded_total: '10.00' })
  })

  it('is completed by the sweep without a retry [PAY-25]', async () => {
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderUnavailable('provider unreachable')
    })
    expectProblem(await refund(id, 'k'), 503, 'unavailable')
    const { pool, writer } = api.core
    const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
    const order = await show(id)
    expect(order).to.include({ status: 'refunded', refunded_total: '71.52' })
    expect(order.refunds[0]).to.include({ status: 'completed' })
    expect((await refund(id, 'k')).status).to.equal(201)
    expect(provider.payments[0]?.refundedCents).to.equal(7152)
  })

  it('responds 422 refund_refused with the causes, and accepts the same key again [PAY-26]', async () => {
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderRefused([{ code: '2063', description: 'no balance' }])
    })
    expect(expectProblem(await refund(id, 'k'), 422, 'refund_refused')).to.deep.equal({
      causes: [{ code: '2063', description: 'no balance' }],
    })
    expect((await show(id)).refunds[0]).to.include({ status: 'refused', refusal: '2063: no balance' })
    expect((await refund(id, 'k')).status).to.equal(201)
  })

  it('leaves a possible refund open if the credentials are wrong afterwards [PAY-51]', async () => {
    const id = await paid()
    provider.twistRefund(lost)
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 503, 'unavailable')
    provider.readFailure = null
    provider.readFailure = new ProviderMisconfigured('401')
    expectProblem(await refund(id, 'k', { amount: '10.00' }), 500, 'provider_configuration_invalid')
    const { pool, writer } = api.core
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log: () => {} }, new AbortController().signal)
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    provider.readFailure = null
    expect((await refund(id, 'k', { amount: '10.00' })).status).to.equal(201)
    expect(provider.payments[0]?.refundedCents).to.equal(1000)
  })

  it('reserves nothing if the store has no credentials, or wrong ones at first [PAY-5, PAY-51]', async () => {
    const store = `${alias()}-nova`
    await company.run(createStore, { alias: store, commission_percentage: '1', sandbox: true })
    const poor = await placedOrder(company, store)
    await paymentTold(company, poor, 'approved')
    expectProblem(await refund(poor, 'k'), 500, 'provider_configuration_invalid')
    expect((await show(poor)).refunds).to.deep.equal([])
    const id = await paid()
    provider.twistRefund(() => {
      throw new ProviderMisconfigured('401')
    })
    expectProblem(await refund(id, 'other'), 500, 'provider_configuration_invalid')
    expect((await show(id)).refunds[0]).to.include({ status: 'refused' })
  })

  it('never exceeds the payment for twelve equal concurrent calls with different keys [ORDER-11, PAY-25]', async () => {
    const id = await paid()
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => refund(id, `k${n}`, { amount: '7.00' })))
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([...Array(10).fill(201), 422, 422])
    expect(provider.payments[0]?.refundedCents).to.equal(7000)
    expect(await show(id)).to.deep.include({ refunded_total: '70.00', status: 'paid' })
    expect((await show(id)).commission).to.include({ amount: '2.38', refunded: '2.33' })
  })

  it('a refund without a key, or beyond the rest, does not reach the provider [PAY-25, PAY-26]', async () => {
    const id = await paid()
    expectInvalid(await refund(id, null), ['Idempotency-Key'])
    expectInvalid(await refund(id, 'k', { amount: '71.53' }), ['amount'])
    expectInvalid(await refund(id, 'k', { amount: '0.00' }), ['amount'])
    expectProblem(await refund(9_000_001, 'k'), 404, 'not_found')
    expect(provider.refundCalls).to.deep.equal([])
  })

  it('refunds a named payment of an order that was paid twice [ORDER-6, ORDER-11]', async () => {
    const id = await paid()
    const [first] = provider.payments as [ProviderPayment]
    const second = { ...first, id: 'second', attemptId: null }
    provider.payments.push(second)
    await tell(id, second)
    const { data } = (await refund(id, 'k', { provider_payment_id: 'second' })).body
    expect(data).to.deep.include({ status: 'paid', refunded_total: '71.52', partially_refunded: false })
    expect(data.payments.map(({ status }: { status: string }) => status)).to.deep.equal(['paid', 'refunded'])
  })
})
