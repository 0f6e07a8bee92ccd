import { expect } from 'chai'
import { createItem } from '#commands/item-commands.ts'
import {
  type ProviderPayment,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { vault } from '../../support/master-key.ts'
import { useCashier } from './cashier.ts'

describe('refund in process at the provider', () => {
  const { api, company, provider, alias, place, pay, show, tell } = useCashier()
  beforeEach(() => {
    provider.status = 'approved'
    provider.refundStatus = 'pending'
    provider.refundCalls.length = 0
    provider.readFailure = null
  })

  async function paid(): Promise<number> {
    const { id } = await place('100.00')
    expect((await pay(id)).body.data.status).to.equal('paid')
    return id
  }

  /** Two of an item of which five are in stock, paid with 100.00. */
  async function paidGoods(): Promise<{ id: number; item: number }> {
    const { id: item } = await company.run(createItem, { type: 'product', name: 'Cesta', price: '50.00', stock: '5' })
    const items = [{ catalog_item_id: item, quantity: '2' }]
    const order = { store_alias: alias(), customer: { name: 'Ana' }, items }
    const { id } = (await company.post('/orders', order)).body.data
    await pay(id)
    return { id, item }
  }

  const refund = (id: number, key: string, body: object = { amount: '30.00' }) =>
    company.post(`/orders/${id}/refunds`, body, { 'idempotency-key': key })
  const stockOf = async (item: number) => (await company.get(`/catalog/items/${item}`)).body.data.stock
  const payment = () => provider.payments[0] as ProviderPayment
  const listed = () => payment().refunds ?? []
  /** Refunds at the provider that gave or may give money back, in cents. */
  const taken = () => listed().reduce((sum, each) => (each.status === 'refused' ? sum : sum + each.amountCents), 0)
  /** Decides the first refund, which goes to the end of the list. */
  const decide = (status: ProviderRefund['status']) =>
    provider.listRefund(payment().id, { ...(listed()[0] as ProviderRefund), status })

  async function sweep(): Promise<void> {
    const { pool, writer } = api.core
    const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
    await sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
  }

  /** The provider takes the refund, and answers as if it had refused it. */
  const refusedButTaken = (give: () => ProviderRefund): never => {
    give()
    throw new ProviderRefused([{ code: '400', description: 'bad_request' }])
  }
  const refusing = (): never => {
    throw new ProviderRefused([{ code: '2063', description: 'no balance' }])
  }

  it('is 201 with a pending refund, which the sweep completes; its key gives the stored answer [PAY-27]', async () => {
    const id = await paid()
    const made = await refund(id, 'k')
    expect(made.status, made.text).to.equal(201)
    expect(made.body.data.refunds[0]).to.include({ status: 'pending', amount: '30.00', completed_at: null })
    expect(made.body.data).to.include({ refunded_total: '0.00', partially_refunded: false })
    expectInvalid(await refund(id, 'more', { amount: '70.01' }), ['amount'])
    decide('completed')
    await sweep()
    expect(await show(id)).to.include({ refunded_total: '30.00', partially_refunded: true })
    expect((await show(id)).refunds[0]).to.include({ status: 'completed' })
    expect((await refund(id, 'k')).text).to.equal(made.text)
    expect(provider.refundCalls).to.have.length(1)
  })

  it('is pending if the provider answers 400 and lists it in process, and is not requested again [PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund(refusedButTaken)
    const made = await refund(id, 'k')
    expect(made.status, made.text).to.equal(201)
    expect(made.body.data.refunds[0]).to.include({ status: 'pending', provider_refund_id: listed()[0]?.id })
    expectInvalid(await refund(id, 'more', { amount: '100.00' }), ['amount'])
    await sweep()
    expect(provider.refundCalls).to.have.length(1)
    decide('completed')
    await tell(id, payment())
    expect(await show(id)).to.include({ refunded_total: '30.00', status: 'paid' })
  })

  it('returns goods of a refund answered 400 only when it is done [PAY-27, ORDER-12]', async () => {
    const { id, item } = await paidGoods()
    provider.twistRefund(refusedButTaken)
    const made = await refund(id, 'k', { restock: [{ catalog_item_id: item, quantity: '2' }] })
    expect(made.status, made.text).to.equal(201)
    expect(await stockOf(item)).to.equal('3.000')
    decide('completed')
    await sweep()
    expect(await show(id)).to.include({ status: 'refunded', refunded_total: '100.00' })
    expect(await stockOf(item)).to.equal('5.000')
    await sweep()
    expect(await stockOf(item)).to.equal('5.000')
  })

  it('is found after a time-out without a second request [PAY-25, PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund((give) => {
      give()
      throw new ProviderUnavailable('timed out')
    })
    expect((await refund(id, 'k')).body.data.refunds[0]).to.include({ status: 'pending' })
    provider.twistRefund((give) => {
      give()
      provider.readFailure = new ProviderUnavailable('unreachable')
      throw new ProviderUnavailable('timed out')
    })
    expectProblem(await refund(id, 'l'), 503, 'unavailable')
    provider.readFailure = null
    await sweep()
    expect(provider.refundCalls).to.have.length(2)
    expect((await show(id)).refunds.map((each: { status: string }) => each.status)).to.deep.equal([
      'pending',
      'pending',
    ])
    expect(taken()).to.equal(6_000)
  })

  it('is not taken for one that the provider’s own site made before with the same amount [PAY-27]', async () => {
    const id = await paid()
    provider.listRefund(payment().id, { id: 'own-site', amountCents: 3_000, status: 'completed' })
    provider.twistRefund(refusing)
    expectProblem(await refund(id, 'k'), 422, 'refund_refused')
    expect(await show(id)).to.include({ refunded_total: '30.00' })
    expect((await show(id)).refunds[0]).to.include({ status: 'refused' })
    expectInvalid(await refund(id, 'more', { amount: '70.01' }), ['amount'])
  })

  it('says nothing while the refunds of the payment cannot be read [PAY-27]', async () => {
    const id = await paid()
    provider.twistRefund((give) => {
      provider.readFailure = new ProviderUnavailable('unreachable')
      return refusedButTaken(give)
    })
    expectProblem(await refund(id, 'k'), 503, 'unavailable')
    expect((await show(id)).refunds[0]).to.include({ status: 'pending' })
    provider.readFailure = null
    expect((await refund(id, 'k')).status).to.equal(201)
    expect(provider.refundCalls).to.have.length(1)
  })

  it('refuses a new request for money that turns out to have gone back already [PAY-28]', async () => {
    const id = await paid()
    provider.twistRefund(refusing)
    await refund(id, 'k')
    provider.listRefund(payment().id, { id: 'late', amountCents: 3_000, status: 'pending' })
    const { causes } = expectProblem(await refund(id, 'other'), 422, 'refund_refused')
    expect(causes).to.have.nested.property('[0].code', 'refund_found')
    expect(provider.refundCalls).to.have.length(1)
    const order = await show(id)
    expect(order.refunds.map((each: { status: string }) => each.status)).to.deep.equal(['pending', 'refused'])
    expect(order.alarms[0]).to.include({ code: 'refund_after_refusal' })
    expect((await company.post(`/orders/${id}/alarms/${payment().id}/acknowledge`, {})).status).to.equal(200)
    // A person has seen it: the same key may now ask.
    expect((await refund(id, 'other')).status).to.equal(201)
    expect(taken()).to.equal(6_000)
  })

  it('asks a repeated key of a refused refund for nothing if its money went back after all [PAY-28]', async () => {
    const id = await paid()
    provider.twistRefund(refusing)
    await refund(id, 'k')
    provider.listRefund(payment().id, { id: 'late', amountCents: 3_000, status: 'pending' })
    expect((await refund(id, 'k')).body.data.refunds[0]).to.include({ status: 'pending', provider_refund_id: 'late' })
    expect(provider.refundCalls).to.have.length(1)
  })

  it('concurrent requests answered 400 never refund more than was paid [PAY-27, ORDER-11]', async () => {
    const id = await paid()
    for (let n = 0; n < 12; n += 1) provider.twistRefund(refusedButTaken)
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => refund(id, `k${n}`)))
    expect(taken()).to.equal(9_000)
    expect(replies.filter(({ status }) => status === 422)).to.have.length(9)
    for (const { status } of replies) expect(status).to.be.oneOf([201, 422, 503])
    for (let n = 0; n < 3; n += 1) decide('completed')
    for (let n = 0; n < 3; n += 1) await Promise.all([0, 1, 2].map((k) => refund(id, `k${k}`)))
    expect(taken()).to.be.at.most(10_000)
    // Keys that were answered with 201 repeat their answer, without a look at the provider.
    await sweep()
    expect(await show(id)).to.include({ refunded_total: '90.00' })
  })
})
