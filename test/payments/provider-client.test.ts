import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { createProviderClient } from '../../src/payments/provider-client.ts'
import {
  type NewPayment,
  type PaymentProvider,
  type ProviderAccount,
  ProviderMisconfigured,
  ProviderRefused,
  ProviderUnavailable,
} from '../../src/payments/provider-port.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { until } from '../support/wait.ts'

const ACCESS_TOKEN = 'TEST-access-token-of-the-store'
const CARD_TOKEN = 'card-token-of-the-buyer'
const account = { accessToken: ACCESS_TOKEN, sandbox: true }

const newPayment = (changes: Partial<NewPayment> = {}): NewPayment => ({
  attemptId: '0190d6a0-0000-7000-8000-000000000001',
  orderReference: 'order-17',
  amountCents: 4630,
  applicationFeeCents: 116,
  paymentMethodId: 'pix',
  payerEmail: 'maria@example.com',
  token: undefined,
  description: 'Pedido 17',
  notificationUrl: 'http://127.0.0.1:9/webhook/paymentprovider/loja/17',
  ...changes,
})

/** What the provider answers about a payment. */
const shown = (changes: object = {}) => ({
  id: 1300555,
  status: 'pending',
  status_detail: 'pending_waiting_payment',
  external_reference: 'order-17',
  transaction_amount: 46.3,
  live_mode: false,
  metadata: { attempt_id: newPayment().attemptId },
  ...changes,
})

