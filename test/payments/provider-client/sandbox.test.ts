import { expect } from 'chai'
import { startSandbox } from '#demo/provider-sandbox/sandbox-listener.ts'
import { createProviderClient } from '#payments/provider-client.ts'
import { ProviderMisconfigured, ProviderRefused } from '#payments/provider-port.ts'
import { account, callsOf, failure, newPayment } from './provider.ts'

describe('payment provider client with the sandbox', () => {
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

  it('creates a payment with all required data [PAY-1]', async () => {
    const payment = await client.createPayment(account, newPayment())
    expect(payment).to.deep.equal({
      id: payment.id,
      status: 'pending',
      statusDetail: 'pending_waiting_payment',
      externalReference: 'order-17',
      attemptId: newPayment().attemptId,
      amountCents: 4630,
      liveMode: false,
      refundedCents: 0,
      refunds: [],
      expiresAt: null,
      changedAt: payment.changedAt,
      details: payment.details,
    })
    expect(payment.details.pix).to.have.all.keys('qr_code', 'qr_code_base64', 'ticket_url')
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

  it('charges once per attempt, for any number of calls [PAY-3]', async () => {
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

  it('returns null for a missing payment, or one of another account', async () => {
    const { id } = await client.createPayment(account, newPayment())
    expect(await client.getPayment({ ...account, accessToken: 'TEST-other' }, id)).to.equal(null)
    for (const unknown of ['1', 'abc', '..', '../users/me', '1/refunds'])
      expect(await client.getPayment(account, unknown), unknown).to.equal(null)
  })

  const payer = {
    email: 'maria@example.com',
    name: 'Maria da Silva',
    document: '52998224725',
    address: {
      zip_code: '01310100',
      street: 'Av. Paulista',
      number: '1000',
      neighborhood: 'Bela Vista',
      city: 'São Paulo',
      state: 'SP',
    },
  }

  it('sends all known payer data and the deadline, and reads boleto details [PAY-21]', async () => {
    const boleto = newPayment({
      attemptId: 'boleto',
      paymentMethodId: 'bolbradesco',
      payer,
      expiresInMinutes: 1_440,
    })
    const made = await client.createPayment(account, boleto)
    expect(made.details.boleto).to.have.all.keys('barcode', 'digitable_line', 'ticket_url')
    expect(sandbox.book.get(made.id)).to.deep.include({
      payer: {
        email: 'maria@example.com',
        first_name: 'Maria',
        last_name: 'da Silva',
        identification: { type: 'CPF', number: '52998224725' },
        address: {
          zip_code: '01310100',
          street_name: 'Av. Paulista',
          street_number: '1000',
          neighborhood: 'Bela Vista',
          city: 'São Paulo',
          federal_unit: 'SP',
        },
      },
    })
    const until = Date.parse(String(sandbox.book.get(made.id)?.date_of_expiration)) - Date.now()
    expect(until).to.be.within(86_400_000 - 60_000, 86_400_000)
    expect(Date.parse(String(made.expiresAt)) - Date.now()).to.be.within(86_400_000 - 60_000, 86_400_000)
    const bare = { ...boleto, attemptId: 'bare', payer: { ...payer, address: null } }
    expect(await failure(client.createPayment(account, bare))).to.be.instanceOf(ProviderRefused)
  })

  it('pays by card only in the instalments offered for its amount and first digits', async () => {
    const offered = await client.getCardOptions(account, 4630, '423564')
    expect(offered?.brand).to.equal('visa')
    expect(offered?.installments.map(({ installments }) => installments)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(offered?.installments[1]).to.deep.equal({ installments: 2, installmentCents: 2385, totalCents: 4770 })
    expect(await client.getCardOptions(account, 4630, '999999')).to.equal(null)
    expect(await client.getPaymentMethods(account)).to.include.members(['pix', 'bolbradesco', 'visa'])
    const card = (installments: number) =>
      newPayment({ attemptId: `card-${installments}`, paymentMethodId: 'visa', token: 'APRO', installments })
    const paid = await client.createPayment(account, card(9))
    expect(paid).to.deep.include({ status: 'approved', details: { card: { last_four: '5682', installments: 9 } } })
    expect(await failure(client.createPayment(account, card(10)))).to.be.instanceOf(ProviderRefused)
  })

  it('requests a refund so that one in process is told as such, and reads it with the payment [PAY-27]', async () => {
    const card = newPayment({ attemptId: 'to-refund', paymentMethodId: 'visa', token: 'APRO' })
    const { id } = await client.createPayment(account, card)
    sandbox.book.move(id, 'refund-in-process')
    const refund = { refundId: 'r', paymentId: id, amountCents: 1000 }
    const made = await client.createRefund(account, refund)
    expect(made).to.include({ amountCents: 1000, status: 'pending' })
    expect(await client.createRefund(account, refund)).to.deep.equal(made)
    expect(await client.getPayment(account, id)).to.deep.include({ refundedCents: 0, refunds: [made] })
    sandbox.book.move(id, 'refund-rejected')
    const refunds = [{ ...made, status: 'refused' }]
    expect(await client.getPayment(account, id)).to.deep.include({ refundedCents: 0, refunds })
  })

  it('reports a refusal with its cause', async () => {
    const error = await failure(
      client.createPayment(account, newPayment({ attemptId: 'refused', paymentMethodId: 'cheque' })),
    )
    expect(error).to.be.instanceOf(ProviderRefused)
    expect((error as ProviderRefused).causes).to.deep.equal([
      { code: '10102', description: 'Payment method not found' },
    ])
  })

  it('detects missing or rejected credentials', async () => {
    for (const accessToken of ['INVALID-token', '']) {
      const stranger = { accessToken, sandbox: true }
      for (const call of callsOf(client, stranger)) expect(await failure(call)).to.be.instanceOf(ProviderMisconfigured)
    }
  })
})
