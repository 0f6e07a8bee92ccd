import { expect } from 'chai'
import { createStore, updateStore } from '#commands/store-commands.ts'
import {
  ProviderMisconfigured,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { PUBLIC_URL } from '../../support/api.ts'
import { vault } from '../../support/master-key.ts'
import { card, useCashier } from './cashier.ts'

describe('payment of an order', () => {
  const { api, company, provider, logged, alias, place, pay, show, tell } = useCashier()

  it('sends the order’s total with the commission to the provider, and responds 201 with the order [PAY-1]', async () => {
    const order = await place()
    const reply = await pay(order.id)
    expect(reply.status, reply.text).to.equal(201)
    const [call] = provider.calls
    expect(call).to.deep.equal({
      account: { accessToken: 'TEST-access-token', sandbox: true },
      attemptId: reply.body.data.payment.attempt_id,
      orderReference: order.provider_reference,
      amountCents: 7152,
      applicationFeeCents: 238,
      paymentMethodId: 'visa',
      payer: { email: 'ana@example.com', name: 'Ana', document: null, address: null },
      token: 'card-token-1',
      installments: 1,
      expiresInMinutes: undefined,
      description: `Pedido ${order.id}`,
      notificationUrl: `${PUBLIC_URL}/webhook/paymentprovider/${alias()}/${order.id}?source_news=webhooks`,
    })
    const { status, payment } = reply.body.data
    expect(status).to.equal('pending')
    expect(payment).to.include({
      provider_payment_id: provider.payments[0]?.id,
      provider_status: 'pending',
      status: 'pending',
      payment_method_id: 'visa',
      amount: '71.52',
      commission_percentage: '3.33',
      live_mode: false,
    })
    expect((await company.get(`/orders/${order.id}`)).text).to.equal(reply.text)
  })

  it('gives a repeated call its whole time, and shows the provider’s deadline of an earlier call', async () => {
    const { id } = await place()
    const body = { method: 'pix', payer: { email: 'ana@example.com' } }
    const earlier = new Date(Date.now() + 1_800_000).toISOString()
    provider.twist((charge) => {
      Object.assign(charge(), { expiresAt: earlier })
      throw new ProviderUnavailable('the answer was lost')
    })
    expectProblem(await pay(id, 'k', body), 503, 'unavailable')
    const { payment } = (await pay(id, 'k', body)).body.data
    expect(provider.calls.map(({ expiresInMinutes }) => expiresInMinutes)).to.deep.equal([60, 60])
    expect(new Date(payment.expires_at).toISOString()).to.equal(earlier)
    expect((await show(id)).payment.expires_at).to.equal(payment.expires_at)
  })

  it('returns payment details and deadline of a Pix, in Portuguese, while it is pending', async () => {
    const { id } = await place()
    const pix = { qr_code: '000201…', qr_code_base64: 'aVZCT1I=', ticket_url: 'https://provider.example/1' }
    provider.twist((charge) => Object.assign(charge(), { details: { pix }, statusDetail: 'pending_waiting_transfer' }))
    const { data } = (
      await pay(id, 'k', { method: 'pix', payer: { email: 'ana@example.com' }, expires_in_minutes: 60 })
    ).body
    const { started_at, expires_at } = data.payment
    expect(Date.parse(expires_at) - Date.parse(started_at)).to.equal(3_600_000)
    expect(provider.calls[0]).to.include({ expiresInMinutes: 60 })
    expect(data.payment).to.deep.include({
      method: 'pix',
      pix: { ...pix, expires_at },
      boleto: null,
      card: null,
      status_detail: 'Aguardando a transferência do comprador.',
      provider_status_detail: 'pending_waiting_transfer',
    })
    await tell(id, { ...(provider.payments[0] as ProviderPayment), status: 'approved', statusDetail: 'accredited' })
    expect((await show(id)).payment).to.deep.include({ pix: null, status_detail: 'Pagamento aprovado.' })
  })

  it('completes the payer from the order’s customer, and reports what a boleto still lacks [PAY-21]', async () => {
    const { id: customer_id } = (
      await company.post('/customers', {
        name: 'Ana Souza',
        document: '52998224725',
        email: 'ana@example.com',
        address: {
          zip: '01310-100',
          street: 'Av. Paulista',
          number: '1000',
          district: 'Bela Vista',
          city: 'São Paulo',
        },
      })
    ).body.data
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '71.52' }]
    const { id } = (await company.post('/orders', { store_alias: alias(), customer_id, items })).body.data
    expectInvalid(await pay(id, undefined, { method: 'boleto' }), ['payer.address.state'])
    expect(provider.calls).to.have.length(0)
    expect((await pay(id, undefined, { method: 'boleto', payer: { address: { state: 'SP' } } })).status).to.equal(201)
    expect(provider.calls[0]).to.deep.include({
      paymentMethodId: 'bolbradesco',
      payer: {
        name: 'Ana Souza',
        document: '52998224725',
        email: 'ana@example.com',
        address: {
          zip_code: '01310100',
          street: 'Av. Paulista',
          number: '1000',
          neighborhood: 'Bela Vista',
          city: 'São Paulo',
          state: 'SP',
        },
      },
    })
  })

  it('returns the payment methods of an order, and the instalments of a card', async () => {
    const { id } = await place()
    const offered = async (query = '') => (await company.get(`/orders/${id}/payment-options${query}`)).body.data
    expect(await offered()).to.deep.equal({ amount: '71.52', methods: ['pix', 'card', 'boleto'], card: null })
    expect((await offered('?bin=423564')).card).to.deep.equal({
      brand: 'visa',
      installments: [{ installments: 1, installment_amount: '71.52', total_amount: '71.52' }],
    })
    expectInvalid(await company.get(`/orders/${id}/payment-options?bin=42`), ['bin'])
  })

  it('says why it has no payment methods: no account at the provider, or no answer from it', async () => {
    await company.run(createStore, { alias: `${alias()}-nova`, commission_percentage: '1', sandbox: true })
    const items = [{ description: 'Cesta', quantity: '1', unit_price: '1.00' }]
    const order = { store_alias: `${alias()}-nova`, customer: { name: 'Ana' }, items }
    const unconnected = (await company.post('/orders', order)).body.data.id
    const { id } = await place()
    provider.readFailure = new ProviderUnavailable('away')
    for (const [asked, reason] of [
      [unconnected, 'provider_not_connected'],
      [id, 'provider_unreachable'],
    ]) {
      const reply = await company.get(`/orders/${asked}/payment-options`)
      expectProblem(reply, 503, 'unavailable')
      expect(reply.body.error.details).to.deep.equal({ reason })
      expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
    }
    provider.readFailure = null
  })

  describe('if the provider makes no payment', () => {
    it('responds 422 payment_refused with the causes, records them, and accepts the same key again [PAY-4]', async () => {
      const { id } = await place()
      provider.twist(() => {
        throw new ProviderRefused([{ code: '3034', description: 'Invalid card_number_validation' }])
      })
      const refused = await pay(id, 'k')
      expect(expectProblem(refused, 422, 'payment_refused')).to.deep.equal({
        causes: [{ code: '3034', description: 'Invalid card_number_validation' }],
      })
      const order = await show(id)
      expect(order.status).to.equal('pending')
      expect(order.payment).to.include({ status: 'failed', refusal: '3034: Invalid card_number_validation' })
      const corrected = await pay(id, 'k', { ...card, token: 'card-token-2' })
      expect(corrected.status).to.equal(201)
      expect(provider.payments).to.have.length(1)
    })

    it('responds 500 provider_configuration_invalid to bad credentials, and logs the cause [PAY-5]', async () => {
      const { id } = await place()
      provider.twist(() => {
        throw new ProviderMisconfigured('401')
      })
      expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
      provider.twist((charge) => ({ ...charge(), liveMode: true }))
      expectProblem(await pay(id), 500, 'provider_configuration_invalid')
      await company.run(createStore, { alias: `${alias()}-nova`, commission_percentage: '1', sandbox: true })
      const items = [{ description: 'Cesta', quantity: '1', unit_price: '1.00' }]
      const order = { store_alias: `${alias()}-nova`, customer: { name: 'Ana' }, items }
      const { data } = (await company.post('/orders', order)).body
      expectProblem(await pay(data.id, 'n'), 500, 'provider_configuration_invalid')
      expect(logged.map(String)).to.deep.equal([
        'ProviderMisconfigured: 401',
        'ProviderMisconfigured: payment is of the other mode; check whether the access token is a test or a production one',
        'ProviderMisconfigured: store has no access token; set one',
      ])
      await company.run(updateStore, { alias: `${alias()}-nova`, access_token: 'TEST-access-token' })
      expect((await pay(data.id, 'n')).status).to.equal(201)
    })

    it('tells owners at the order, not the buyer, that a commission needs another token [PAY-53]', async () => {
      const { id } = await place()
      provider.twist(() => {
        throw new ProviderMisconfigured('provider responded 400: 2059 no fee', [
          { code: '2059', description: 'no fee' },
        ])
      })
      expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
      expect((await show(id)).payment).to.include({ refusal: 'configuração do provedor inválida (2059: no fee)' })
      expect(logged.map(String)).to.deep.equal(['ProviderMisconfigured: provider responded 400: 2059 no fee'])
    })

    for (const [mode, sandbox] of [
      ['production payment of a test store', true],
      ['test payment of a production store', false],
    ] as const) {
      const otherStore = async () => {
        await company.run(createStore, {
          alias: `modo-${alias()}`,
          commission_percentage: '1',
          sandbox,
          access_token: 'T',
        })
        const items = [{ description: 'Cesta', quantity: '1', unit_price: '10.00' }]
        const order = { store_alias: `modo-${alias()}`, customer: { name: 'Ana' }, items }
        return (await company.post('/orders', order)).body.data.id as number
      }
      const inOtherMode = (charge: () => ProviderPayment) => Object.assign(charge(), { liveMode: sandbox })

      it(`cancels a ${mode}, and frees the key [PAY-5, PAY-52]`, async () => {
        const id = await otherStore()
        provider.twist(inOtherMode)
        expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
        expect(provider.payments.map(({ status }) => status)).to.deep.equal(['cancelled'])
        expect((await show(id)).payment).to.include({ status: 'failed', provider_payment_id: null })
        expect((await show(id)).payment.refusal).to.include('outro ambiente')
      })

      it(`gives a ${mode} back that was approved at once, in process or not [PAY-52]`, async () => {
        provider.status = 'approved'
        const id = await otherStore()
        provider.twist(inOtherMode)
        expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
        provider.twist(inOtherMode)
        provider.twistRefund((give) => {
          give()
          throw new ProviderRefused([{ code: '400', description: 'in process' }])
        })
        expectProblem(await pay(id, 'l'), 500, 'provider_configuration_invalid')
        expect(provider.payments.map(({ refundedCents }) => refundedCents)).to.deep.equal([1000, 1000])
        expect((await show(id)).status).to.equal('pending')
      })

      it(`leaves the sweep to end a ${mode} with a lost answer [PAY-52]`, async () => {
        const id = await otherStore()
        provider.twist((charge) => {
          inOtherMode(charge)
          throw new ProviderUnavailable('the answer was lost')
        })
        expectProblem(await pay(id, 'k'), 503, 'unavailable')
        const { pool, writer } = api.core
        const log = (message: string, error: unknown) => expect.fail(`${message}: ${error}`)
        await sweepOnce({ pool, vault, writer, provider, schedule: [0], log }, new AbortController().signal)
        expect(provider.payments.map(({ status }) => status)).to.deep.equal(['cancelled'])
        expect((await show(id)).payment).to.include({ status: 'failed' })
      })
    }

    it('responds 503 with Retry-After if the result is unknown, or another payment is returned [PAY-6]', async () => {
      const { id } = await place()
      provider.twist(() => {
        throw new ProviderUnavailable('provider call timed out')
      })
      const down = await pay(id, 'k')
      expectProblem(down, 503, 'unavailable')
      expect(down.headers.get('retry-after')).to.match(/^[1-9]\d*$/)
      provider.twist((charge) => ({ ...charge(), amountCents: 1 }))
      expectProblem(await pay(id, 'k'), 503, 'unavailable')
      provider.twist((charge) => ({ ...charge(), externalReference: `order-${id}` }))
      expectProblem(await pay(id, 'k'), 503, 'unavailable')
      expect((await show(id)).payment).to.include({ status: 'pending', provider_payment_id: null, refusal: null })
      expect((await pay(id, 'k')).status).to.equal(201)
      expect(provider.payments).to.have.length(1)
    })
  })

  it('keeps secrets out of the ledger, the responses and the stored responses [PAY-8, LEDGER-5]', async () => {
    const { id } = await place()
    const reply = await pay(id, 'k')
    const { rows } = await api.core.pool.query<{ text: string }>(
      `select envelope::text as text from ledger.events where stream = $1
       union all select body from ops.idempotent_answers where company_id = $2
       union all select doc::text from read.stores where company_id = $2`,
      [`company-${company.id}`, company.id],
    )
    const kept = [reply.text, ...rows.map(({ text }) => text)].join('\n')
    expect(kept).to.include('PaymentStarted').and.to.include(alias())
    for (const secret of ['TEST-access-token', 'card-token-1', 'ana@example.com']) expect(kept).to.not.include(secret)
  })
})
