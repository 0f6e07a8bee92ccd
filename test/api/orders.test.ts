import { expect } from 'chai'
import { createStore, updateStore } from '#commands/store-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import {
  ProviderConflict,
  ProviderMisconfigured,
  type ProviderPayment,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { sweepOnce } from '#payments/sweep.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME } from '../support/answers.ts'
import { PUBLIC_URL, startApi, type TestCompany } from '../support/api.ts'
import { vault } from '../support/master-key.ts'
import { lostAnswer } from '../support/memory-provider.ts'
import { alarmedOrder } from '../support/orders.ts'
import { useApi } from '../support/use-api.ts'
import { card, useCashier } from './cashier.ts'

describe('orders', () => {
  const api = useApi()
  let company: TestCompany
  let alias: string
  let stores = 0

  const openStore = async (owner: TestCompany): Promise<string> => {
    const store = { alias: `loja-${++stores}`, commission_percentage: '5.00', sandbox: true }
    return (await owner.run(createStore, store)).alias
  }

  beforeEach(async () => {
    company = await api.company()
    alias = await openStore(company)
  })

  const body = (rest: object = {}) => ({
    store_alias: alias,
    customer: { name: 'Ana' },
    items: [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }],
    ...rest,
  })
  const place = (rest: object = {}) => company.post('/orders', body(rest))

  it('responds 201 with the order, priced like a sale, with equal bytes in GET and list [ORDER-1]', async () => {
    const item = (
      await company.post('/catalog/items', { name: 'Café', price: '18.90', stock: '5', external_id: 'caf' })
    ).body.data
    const reply = await place({
      external_id: 'pedido-1',
      customer: { name: 'Ana', email: 'Ana@Example.com', document: '52998224725' },
      items: [
        { catalog_item_id: item.id, quantity: '2.345' },
        { catalog_item_external_id: 'caf', quantity: '1', unit_price: '15.00' },
        { description: 'Laço', quantity: '1', unit_price: '3.50' },
      ],
      delivery_fee: '8.70',
      delivery: { method: 'delivery', due_at: '2026-11-21T15:00:00Z', address: { street: 'Rua Um', city: 'Recife' } },
    })
    expect(reply.status).to.equal(201)
    const { id, created_at, updated_at, provider_reference, payment_url, ...order } = reply.body.data
    expect(payment_url).to.include(`/pagar/${alias}/${id}-`)
    expect(provider_reference).to.match(new RegExp(`^order-${id}-[0-9a-f-]{36}$`))
    expect(created_at).to.match(LOCAL_TIME).and.to.equal(updated_at)
    const ofCatalog = { catalog_item_id: item.id, external_id: 'caf', description: 'Café' }
    expect(order).to.deep.equal({
      external_id: 'pedido-1',
      store_alias: alias,
      status: 'pending',
      customer: {
        id: null,
        external_id: null,
        name: 'Ana',
        email: 'ana@example.com',
        document: '52998224725',
        phone: null,
      },
      items: [
        { ...ofCatalog, quantity: '2.345', unit_price: '18.90', total: '44.32' },
        { ...ofCatalog, quantity: '1.000', unit_price: '15.00', total: '15.00' },
        {
          catalog_item_id: null,
          external_id: null,
          description: 'Laço',
          quantity: '1.000',
          unit_price: '3.50',
          total: '3.50',
        },
      ],
      subtotal: '62.82',
      delivery_fee: '8.70',
      total: '71.52',
      delivery: {
        method: 'delivery',
        due_at: '2026-11-21T12:00:00.000-03:00',
        address: {
          ...{
            zip: null,
            street: 'Rua Um',
            number: null,
            complement: null,
            district: null,
            city: 'Recife',
            state: null,
          },
        },
      },
      delivery_state: 'to_do',
      receivable_id: null,
      payment: null,
      payments: [],
      commission: null,
      refunds: [],
      refunded_total: '0.00',
      store_net: null,
      metadata: null,
      partially_refunded: false,
      dispute: null,
      alarms: [],
      sale_id: null,
      goods_out: null,
      released_at: null,
      dispatched_at: null,
      delivered_at: null,
      refunded_at: null,
      cancelled_at: null,
      cancel_reason: null,
      forgotten_at: null,
    })
    expect((await company.get(`/orders/${id}`)).text).to.equal(reply.text)
    expect((await company.get('/orders')).body.data).to.deep.equal([reply.body.data])
  })

  it('with an alarm are listed until a key acknowledges it [HTTP-15]', async () => {
    const id = await alarmedOrder(company, alias)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([id])
    expectInvalid(await company.get('/orders?alarm=seen'), ['alarm'])
    const { provider_payment_id } = (await company.get(`/orders/${id}`)).body.data.alarms[0]
    const seen = await company.post(`/orders/${id}/alarms/${provider_payment_id}/acknowledge`, {})
    expect(seen.status, seen.text).to.equal(200)
    expect(seen.body.data.alarms[0].acknowledged_by).to.match(/^api_key\/\d+$/)
    expect(seen.body.data.alarms[0].acknowledged_at).to.match(LOCAL_TIME)
    expect(idsIn(await company.get('/orders?alarm=open'))).to.deep.equal([])
  })

  it('are listed by store, status, external id and time of change', async () => {
    const other = await openStore(company)
    const first = (await place({ external_id: 'a' })).body.data
    const second = (await place({ store_alias: other, external_id: 'b' })).body.data
    const ids = async (query: string) => idsIn(await company.get(`/orders?${query}`))
    expect(await ids('')).to.deep.equal([first.id, second.id])
    expect(await ids(`store_alias=${other}`)).to.deep.equal([second.id])
    expect(await ids('external_id=a')).to.deep.equal([first.id])
    expect(await ids('status=pending')).to.deep.equal([first.id, second.id])
    expect(await ids('status=paid')).to.deep.equal([])
    expect(await ids(`updated_since=${encodeURIComponent(second.updated_at)}`)).to.include(second.id)
    expectInvalid(await company.get('/orders?status=released'), ['status'])
    const page = await company.get('/orders?limit=1')
    expect(page.body.meta).to.include({ has_more: true, limit: 1 })
    expect(idsIn(await company.get(`/orders?limit=1&cursor=${page.body.meta.next_cursor}`))).to.deep.equal([second.id])
  })

  it('equal concurrent orders make one; a used external id is 409 with its order [ORDER-1]', async () => {
    const replies = await Promise.all(Array.from({ length: 5 }, () => place({ external_id: 'a' })))
    const [created, ...others] = replies.filter(({ status }) => status === 201)
    expect(others).to.have.length(0)
    const refused = replies.filter((reply) => reply !== created)
    for (const reply of refused) {
      expect(expectProblem(reply, 409, 'duplicate_resource')).to.deep.equal({
        field: 'external_id',
        conflicting_id: created?.body.data.id,
      })
    }
    const theirs = await api.company()
    const elsewhere = await theirs.post('/orders', body({ external_id: 'a', store_alias: await openStore(theirs) }))
    expect(elsewhere.status).to.equal(201)
  })
})

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

    it('responds 500 provider_configuration_invalid to bad credentials, and logs the cause [PAY-53]', async () => {
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

      it(`cancels a ${mode}, and frees the key [PAY-53, PAY-52]`, async () => {
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

    it('responds 503 with Retry-After if the result is unknown, or another payment is returned [HTTP-13]', async () => {
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

describe('payment of an order with an Idempotency-Key', () => {
  const { api, company, provider, place, pay, show, tell } = useCashier()

  it('replays the final response despite later changes, with one provider call', async () => {
    const { id } = await place()
    const first = await pay(id, 'k')
    await tell(id, { ...(provider.payments[0] as ProviderPayment), status: 'approved' })
    const again = await pay(id, 'k')
    expect([again.status, again.text]).to.deep.equal([201, first.text])
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(provider.calls).to.have.length(1)
  })

  it('charges once if the response was lost and the request is repeated [PAY-3]', async () => {
    const { id } = await place()
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    const second = await pay(id, 'k')
    expect(second.status).to.equal(201)
    expect(second.headers.has('idempotent-replayed')).to.equal(false)
    expect(provider.calls.map((call) => call.attemptId)).to.deep.equal(
      Array(2).fill(second.body.data.payment.attempt_id),
    )
    expect(provider.payments).to.have.length(1)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('finds the existing payment if the provider reports other content for a repetition [PAY-50]', async () => {
    const { id } = await place()
    const conflict = () => {
      throw new ProviderConflict('409')
    }
    provider.twist(conflict)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(conflict)
    const reply = await pay(id, 'k')
    expect([reply.status, reply.body.data?.payment.provider_payment_id]).to.deep.equal([201, provider.payments[0]?.id])
    expect(provider.payments).to.have.length(1)
  })

  it('leaves a possible charge open if the credentials are wrong afterwards [PAY-51]', async () => {
    const { id } = await place()
    provider.twist(lostAnswer)
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.twist(() => {
      throw new ProviderMisconfigured('401')
    })
    expectProblem(await pay(id, 'k'), 500, 'provider_configuration_invalid')
    expect((await show(id)).payment).to.include({ status: 'pending', refusal: null })
    expectProblem(await pay(id, 'k', { ...card, token: 'other' }), 409, 'idempotency_key_reuse')
    expect((await pay(id, 'k')).status).to.equal(201)
    expect(provider.payments).to.have.length(1)
  })

  it('returns the paid order if a notification was faster than the repetition [PAY-3]', async () => {
    const { id } = await place()
    provider.status = 'approved'
    provider.twist(lostAnswer)
    await pay(id, 'k')
    const told = await tell(id, provider.payments[0] as ProviderPayment)
    expect(told).to.include({ outcome: 'applied' })
    const reply = await pay(id, 'k')
    expect(reply.status).to.equal(201)
    expect(reply.body.data.status).to.equal('paid')
    expect(provider.calls).to.have.length(1)
  })

  it('charges nothing when repeating a call that never reached the provider after another attempt paid', async () => {
    const { id } = await place()
    provider.twist(() => {
      throw new ProviderUnavailable('provider unreachable')
    })
    expectProblem(await pay(id, 'k'), 503, 'unavailable')
    provider.status = 'approved'
    expect((await pay(id, 'other')).status).to.equal(201)
    expectProblem(await pay(id, 'k'), 409, 'order_already_paid')
    expect(provider.payments).to.have.length(1)
  })

  it('charges once for equal concurrent calls on two services [PAY-3]', async () => {
    const { id } = await place()
    const other = await startApi(api.databaseUrl, { provider })
    try {
      const elsewhere = () =>
        fetch(`${other.url}/api/v1/orders/${id}/payments`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${company.key}`,
            'content-type': 'application/json',
            'idempotency-key': 'k',
          },
          body: JSON.stringify(card),
        })
      const replies = await Promise.all([pay(id, 'k'), elsewhere(), pay(id, 'k'), elsewhere(), pay(id, 'k')])
      expect(replies.map(({ status }) => status)).to.deep.equal(Array(5).fill(201))
    } finally {
      await other.close()
    }
    expect(provider.payments).to.have.length(1)
    expect((await show(id)).payments).to.have.length(1)
  })

  it('responds 409 idempotency_key_reuse to another body or order, also while the first call is running', async () => {
    const { id } = await place()
    const another = await place()
    provider.twist(lostAnswer)
    await pay(id, 'k')
    for (const settled of [false, true]) {
      if (settled) expect((await pay(id, 'k')).status).to.equal(201)
      expectProblem(await pay(id, 'k', { ...card, token: 'other' }), 409, 'idempotency_key_reuse')
      expectProblem(await pay(another.id, 'k'), 409, 'idempotency_key_reuse')
    }
    expect(provider.payments).to.have.length(1)
  })

  it('is required: without it nothing is attempted, for concurrent calls too [IDEM-1]', async () => {
    const { id } = await place()
    const replies = await Promise.all([pay(id, null), pay(id, null), pay(id, null)])
    for (const reply of replies) expectInvalid(reply, ['Idempotency-Key'])
    expectInvalid(await pay(9_000_001, null), ['Idempotency-Key'])
    expect(provider.calls).to.have.length(0)
    expect((await show(id)).payments).to.deep.equal([])
  })

  it('records the provider’s payment even if the API key was revoked meanwhile [KEY-21]', async () => {
    const { id } = await place()
    const { id: keyId, key } = await company.newKey(['orders:write'])
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'k' }
    provider.twist(async (charge) => {
      await company.run(revokeApiKey, { id: keyId })
      return charge()
    })
    expect((await company.call('POST', `/orders/${id}/payments`, card, headers)).status).to.equal(201)
    expectProblem(await company.call('POST', `/orders/${id}/payments`, card, headers), 401, 'invalid_token')
    expect(provider.payments).to.have.length(1)
  })

  it('responds 409 to a key of another operation before any charge', async () => {
    const { id } = await place()
    await company.post('/customers', { name: 'Bia' }, { 'idempotency-key': 'k' })
    expectProblem(await pay(id, 'k'), 409, 'idempotency_key_reuse')
    expect(provider.calls).to.have.length(0)
    expect((await show(id)).payments).to.deep.equal([])
  })
})
