import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect } from 'chai'
import {
  ProviderConflict,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from '#payments/provider-port.ts'
import { until } from '../../support/wait.ts'
import {
  ACCESS_TOKEN,
  account,
  CARD_TOKEN,
  callsOf,
  failure,
  json,
  newPayment,
  shown,
  useProvider,
} from './provider.ts'

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

  it('treats a rejected or cancelled refund as a refusal, and an undecided one as pending [PAY-26, PAY-27]', async () => {
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
