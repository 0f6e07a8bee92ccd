import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import { createUser } from '#commands/user-commands.ts'
import { Unavailable } from '#lib/errors.ts'
import type { KeyedSemaphore } from '#lib/fair-sharing.ts'
import { ProviderMisconfigured } from '#payments/provider-port.ts'
import { LIST_BODY_BYTES } from '#till-sync/till-answers.ts'
import {
  notify,
  type OnlineStore,
  openOnlineStore,
  paymentOf,
  SECRET,
  told,
} from '../payment-notifications/online-store.ts'
import { listUnexplained } from '../support/answers.ts'
import { type Json, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type FaultyApi, startFaultyApi } from '../support/faulty-api.ts'
import { createMemoryProvider } from '../support/memory-provider.ts'
import { rawRequest } from '../support/raw-request.ts'
import { createTestUser, openTill, type TestTill, type TestUser } from '../support/till.ts'
import {
  expectAcceptedByTillContract,
  expectDocumentedTillAnswer,
  expectTillExample,
  type TillOperation,
  tillContract,
  tillOperations,
  tillOutcomeOf,
  tillOutcomes,
} from '../support/till-contract.ts'
import { bytesOf, openWire } from '../support/wire.ts'

const TILL_KEY = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
}
const MEBIBYTE = 1_048_576

const receiver = tillOperations.find(({ path }) => path.startsWith('/webhook')) as TillOperation
const syncOperations = tillOperations.filter((operation) => operation !== receiver)

describe('contract of the sync interface and the receiver', () => {
  it('is valid OpenAPI 3.1 [SYNC-40]', async () => {
    const result = await new Validator().validate(structuredClone(tillContract) as never)
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true)
    expect(tillContract.openapi).to.match(/^3\.1\./)
  })

  it('explains every field and every parameter [SYNC-40]', () => {
    expect(listUnexplained(tillContract)).to.deep.equal([])
  })

  it('shows requests and answers that match their schemas [SYNC-40]', () => {
    for (const operation of tillOperations) {
      const body = operation.node.requestBody as Json
      if (body) expectAcceptedByTillContract(operation, body.content['application/json'].example)
    }
    const schemas = Object.entries((tillContract.components?.schemas ?? {}) as Record<string, Json>)
    const shown = schemas.filter(([, { examples }]) => examples)
    expect(shown.length).to.be.above(6)
    for (const [name, { examples }] of shown) for (const example of examples) expectTillExample(name, example)
  })
})

