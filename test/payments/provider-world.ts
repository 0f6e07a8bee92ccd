import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { createProviderClient } from '#payments/provider-client.ts'
import type { NewPayment, PaymentProvider, ProviderAccount } from '#payments/provider-port.ts'

export const ACCESS_TOKEN = 'TEST-access-token-of-the-store'
export const CARD_TOKEN = 'card-token-of-the-buyer'
export const account = { accessToken: ACCESS_TOKEN, sandbox: true }

export const newPayment = (changes: Partial<NewPayment> = {}): NewPayment => ({
  attemptId: '0190d6a0-0000-7000-8000-000000000001',
  orderReference: 'order-17',
  amountCents: 4630,
  applicationFeeCents: 116,
  paymentMethodId: 'pix',
  payer: { email: 'maria@example.com', name: null, document: null, address: null },
  token: undefined,
  installments: undefined,
  expiresInMinutes: undefined,
  description: 'Pedido 17',
  notificationUrl: 'http://127.0.0.1:9/webhook/paymentprovider/loja/17',
  ...changes,
})

/** A buyer in the provider's format. */
export const PAYER = {
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
}

/** Payment in the provider's format. */
export const shown = (changes: object = {}) => ({
  id: 1300555,
  status: 'pending',
  status_detail: 'pending_waiting_payment',
  external_reference: 'order-17',
  transaction_amount: 46.3,
  live_mode: false,
  metadata: { attempt_id: newPayment().attemptId },
  ...changes,
})

export async function failure(call: Promise<unknown> | (() => Promise<unknown>)): Promise<Error> {
  const error = await (typeof call === 'function' ? call() : call).then(
    (value) => expect.fail(`succeeded with ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  expect(error).to.be.instanceOf(Error)
  // A logged error never contains the request.
  expect(inspect(error, { depth: 10 }))
    .not.to.include(ACCESS_TOKEN)
    .and.not.include(CARD_TOKEN)
  return error as Error
}

/** All read calls of the client. */
export const callsOf = (client: PaymentProvider, of: ProviderAccount = account) => [
  () => client.createPayment(of, newPayment()),
  () => client.getPayment(of, '1'),
  () => client.findPayments(of, 'order-17'),
  () => client.cancelPayment(of, '1'),
  () => client.createRefund(of, { refundId: '1', paymentId: '1', amountCents: 1 }),
  () => client.getPaymentMethods(of),
  () => client.getCardOptions(of, 4630, '423564'),
]

type Respond = (request: IncomingMessage, response: ServerResponse) => void

/** Regular JSON response. */
export const json =
  (status: number, body: unknown): Respond =>
  (_request, response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

/** Provider with scripted responses, and its clients. */
interface AnyProvider {
  answer: Respond
  /** Received requests of the test; `closed`: number of closed responses. */
  readonly calls: readonly IncomingMessage[]
  readonly closed: number
  port(): number
  clientOf(options?: Partial<Parameters<typeof createProviderClient>[0]>): ReturnType<typeof createProviderClient>
}

export function useProvider(): AnyProvider {
  const clients: ReturnType<typeof createProviderClient>[] = []
  const calls: IncomingMessage[] = []
  let closed = 0
  let server: Server
  const port = () => (server.address() as AddressInfo).port
  const provider: AnyProvider = {
    answer: (_request, response) => response.destroy(),
    calls,
    get closed() {
      return closed
    },
    port,
    clientOf(options = {}) {
      const client = createProviderClient({ baseUrl: `http://127.0.0.1:${port()}`, ...options })
      clients.push(client)
      return client
    },
  }

  before(async () => {
    server = createServer((request, response) => {
      calls.push(request)
      response.on('close', () => (closed += 1))
      request.resume().on('end', () => provider.answer(request, response))
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  })
  beforeEach(() => {
    calls.length = 0
    closed = 0
  })
  after(async () => {
    for (const client of clients) await client.close()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })

  return provider
}
