import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect } from 'chai'
import { startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { createProviderClient } from '#payments/provider-client.ts'
import {
  ProviderConflict,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { until } from '../support/wait.ts'
import {
  ACCESS_TOKEN,
  account,
  CARD_TOKEN,
  callsOf,
  failure,
  json,
  newPayment,
  PAYER,
  shown,
  useProvider,
} from './provider-world.ts'

describe('payment provider client: responses', () => {
  const provider = useProvider()

  it('calls the configured URL and path, with credentials and idempotency key', async () => {
    provider.answer = json(201, shown())
    const port = provider.port()
    await provider.clientOf({ baseUrl: `http://127.0.0.1:${port}/mirror` }).createPayment(account, newPayment())
    const [call] = provider.calls
    expect(call).to.include({ method: 'POST', url: '/mirror/v1/payments' })
    expect(call?.headers).to.include({
      host: `127.0.0.1:${port}`,
      authorization: `Bearer ${ACCESS_TOKEN}`,
      'x-idempotency-key': newPayment().attemptId,
    })
  })

  for (const [text, cents] of [
    [46.3, 4630],
    [0.29, 29],
    [1.1, 110],
    [1005, 100_500],
    [9_999_999_999.99, 999_999_999_999],
    [8_000_000.07, 800_000_007],
  ] as const) {
    it(`parses ${text} as ${cents} cents`, async () => {
      provider.answer = json(200, shown({ transaction_amount: text }))
      expect(await provider.clientOf().getPayment(account, '1')).to.include({ amountCents: cents })
    })
  }

  const PIX = 'E00038166202611281559y6j6mt9l0pi'
  for (const [place, told, expected] of [
    ['the Pix', { point_of_interaction: { transaction_data: { e2e_id: PIX, transaction_id: null } } }, PIX],
    [
      'the Pix, with other letters',
      { point_of_interaction: { transaction_data: { transaction_id: `PIX${PIX}` } } },
      PIX,
    ],
    ['the details', { transaction_details: { transaction_id: PIX, bank_transfer_id: 5 } }, PIX],
    [
      'no place',
      { transaction_details: { transaction_id: '123' }, point_of_interaction: { transaction_data: 7 } },
      undefined,
    ],
  ] as const)
    it(`reads the end-to-end id of a Pix from ${place} [SALE-910]`, async () => {
      provider.answer = json(200, shown(told))
      const payment = await provider.clientOf().getPayment(account, '1')
      expect(payment?.details.end_to_end_id).to.equal(expected)
    })

  for (const [name, begin] of [
    ['100 Continue', (response) => response.writeContinue()],
    [
      '100 twice and 102',
      (response) => {
        response.writeContinue()
        response.writeContinue()
        response.writeProcessing()
      },
    ],
    ['103 Early Hints', (response) => response.writeEarlyHints({ link: '</a>; rel=preload' })],
  ] as const satisfies [string, (response: ServerResponse) => void][]) {
    it(`passes over ${name} before an answer: one call [PAY-7]`, async () => {
      provider.answer = (request, response) => {
        begin(response)
        json(201, shown())(request, response)
      }
      expect(await provider.clientOf().createPayment(account, newPayment())).to.include({ id: '1300555' })
      expect(provider.calls).to.have.length(1)
    })
  }

  it('counts 101 as unavailable [PAY-7]', async () => {
    provider.answer = (request) =>
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n')
    expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.be.instanceOf(
      ProviderUnavailable,
    )
    expect(provider.calls).to.have.length(1)
  })

  it('parses ids and references from numbers or texts', async () => {
    provider.answer = json(200, shown({ id: '1300555', external_reference: 17, metadata: null, status_detail: null }))
    expect(await provider.clientOf().getPayment(account, '1')).to.include({
      id: '1300555',
      externalReference: '17',
      attemptId: null,
      statusDetail: null,
    })
    provider.answer = json(200, shown({ external_reference: null }))
    expect(await provider.clientOf().getPayment(account, '1')).to.include({ externalReference: null })
  })

  it('assumes the account’s mode for a payment without one', async () => {
    provider.answer = json(200, shown({ live_mode: undefined }))
    for (const sandbox of [true, false])
      expect(await provider.clientOf().getPayment({ ...account, sandbox }, '1')).to.include({ liveMode: !sandbox })
  })

  it('assumes amount and reference of the request for a new payment without them', async () => {
    provider.answer = json(201, { id: 1300555, status: 'approved' })
    expect(await provider.clientOf().createPayment(account, newPayment())).to.deep.equal({
      id: '1300555',
      status: 'approved',
      statusDetail: null,
      externalReference: 'order-17',
      attemptId: null,
      amountCents: 4630,
      liveMode: false,
      refundedCents: 0,
      refunds: [],
      expiresAt: null,
      changedAt: null,
      details: {},
    })
    provider.answer = json(201, shown({ external_reference: 'order-18', transaction_amount: 1 }))
    expect(await provider.clientOf().createPayment(account, newPayment())).to.include({
      externalReference: 'order-18',
      amountCents: 100,
    })
  })

  it('returns no amount for a payment in another currency', async () => {
    for (const [currency_id, amountCents] of [
      ['BRL', 4630],
      ['ARS', null],
    ] as const) {
      provider.answer = json(200, shown({ currency_id }))
      expect(await provider.clientOf().getPayment(account, '1')).to.include({ amountCents })
    }
  })

  it('finds the payments of an order among unreadable results', async () => {
    provider.answer = json(200, { results: [{ id: null, external_reference: 'order-18' }, {}, shown()] })
    expect(await provider.clientOf().findPayments(account, 'order-17')).to.have.length(1)
    provider.answer = json(200, { results: [shown({ id: null })] })
    expect(await failure(provider.clientOf().findPayments(account, 'order-17'))).to.be.instanceOf(ProviderUnavailable)
  })
})

describe('payment provider client: failures', () => {
  const provider = useProvider()

  for (const status of [401, 403]) {
    it(`treats ${status} as a wrong configuration`, async () => {
      provider.answer = json(status, { message: `invalid token ${ACCESS_TOKEN}` })
      expect(await failure(provider.clientOf().getPayment(account, '1'))).to.be.instanceOf(ProviderMisconfigured)
    })
  }

  for (const status of [302, 408, 409, 423, 424, 429, 500, 502, 503, 504]) {
    it(`treats ${status} as transient, without a retry`, async () => {
      provider.answer = (_request, response) => response.writeHead(status, { location: '/elsewhere' }).end('{}')
      for (const call of callsOf(provider.clientOf())) expect(await failure(call)).to.be.instanceOf(ProviderUnavailable)
      expect(provider.calls).to.have.length(callsOf(provider.clientOf()).length)
    })
  }

  for (const status of [400, 402, 404, 422]) {
    it(`treats ${status} for a new payment as a refusal`, async () => {
      provider.answer = json(status, { message: 'no', error: 'bad_request', cause: [] })
      expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.be.instanceOf(ProviderRefused)
    })
  }

  for (const [name, body] of Object.entries({
    'a commission with a token not granted by OAuth': { cause: [{ code: 2059, description: 'fee' }] },
    'users of different modes': { cause: [{ code: 2034, description: 'Invalid users involved' }] },
    'a token of the other mode': { cause: [{ code: 3, description: 'Token must be for test' }] },
    'an account that may not receive': { cause: [{ code: 7, description: 'Collector not allowed' }] },
    'one such cause among others': {
      cause: [
        { code: 4050, description: 'email' },
        { code: '2059', description: 'fee' },
      ],
    },
    'an expired token': { error: 'expired_token', message: 'Expired token' },
    'an expired token in words': { error: 'bad_request', message: 'The access token is invalid: expired access_token' },
  })) {
    it(`treats ${name} as a wrong configuration, and tells the operator why [PAY-53]`, async () => {
      provider.answer = json(400, { message: 'bad_request', ...body })
      const error = await failure(provider.clientOf().createPayment(account, newPayment()))
      expect(error).to.be.instanceOf(ProviderMisconfigured)
      expect(error.message).to.match(/^provider responded 400: /)
      expect((error as ProviderMisconfigured).causes).not.to.have.length(0)
      const refund = provider.clientOf().createRefund(account, { refundId: '1', paymentId: '2', amountCents: 100 })
      expect(await failure(refund)).to.be.instanceOf(ProviderMisconfigured)
    })
  }

  it('treats causes of the buyer as a refusal, such as 2067 or 3034 [PAY-4]', async () => {
    for (const code of [2067, 3034, 30, 37]) {
      provider.answer = json(400, { message: 'no', cause: [{ code, description: 'no' }] })
      expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.be.instanceOf(ProviderRefused)
    }
  })

  it('shows a refusal without payer data, in any part and notation [PAY-8]', async () => {
    const payer = {
      email: 'ana@example.com',
      name: 'Ana de Souza',
      document: '52998224725',
      address: {
        zip_code: '01310100',
        street: 'Av. Paulista',
        number: '97',
        neighborhood: 'Bela Vista',
        city: 'São Paulo',
        state: 'SP',
      },
    }
    const told: [string, string][] = [
      ['ana@example.com (Ana de Souza, 52998224725) is blocked', '… (…, …) is blocked'],
      ['first_name ANA, last_name de Souza, 529.982.247-25', 'first_name …, last_name …, …'],
      ['Av. Paulista 97, Bela Vista, São Paulo, 01310-100', '… …, …, …, …'],
      ['the amount 4697 is not banal', 'the amount 4697 is not banal'],
    ]
    for (const [description, shown] of told) {
      provider.answer = json(400, { message: 'no', cause: [{ code: 2197, description }] })
      const error = await failure(provider.clientOf().createPayment(account, newPayment({ payer })))
      expect((error as ProviderRefused).causes).to.deep.equal([{ code: '2197', description: shown }])
    }
  })

  it('treats a conflict as an unknown result: the key was used with other content [PAY-50]', async () => {
    provider.answer = json(409, { message: 'conflict' })
    expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.be.instanceOf(ProviderConflict)
  })

  it('treats a rejected or cancelled refund as a refusal, and an undecided one as pending [PAY-27]', async () => {
    const refund = () => provider.clientOf().createRefund(account, { refundId: '1', paymentId: '2', amountCents: 100 })
    for (const status of ['rejected', 'cancelled']) {
      provider.answer = json(201, { id: 7, payment_id: 2, amount: 1, status })
      expect(((await failure(refund())) as ProviderRefused).causes).to.deep.equal([
        { code: status, description: 'refund' },
      ])
    }
    for (const [status, own] of [
      ['approved', 'completed'],
      [undefined, 'completed'],
      ['in_process', 'pending'],
      ['pending', 'pending'],
      ['unheard_of', 'pending'],
    ] as const) {
      provider.answer = json(201, { id: 7, payment_id: 2, amount: 1, status })
      expect(await refund()).to.deep.equal({ id: '7', amountCents: 100, status: own })
    }
  })

  it('shows a refusal bounded, and without the request', async () => {
    const description = `${CARD_TOKEN} is no token ${'x'.repeat(5000)}`
    provider.answer = json(400, {
      message: ACCESS_TOKEN,
      cause: Array.from({ length: 50 }, () => ({ code: 7, description })),
    })
    const error = await failure(provider.clientOf().createPayment(account, newPayment({ token: CARD_TOKEN })))
    const { causes } = error as ProviderRefused
    expect(causes).to.have.length(5)
    expect(causes[0]?.code).to.equal('7')
    expect(causes[0]?.description)
      .to.match(/^… is no token x+…$/)
      .and.have.length.below(250)
    provider.answer = json(400, { message: `${ACCESS_TOKEN}?`, error: 'bad_request', cause: 'text' })
    expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.deep.include({
      causes: [{ code: 'bad_request', description: '…?' }],
    })
    provider.answer = json(422, {})
    const [cause] = ((await failure(provider.clientOf().createPayment(account, newPayment()))) as ProviderRefused)
      .causes
    expect(cause).to.include({ code: '422' })
  })

  const GARBAGE: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    'a page': (_request, response) => response.end('<html>'),
    'an empty response': (_request, response) => response.end(),
    'no content': (_request, response) => response.writeHead(204).end(),
    null: json(200, null),
    'a text': json(200, 'approved'),
    'a list': json(200, [null]),
    'another object': json(200, { ok: true }),
    'wrong types': json(200, shown({ status: 7 })),
    'an amount as text': json(200, shown({ transaction_amount: '46.30' })),
    'a fraction of a cent': json(200, shown({ transaction_amount: 46.301 })),
    'a negative amount': json(200, shown({ transaction_amount: -1 })),
    'an amount above the limit': json(200, shown({ transaction_amount: 1e21 })),
    'an invalid id': json(200, shown({ id: 1.5 })),
    'a response above the limit': json(200, shown({ description: 'x'.repeat(3_000_000) })),
    'compressed gigabytes': (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.alloc(1000)),
    'a closed connection': (_request, response) => response.destroy(),
    'half a response': (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('{"id":')
      setImmediate(() => response.destroy())
    },
  }
  for (const [name, respond] of Object.entries(GARBAGE)) {
    it(`rejects ${name} as a response`, async () => {
      provider.answer = respond
      for (const call of callsOf(provider.clientOf())) expect(await failure(call)).to.be.instanceOf(ProviderUnavailable)
    })
  }

  it('fails for an address without a listener', async () => {
    const client = provider.clientOf({ baseUrl: 'http://127.0.0.1:1' })
    expect(await failure(client.getPayment(account, '1'))).to.be.instanceOf(ProviderUnavailable)
  })

  for (const [name, respond] of [
    ['never responds', () => {}],
    ['never ends its response', (_request: IncomingMessage, response: ServerResponse) => response.write('{')],
    [
      'answers byte by byte',
      (_request: IncomingMessage, response: ServerResponse) => {
        const timer = setInterval(() => response.write(' '), 20)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ] as const) {
    it(`times out and disconnects if the provider ${name} [PAY-7]`, async () => {
      provider.answer = respond
      const error = await failure(provider.clientOf({ timeout_ms: 200 }).getPayment(account, '1'))
      expect(error).to.be.instanceOf(ProviderUnavailable)
      await until(() => provider.closed === 1, { what: 'the end of the connection' })
    })
  }

  it('limits concurrent and waiting calls [PAY-7]', async () => {
    const open: ServerResponse[] = []
    provider.answer = (_request, response) => open.push(response)
    const client = provider.clientOf({ limits: { running: 2, waiting: 1 }, timeout_ms: 10_000 })
    const asked = ['1', '2', '3'].map((id) => client.getPayment(account, id))
    await until(() => open.length === 2)
    expect(await failure(client.getPayment(account, '4'))).to.be.instanceOf(ProviderUnavailable)
    expect(provider.calls).to.have.length(2)
    for (const response of open.splice(0)) response.end(JSON.stringify(shown()))
    await until(() => open.length === 1)
    open[0]?.end(JSON.stringify(shown()))
    expect(await Promise.all(asked)).to.have.length(3)
    expect(provider.calls).to.have.length(3)
  })
})

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
    expect(sandbox.book.get(made.id)).to.deep.include({ payer: PAYER })
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