async function failure(call: Promise<unknown> | (() => Promise<unknown>)): Promise<Error> {
  const error = await (typeof call === 'function' ? call() : call).then(
    (value) => expect.fail(`succeeded with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).to.be.instanceOf(Error)
  // Whatever may be logged of an error, nothing that was sent is in it.
  expect(inspect(error, { depth: 10 }))
    .not.to.include(ACCESS_TOKEN)
    .and.not.include(CARD_TOKEN)
  return error as Error
}

/** Everything that can be asked of the provider. */
const callsOf = (client: PaymentProvider, of: ProviderAccount = account) => [
  () => client.createPayment(of, newPayment()),
  () => client.getPayment(of, '1'),
  () => client.findPayments(of, 'order-17'),
]

describe('client of the payment provider', () => {
  describe('against the sandbox', () => {
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

    it('creates a payment with everything that the provider has to know', async () => {
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

    it('charges once for one attempt, however often it is made', async () => {
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
        for (const call of callsOf(client, stranger))
          expect(await failure(call)).to.be.instanceOf(ProviderMisconfigured)
      }
    })
  })

  describe('against a provider that answers anything', () => {
    let server: Server
    let answer: (request: IncomingMessage, response: ServerResponse) => void
    let calls: IncomingMessage[]
    let closed = 0
    const clients: ReturnType<typeof createProviderClient>[] = []

    const clientOf = (options: Partial<Parameters<typeof createProviderClient>[0]> = {}) => {
      const { port } = server.address() as AddressInfo
      const client = createProviderClient({ baseUrl: `http://127.0.0.1:${port}`, ...options })
      clients.push(client)
      return client
    }
    const json = (status: number, body: unknown) => (_request: IncomingMessage, response: ServerResponse) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

    before(async () => {
      server = createServer((request, response) => {
        calls.push(request)
        response.on('close', () => (closed += 1))
        request.resume().on('end', () => answer(request, response))
      })
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    })
    beforeEach(() => {
      calls = []
      closed = 0
    })
    after(async () => {
      for (const client of clients) await client.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    })

    it('calls the address that it is told, under its path, with the credentials and the idempotency key', async () => {
      answer = json(201, shown())
      const { port } = server.address() as AddressInfo
      await clientOf({ baseUrl: `http://127.0.0.1:${port}/mirror` }).createPayment(account, newPayment())
      const [call] = calls
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
      it(`reads ${text} as ${cents} cents`, async () => {
        answer = json(200, shown({ transaction_amount: text }))
        expect(await clientOf().getPayment(account, '1')).to.include({ amountCents: cents })
      })
    }

    it('reads ids and references whether they come as numbers or as texts', async () => {
      answer = json(200, shown({ id: '1300555', external_reference: 17, metadata: null, status_detail: null }))
      expect(await clientOf().getPayment(account, '1')).to.include({
        id: '1300555',
        externalReference: '17',
        attemptId: null,
        statusDetail: null,
      })
      answer = json(200, shown({ external_reference: null }))
      expect(await clientOf().getPayment(account, '1')).to.include({ externalReference: null })
    })

    it('takes a payment that does not tell its mode for one of the account’s', async () => {
      answer = json(200, shown({ live_mode: undefined }))
      for (const sandbox of [true, false])
        expect(await clientOf().getPayment({ ...account, sandbox }, '1')).to.include({ liveMode: !sandbox })
    })

    it('takes a new payment for the one that was asked for, where the answer does not tell', async () => {
      answer = json(201, { id: 1300555, status: 'approved' })
      expect(await clientOf().createPayment(account, newPayment())).to.deep.equal({
        id: '1300555',
        status: 'approved',
        statusDetail: null,
        externalReference: 'order-17',
        attemptId: null,
        amountCents: 4630,
        liveMode: false,
      })
      answer = json(201, shown({ external_reference: 'order-18', transaction_amount: 1 }))
      expect(await clientOf().createPayment(account, newPayment())).to.include({
        externalReference: 'order-18',
        amountCents: 100,
      })
    })

    it('knows no amount of a payment in another currency', async () => {
      for (const [currency_id, amountCents] of [
        ['BRL', 4630],
        ['ARS', null],
      ] as const) {
        answer = json(200, shown({ currency_id }))
        expect(await clientOf().getPayment(account, '1')).to.include({ amountCents })
      }
    })

    it('finds the payments of an order among others that it cannot read', async () => {
      answer = json(200, { results: [{ id: null, external_reference: 'order-18' }, {}, shown()] })
      expect(await clientOf().findPayments(account, 'order-17')).to.have.length(1)
      answer = json(200, { results: [shown({ id: null })] })
      expect(await failure(clientOf().findPayments(account, 'order-17'))).to.be.instanceOf(ProviderUnavailable)
    })

    for (const status of [401, 403]) {
      it(`takes ${status} as a wrong configuration`, async () => {
        answer = json(status, { message: `invalid token ${ACCESS_TOKEN}` })
        expect(await failure(clientOf().getPayment(account, '1'))).to.be.instanceOf(ProviderMisconfigured)
      })
    }

    for (const status of [302, 408, 409, 423, 424, 429, 500, 502, 503, 504]) {
      it(`takes ${status} as passing, and does not ask again`, async () => {
        answer = (_request, response) => response.writeHead(status, { location: '/elsewhere' }).end('{}')
        for (const call of callsOf(clientOf())) expect(await failure(call)).to.be.instanceOf(ProviderUnavailable)
        expect(calls).to.have.length(3)
      })
    }

    for (const status of [400, 402, 404, 422]) {
      it(`takes ${status} of a new payment as a refusal`, async () => {
        answer = json(status, { message: 'no', error: 'bad_request', cause: [] })
        expect(await failure(clientOf().createPayment(account, newPayment()))).to.be.instanceOf(ProviderRefused)
      })
    }

    it('shows a refusal bounded, and without what was sent', async () => {
      const description = `${CARD_TOKEN} is no token ${'x'.repeat(5000)}`
      answer = json(400, { message: ACCESS_TOKEN, cause: Array.from({ length: 50 }, () => ({ code: 7, description })) })
      const error = await failure(clientOf().createPayment(account, newPayment({ token: CARD_TOKEN })))
      const { causes } = error as ProviderRefused
      expect(causes).to.have.length(5)
      expect(causes[0]?.code).to.equal('7')
      expect(causes[0]?.description)
        .to.match(/^… is no token x+…$/)
        .and.have.length.below(250)
      answer = json(400, { message: `${ACCESS_TOKEN}?`, error: 'bad_request', cause: 'text' })
      expect(await failure(clientOf().createPayment(account, newPayment()))).to.deep.include({
        causes: [{ code: 'bad_request', description: '…?' }],
      })
      answer = json(422, {})
      const [cause] = ((await failure(clientOf().createPayment(account, newPayment()))) as ProviderRefused).causes
      expect(cause).to.include({ code: '422' })
    })

    const GARBAGE: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
      'a page': (_request, response) => response.end('<html>'),
      'an empty answer': (_request, response) => response.end(),
      'no content': (_request, response) => response.writeHead(204).end(),
      null: json(200, null),
      'a text': json(200, 'approved'),
      'a list': json(200, []),
      'another object': json(200, { ok: true }),
      'wrong types': json(200, shown({ status: 7 })),
      'an amount as text': json(200, shown({ transaction_amount: '46.30' })),
      'a fraction of a cent': json(200, shown({ transaction_amount: 46.301 })),
      'a negative amount': json(200, shown({ transaction_amount: -1 })),
      'an endless amount': json(200, shown({ transaction_amount: 1e21 })),
      'an id that is none': json(200, shown({ id: 1.5 })),
      'too much': json(200, shown({ description: 'x'.repeat(3_000_000) })),
      'compressed gigabytes': (_request, response) =>
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(Buffer.alloc(1000)),
      'a closed connection': (_request, response) => response.destroy(),
      'half an answer': (_request, response) => {
        response.writeHead(200, { 'content-length': 1000 }).write('{"id":')
        setImmediate(() => response.destroy())
      },
    }
    for (const [name, respond] of Object.entries(GARBAGE)) {
      it(`is not misled by ${name}`, async () => {
        answer = respond
        for (const call of callsOf(clientOf())) expect(await failure(call)).to.be.instanceOf(ProviderUnavailable)
      })
    }

    it('does not answer for an address where nobody listens', async () => {
      const client = clientOf({ baseUrl: 'http://127.0.0.1:1' })
      expect(await failure(client.getPayment(account, '1'))).to.be.instanceOf(ProviderUnavailable)
    })

    for (const [name, respond] of [
      ['never answers', () => {}],
      ['never ends its answer', (_request: IncomingMessage, response: ServerResponse) => response.write('{')],
      [
        'answers byte by byte',
        (_request: IncomingMessage, response: ServerResponse) => {
          const timer = setInterval(() => response.write(' '), 20)
          response.on('close', () => clearInterval(timer))
        },
      ],
    ] as const) {
      it(`gives up, and hangs up, when the provider ${name}`, async () => {
        answer = respond
        const error = await failure(clientOf({ timeout_ms: 200 }).getPayment(account, '1'))
        expect(error).to.be.instanceOf(ProviderUnavailable)
        await until(() => closed === 1, { what: 'the end of the connection' })
      })
    }

    it('asks only so much at a time, and lets only so many wait', async () => {
      const open: ServerResponse[] = []
      answer = (_request, response) => open.push(response)
      const client = clientOf({ limits: { running: 2, waiting: 1 }, timeout_ms: 10_000 })
      const asked = ['1', '2', '3'].map((id) => client.getPayment(account, id))
      await until(() => open.length === 2)
      expect(await failure(client.getPayment(account, '4'))).to.be.instanceOf(ProviderUnavailable)
      expect(calls).to.have.length(2)
      for (const response of open.splice(0)) response.end(JSON.stringify(shown()))
      await until(() => open.length === 1)
      open[0]?.end(JSON.stringify(shown()))
      expect(await Promise.all(asked)).to.have.length(3)
      expect(calls).to.have.length(3)
    })
  })
})
