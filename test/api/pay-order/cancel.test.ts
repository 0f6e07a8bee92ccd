import { expect } from 'chai'
import { type ProviderPayment, ProviderUnavailable } from '#payments/provider-port.ts'
import { expectProblem } from '../../support/answers.ts'
import { lostAnswer } from '../../support/memory-provider.ts'
import { useCashier } from './cashier.ts'

describe('cancellation of an order with a pending payment', () => {
  const { company, provider, place, pay, show, tell } = useCashier()
  const { getPayment, cancelPayment } = provider
  afterEach(() => Object.assign(provider, { getPayment, cancelPayment }))

  const cancel = (id: number, key?: string) =>
    company.post(`/orders/${id}/cancel`, {}, key === undefined ? {} : { 'idempotency-key': key })
  const statuses = () => provider.payments.map(({ status }) => status)

  it('cancels at the provider first, including unanswered attempts, for concurrent requests too [ORDER-9]', async () => {
    const { id } = await place()
    await pay(id)
    provider.twist(lostAnswer)
    await pay(id)
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => cancel(id, n % 2 ? 'k' : undefined)))
    expect(replies.map(({ status }) => status)).to.deep.equal(Array(12).fill(200))
    expect(statuses()).to.deep.equal(['cancelled', 'cancelled'])
    const order = await show(id)
    expect(order).to.include({ status: 'cancelled' })
    expect(order.payments.map((payment: ProviderPayment) => payment.status)).to.deep.equal(['cancelled', 'cancelled'])
  })

  it('is refused if a payment is approved meanwhile [ORDER-9]', async () => {
    const { id } = await place()
    await pay(id)
    provider.cancelPayment = async (account, payment) => {
      provider.payments[0] = { ...(provider.payments[0] as ProviderPayment), status: 'approved' }
      return cancelPayment(account, payment)
    }
    expectProblem(await cancel(id), 409, 'order_already_paid')
    expect(await show(id)).to.include({ status: 'paid', cancelled_at: null })
  })

  it('responds 503 while the provider is unavailable, and leaves the order open [ORDER-9]', async () => {
    const { id } = await place()
    await pay(id)
    provider.getPayment = () => Promise.reject(new ProviderUnavailable('down'))
    expectProblem(await cancel(id, 'k'), 503, 'unavailable')
    expect(await show(id)).to.include({ status: 'pending', cancelled_at: null })
    Object.assign(provider, { getPayment })
    expect((await cancel(id, 'k')).status).to.equal(200)
  })

  it('includes a running attempt, which cancels its own payment [ORDER-9]', async () => {
    const { id } = await place()
    provider.twist(async (charge) => {
      expect((await cancel(id)).status).to.equal(200)
      return charge()
    })
    expect((await pay(id)).status).to.equal(201)
    expect(statuses()).to.deep.equal(['cancelled'])
    await tell(id, { ...(provider.payments[0] as ProviderPayment), status: 'approved' })
    expect(await show(id)).to.deep.include({ status: 'paid' })
    expect((await show(id)).alarms[0]).to.include({ code: 'paid_after_cancellation' })
  })
})