describe('sync operations by contract', () => {
  const database = useDatabase()
  let api: TestApi
  let few: TestApi
  let poor: TestApi
  let full: TestApi
  let hurried: TestApi
  let faulty: FaultyApi
  let company: TestCompany
  let till: TestTill
  let item: Json
  let cash: number
  const started: { close(): Promise<void> }[] = []

  before(async () => {
    const noTurns = { acquire: async () => null, used: 0 } as unknown as KeyedSemaphore
    const start = async (options: Parameters<typeof startApi>[1]) => {
      const one = await startApi(database.url, options)
      started.push(one)
      return one
    }
    api = await start({})
    few = await start({ perMinute: 3, settings: { SYNC_QUOTA_PER_MINUTE: '1' } })
    poor = await start({ bytesPerDay: MEBIBYTE })
    full = await start({ largeCalls: noTurns })
    hurried = await start({ server: { headers_ms: 400, request_ms: 400, check_ms: 20, keepAlive_ms: 60 } })
    faulty = await startFaultyApi(api.core, database.url)
    started.push(faulty)
    company = await api.company()
    cash = await company.paymentType('cash')
    till = await openTill(api.url, company)
    item = (await company.post('/catalog/items', { name: 'Café', price: '18.90', stock: '10' })).body.data
  })
  after(async () => {
    for (const one of started.reverse()) await one.close()
  })

  /** A body that succeeds. */
  function bodyOf({ id }: TillOperation, { email, password }: TestUser = till.user): object | undefined {
    const sale = {
      offline_id: 'caixa1-1',
      status: 'completed',
      created_at: '2026-11-21T11:17:15.000Z',
      items: [{ product_id: item.id, quantity: 1, price: 18.9, total: 18.9 }],
      payments: [{ payment_type_id: cash, amount: 18.9, status: 'completed' }],
      total: 18.9,
    }
    const goodsBack = {
      offline_id: 'caixa1-d1',
      sale_offline_id: 'caixa1-1',
      reason: 'Defeito',
      returned_at: sale.created_at,
      items: [{ line: 0, quantity: 1 }],
      refunds: [{ payment_type_id: cash, amount: 18.9 }],
    }
    const bodies: Readonly<Record<string, object>> = {
      login: { email, password },
      uploadSales: { sales: [sale, { ...sale, offline_id: 'caixa1-2', total: 20 }] },
      uploadReturns: {
        returns: [goodsBack, { ...goodsBack, offline_id: 'caixa1-d2', sale_offline_id: 'nowhere' }],
      },
      uploadItems: {
        items: [
          { offline_id: 'p1', name: 'Bolo', price: 12.5 },
          { offline_id: 'p2', name: 'Bolo', price: -1 },
        ],
      },
      uploadCustomers: {
        customers: [
          { offline_id: 'c1', name: 'Maria' },
          { offline_id: 'c2', name: 'Maria' },
        ],
      },
      registerTill: { name: 'Balcão', public_key: TILL_KEY },
      uploadCashMovements: {
        movements: [
          { offline_id: 'g1', session_id: 'caixa1-41', kind: 'opened', amount: 150, at: sale.created_at },
          {
            offline_id: 'g2',
            session_id: 'caixa1-41',
            kind: 'closed',
            amount: null,
            at: sale.created_at,
            counted: { cash: 150 },
          },
          { offline_id: 'g3', session_id: 'caixa1-41', kind: 'in', amount: 5, at: sale.created_at },
          { offline_id: 'g4', session_id: 'caixa1-41', kind: 'in', amount: -5, at: sale.created_at },
        ],
      },
      checkConflicts: {
        products: [
          { id: item.id, updated_at: '2020-01-01T00:00:00.000Z' },
          { id: 99, updated_at: '2020-01-01T00:00:00.000Z' },
        ],
      },
    }
    return bodies[id]
  }

  interface Sending {
    readonly url?: string
    readonly body?: unknown
    readonly token?: string
    readonly query?: string
    readonly headers?: Record<string, string>
  }

  const call = (
    operation: TillOperation,
    { url = api.url, token = till.token, query = '', ...sending }: Sending = {},
  ) =>
    send(`${url}${operation.path}${query}`, operation.method, 'body' in sending ? sending.body : bodyOf(operation), {
      ...(token && { authorization: `Bearer ${token}` }),
      ...sending.headers,
    })

  const plainHttp = (operation: TillOperation, url: string) =>
    rawRequest(url, { method: operation.method, path: operation.path, headers: { host: 'api.example.com' } })

  async function slow({ method, path }: TillOperation): Promise<Reply> {
    const wire = await openWire(hurried.url)
    const headers = [
      ['Content-Length', '9'],
      ['Content-Type', 'application/json'],
      ['Authorization', `Bearer ${till.token}`],
    ] as const
    wire.write(bytesOf({ method, path, headers }))
    const [reply] = await wire.answered(1)
    await wire.ended()
    return reply as unknown as Reply
  }

  const logInUntilRefused = async (operation: TillOperation): Promise<Reply> => {
    const { email } = await createTestUser(company)
    for (let attempt = 0; attempt < 10; attempt++) await call(operation, { body: { email, password: 'x' } })
    return call(operation, { body: { email, password: 'x' } })
  }

  async function severalCompanies(operation: TillOperation): Promise<Reply> {
    const user = await createTestUser(company)
    const { name, email } = user
    await (await api.company()).run(createUser, { name, email, role: 'clerk', password_hash: 'unused' })
    return call(operation, { body: bodyOf(operation, user) })
  }

  async function beyondTheMinute(operation: TillOperation): Promise<Reply> {
    if (operation.id !== 'login') {
      const { token } = await openTill(few.url, company)
      await send(`${few.url}/api/auth/user`, 'GET', undefined, { authorization: `Bearer ${token}` })
      return call(operation, { url: few.url, token })
    }
    for (let attempt = 0; attempt < 3; attempt++) await plainHttp(operation, few.url)
    return plainHttp(operation, few.url)
  }

  /** Every outcome that the contract may document, and how it comes about. */
  const OUTCOMES: Readonly<Record<string, (operation: TillOperation) => Promise<Reply>>> = {
    200: async (operation) => {
      const { token } = await openTill(api.url, company)
      expectAcceptedByTillContract(operation, bodyOf(operation))
      return call(operation, { token, query: operation.id === 'getVoucher' ? '?voucher=K7QM4PXZ2A' : '' })
    },
    missing_token: (operation) => call(operation, { token: '' }),
    invalid_token: (operation) => call(operation, { token: 'x' }),
    wrong_credentials: (operation) => call(operation, { body: { email: till.user.email, password: 'x' } }),
    https_required: (operation) => plainHttp(operation, api.url),
    request_timeout: slow,
    payload_too_large: (operation) => call(operation, { body: `"${'x'.repeat(LIST_BODY_BYTES)}"` }),
    unsupported_media_type: (operation) => call(operation, { headers: { 'content-type': 'text/plain' } }),
    malformed_json: (operation) => call(operation, { body: '{' }),
    validation_failed: (operation) =>
      operation.method === 'GET' ? call(operation, { query: '?last_sync=ontem' }) : call(operation, { body: {} }),
    company_required: severalCompanies,
    too_many_logins: logInUntilRefused,
    rate_limited: beyondTheMinute,
    async bytes_used_up(operation) {
      const poorTill = await openTill(poor.url, await poor.company())
      const all = '{}'.padEnd(MEBIBYTE)
      await call(operation, { url: poor.url, token: poorTill.token, body: all })
      return call(operation, { url: poor.url, token: poorTill.token })
    },
    share_taken: (operation) =>
      call(operation, { url: full.url, body: JSON.stringify(bodyOf(operation)).padEnd(16_385) }),
    internal_error: (operation) => call(operation, { url: faulty.broken.all }),
    unavailable: (operation) => call(operation, { url: faulty.down.all }),
  }

  for (const operation of syncOperations)
    for (const outcome of tillOutcomes(operation))
      it(`${operation.id} responds ${outcome} as documented [SYNC-40]`, async () => {
        const reply = await (OUTCOMES[outcome] as (typeof OUTCOMES)[string])(operation)
        expect(tillOutcomeOf(operation, reply), reply.text).to.equal(outcome)
        expectDocumentedTillAnswer(operation, reply)
      })

  it('documents each way in which a request can end [SYNC-40]', () => {
    expect(new Set(syncOperations.flatMap(tillOutcomes))).to.have.all.keys(...Object.keys(OUTCOMES))
  })

  it('is served without a token, with a validator, limited by address [SYNC-40]', async () => {
    const reply = await send(`${api.url}/api/openapi.json`, 'GET')
    expect(reply.status).to.equal(200)
    expect(reply.body.paths).to.deep.equal(JSON.parse(JSON.stringify(tillContract.paths)))
    expect(reply.body.servers).to.deep.equal([{ url: 'https://tillbook.example' }])
    const etag = reply.headers.get('etag') ?? ''
    expect((await send(`${api.url}/api/openapi.json`, 'GET', undefined, { 'if-none-match': etag })).status).to.equal(
      304,
    )
    const posted = await send(`${api.url}/api/openapi.json`, 'POST', {})
    expect([posted.status, posted.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD'])
    const limited = await startApi(database.url, { perMinute: 1 })
    try {
      await send(`${limited.url}/api/openapi.json`, 'GET')
      expect((await send(`${limited.url}/api/openapi.json`, 'GET')).status).to.equal(429)
    } finally {
      await limited.close()
    }
  })
})

describe('the receiver by contract', () => {
  const database = useDatabase()
  const provider = createMemoryProvider()
  let shop: OnlineStore
  let signed: string
  let hurried: TestApi
  let few: TestApi
  const ignoring = (_message: string, error: unknown) => {
    if (
      !(error instanceof ProviderMisconfigured || error instanceof Unavailable) &&
      (error as Error).message !== 'a bug'
    )
      console.error(error)
  }

  before(async () => {
    shop = await openOnlineStore(database.url, { provider, log: ignoring })
    signed = await shop.store({ secret: SECRET })
    few = await startApi(database.url, { notificationsPerMinute: 1 })
    hurried = await startApi(database.url, { server: { headers_ms: 400, request_ms: 400, check_ms: 20 } })
  })
  beforeEach(() => {
    provider.before = () => {}
  })
  after(async () => {
    await hurried.close()
    await few.close()
    await shop.close()
  })

  const failing = async (error: Error): Promise<Reply> => {
    const order = await shop.order()
    provider.before = () => {
      throw error
    }
    return notify(shop, order.id, told(paymentOf(order).id))
  }

  const OUTCOMES: Readonly<Record<string, () => Promise<Reply>>> = {
    async 200() {
      const order = await shop.order()
      const payment = paymentOf(order)
      provider.put(payment)
      const body = told(payment.id)
      expectAcceptedByTillContract(receiver, body)
      return notify(shop, order.id, body)
    },
    malformed_json: async () => notify(shop, (await shop.order()).id, '{'),
    invalid_notification: async () => notify(shop, (await shop.order()).id, told('404')),
    invalid_signature: () => notify({ ...shop, alias: signed }, 1, told('1')),
    not_found: () => notify(shop, 999_999, told('1')),
    async request_timeout() {
      const wire = await openWire(hurried.url)
      const path = `/webhook/paymentprovider/${shop.alias}/1`
      wire.write(bytesOf({ method: 'POST', path, headers: [['Content-Length', '9']] }))
      const [reply] = await wire.answered(1)
      await wire.ended()
      return reply as unknown as Reply
    },
    payload_too_large: () => notify(shop, 1, 'x'.repeat(9_000)),
    unsupported_media_type: () => notify(shop, 1, told('1'), { 'content-encoding': 'x-unknown' }),
    async rate_limited() {
      await notify({ ...shop, api: few }, 999_999, told('1'))
      return notify({ ...shop, api: few }, 999_999, told('1'))
    },
    internal_error: () => failing(new Error('a bug')),
    provider_configuration_invalid: () => failing(new ProviderMisconfigured('wrong token')),
    unavailable: () => failing(new Unavailable('the provider does not answer')),
  }

  for (const outcome of tillOutcomes(receiver))
    it(`responds ${outcome} as documented`, async () => {
      const reply = await (OUTCOMES[outcome] as () => Promise<Reply>)()
      expect(tillOutcomeOf(receiver, reply), reply.text).to.equal(outcome)
      expectDocumentedTillAnswer(receiver, reply)
    })

  it('has a case for every documented outcome', () => {
    expect(Object.keys(OUTCOMES)).to.have.members(tillOutcomes(receiver))
  })
})
