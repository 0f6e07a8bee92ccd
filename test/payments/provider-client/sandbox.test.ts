import { expect } from 'chai'
import { startSandbox } from '#demo/provider-sandbox/server.ts'
import { createProviderClient } from '#payments/provider-client.ts'
import { ProviderMisconfigured, ProviderRefused } from '#payments/provider-port.ts'
import { account, callsOf, failure, newPayment } from './provider.ts'

describe('client of the payment provider against the sandbox', () => {
  let sandbox: Awaited<ReturnType<typeof startSandbox>>
  let client: ReturnType<typeof createProviderClient>

  before(async () => {
    sandbox = await startSandbox({ port: 0, secret: null })
    sandbox.notifier.delivery = 'lose'
    client = createProviderClient({ baseUrl: sandbox.url })
  })
  after(async () => {
    await client.close()
    await sandbox.close()
  })

  it('creates a payment with everything that the provider has to know [PAY-1]', async () => {
    const payment = await client.createPayment(account, newPayment())
    expect(payment).to.deep.equal({
      id: payment.id,
      status: 'pending',
      statusDetail: 'pending_waiting_payment',
      externalReference: 'order-17',
      attemptId: newPayment().attemptId,
      amountCents: 4630,
      liveMode: false,
    })
    expect(sandbox.book.get(payment.id)).to.deep.include({
      transaction_amount: 46.3,
      application_fee: 1.16,
      payment_method_id: 'pix',
      payer: { email: 'maria@example.com' },
      description: 'Pedido 17',
      notification_url: newPayment().notificationUrl,
    })
    expect(await client.getPayment(account, payment.id)).to.deep.equal(payment)
  })

  it('charges once for one attempt, however often it is made [PAY-3]', async () => {
    const attempt = newPayment({ attemptId: '0190d6a0-0000-7000-8000-000000000002', orderReference: 'order-18' })
    const made = await Promise.all(Array.from({ length: 5 }, () => client.createPayment(account, attempt)))
    expect(new Set(made.map(({ id }) => id))).to.have.property('size', 1)
    expect(await client.findPayments(account, 'order-18')).to.deep.equal([made[0]])
  })

  const attempt = (n: number) => `0190d6a0-0000-7000-8000-00000000009${n}`

  it('finds all payments of an order, and none of another account', async () => {
    for (const n of [1, 2])
      await client.createPayment(account, newPayment({ attemptId: attempt(n), orderReference: 'order-19' }))
    expect((await client.findPayments(account, 'order-19')).map(({ attemptId }) => attemptId)).to.deep.equal([
      attempt(2),
      attempt(1),
    ])
    expect(await client.findPayments({ ...account, accessToken: 'TEST-other' }, 'order-19')).to.deep.equal([])
    expect(await client.findPayments(account, 'order-1')).to.deep.equal([])
  })

  it('knows no payment that is not there, or is another account’s', async () => {
    const { id } = await client.createPayment(account, newPayment())
    expect(await client.getPayment({ ...account, accessToken: 'TEST-other' }, id)).to.equal(null)
    for (const unknown of ['1', 'abc', '..', '../users/me', '1/refunds'])
      expect(await client.getPayment(account, unknown), unknown).to.equal(null)
  })

  it('tells what the provider refused, and why', async () => {
    const error = await failure(
      client.createPayment(account, newPayment({ attemptId: 'refused', paymentMethodId: 'cheque' })),
    )
    expect(error).to.be.instanceOf(ProviderRefused)
    expect((error as ProviderRefused).causes).to.deep.equal([
      { code: '10102', description: 'Payment method not found' },
    ])
  })

  it('recognises credentials that are missing or not accepted', async () => {
    for (const accessToken of ['INVALID-token', '']) {
      const stranger = { accessToken, sandbox: true }
      for (const call of callsOf(client, stranger)) expect(await failure(call)).to.be.instanceOf(ProviderMisconfigured)
    }
  })
})
