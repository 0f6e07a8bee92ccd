import { expect } from 'chai'
import { V1_ROUTES } from '#api/api-v1.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { changePassword } from '#commands/user-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import { SCOPES, type Scope } from '#domain/rights.ts'
import { createMemoryBudget } from '#lib/fair-sharing.ts'
import { expectInvalid, expectProblem, expectRate, idsIn } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type Reply, send, type TestCompany } from '../support/api.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { offlineSaleOf } from '../support/offline-sales.ts'
import { hiddenFields, panelUser } from '../support/panel.ts'
import { cheapHash } from '../support/passwords.ts'
import { createTestUser, expectFailure, openTill } from '../support/till.ts'
import { useApi, useCompanyPerTest } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { bytesOf, openWire, type RawCall } from '../support/wire.ts'

const UNKNOWN_KEY = `tb_live_${'A'.repeat(43)}`

/** Routes of catalog, customers and sales, with their scopes in the contract. */
const ROUTES: readonly (readonly [method: string, path: string, scope: Scope])[] = [
  ['GET', '/catalog/items', 'catalog:read'],
  ['GET', '/catalog/items/1', 'catalog:read'],
  ['GET', '/catalog/items/deleted', 'catalog:read'],
  ['GET', '/catalog/categories', 'catalog:read'],
  ['GET', '/catalog/categories/1', 'catalog:read'],
  ['POST', '/catalog/items', 'catalog:write'],
  ['POST', '/catalog/items/batch', 'catalog:write'],
  ['POST', '/catalog/categories', 'catalog:write'],
  ['PUT', '/catalog/items/by-external/x', 'catalog:write'],
  ['PATCH', '/catalog/items/1', 'catalog:write'],
  ['DELETE', '/catalog/items/1', 'catalog:write'],
  ['GET', '/customers', 'customers:read'],
  ['GET', '/customers/1', 'customers:read'],
  ['GET', '/customers/deleted', 'customers:read'],
  ['POST', '/customers', 'customers:write'],
  ['POST', '/customers/batch', 'customers:write'],
  ['PUT', '/customers/by-external/x', 'customers:write'],
  ['PATCH', '/customers/1', 'customers:write'],
  ['DELETE', '/customers/1', 'customers:write'],
  ['GET', '/sales', 'sales:read'],
  ['GET', '/sales/1', 'sales:read'],
  ['GET', '/sales/by-external/x', 'sales:read'],
  ['GET', '/sales/payment-types', 'sales:read'],
  ['POST', '/sales', 'sales:write'],
  ['POST', '/sales/1/cancel', 'sales:write'],
]

describe('authentication of API v1', () => {
  const api = useApi()
  let company: TestCompany

  before(async () => {
    company = await api.company()
  })

  const ask = (path: string, headers: Record<string, string> = {}) =>
    send(`${api.url}/api/v1${path}`, 'GET', undefined, headers)
  const withKey = (key: string, path = '/me') => ask(path, { authorization: `Bearer ${key}` })

  it('responds 401 missing_token without an Authorization header, for any path [KEY-1]', async () => {
    for (const path of ['/me', '/customers', '/customers/1', '/nothing', '/']) {
      const reply = await ask(path)
      expect(expectProblem(reply, 401, 'missing_token')).to.equal(undefined)
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer')
      expect(reply.headers.has('x-ledger-revision')).to.equal(false)
    }
  })

  it('responds 401 invalid_token to a header without a valid key [KEY-1]', async () => {
    const { key } = company
    const broken = [
      'Bearer',
      'Bearer x',
      key,
      `Basic ${key}`,
      `Token ${key}`,
      `Bearer${key}`,
      `Bearer ${key}x`,
      `Bearer ${key.slice(0, -1)}`,
      `Bearer ${key} ${key}`,
      `Bearer ${key},Bearer ${key}`,
      `Bearer "${key}"`,
      `Bearer ${key.toUpperCase()}`,
      `Bearer ${key.replace('tb_test_', 'tb_live_')}`,
      `Bearer ${UNKNOWN_KEY}`,
    ]
    for (const authorization of broken) {
      expectProblem(await ask('/me', { authorization }), 401, 'invalid_token')
    }
  })

  it('accepts the word Bearer in any case, as HTTP defines it [KEY-1]', async () => {
    for (const word of ['Bearer', 'bearer', 'BEARER']) {
      expect((await ask('/me', { authorization: `${word} ${company.key}` })).status).to.equal(200)
    }
  })

  it('refuses a key in the query string with 401 invalid_token, even with a valid header [KEY-6]', async () => {
    for (const name of ['api_key', 'access_token', 'token', 'key']) {
      for (const value of [company.key, '']) {
        const query = `${name}=${value}`
        for (const reply of [await company.get(`/customers?${query}`), await ask(`/customers?limit=1&${query}`)]) {
          expect(expectProblem(reply, 401, 'invalid_token')).to.deep.equal({ reason: 'key_in_query' })
          expect(reply.body.error.message).to.include('URL')
        }
      }
    }
  })

  it('refuses a revoked key from the next request on, and no other key of the company [KEY-5]', async () => {
    const { id, key } = await company.newKey(['customers:read'])
    expect((await withKey(key)).status).to.equal(200)
    await company.run(revokeApiKey, { id })
    expectProblem(await withKey(key), 401, 'invalid_token')
    expect((await company.get('/me')).status).to.equal(200)
  })

  it('refuses an expired key, from the moment of its expiry [KEY-5]', async () => {
    const expiresAt = new Date(Date.now() + 1_500).toISOString()
    const { key } = await company.newKey(['customers:read'], expiresAt)
    const refused = await until(
      async () => {
        const reply = await withKey(key)
        if (reply.status === 200) expect(Date.parse(reply.body.data.server_time)).to.be.below(Date.parse(expiresAt))
        return reply.status === 401 && reply
      },
      { what: 'the expiry of the key' },
    )
    expectProblem(refused, 401, 'invalid_token')
    expect(Date.now()).to.be.at.least(Date.parse(expiresAt))
  })

  it('does not reveal whether a refused key ever existed [KEY-1]', async () => {
    const { id, key } = await company.newKey(['customers:read'])
    await company.run(revokeApiKey, { id })
    const [revoked, unknown] = [await withKey(key), await withKey(UNKNOWN_KEY)]
    const { request_id: _a, ...a } = revoked.body.error
    const { request_id: _b, ...b } = unknown.body.error
    expect(a).to.deep.equal(b)
  })

  it('responds 402 plan_required until the company has the API plan [HTTP-15]', async () => {
    const basic = await api.company({ plan: 'basic' })
    for (const [method, path] of [
      ['GET', '/me'],
      ['GET', '/customers'],
      ['POST', '/sales'],
      ['GET', '/nothing'],
    ] as const) {
      const reply = await basic.call(method, path)
      expect(expectProblem(reply, 402, 'plan_required')).to.equal(undefined)
      expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
    }
    await basic.run(updateCompany, { plan: 'api' })
    expect((await basic.get('/me')).status).to.equal(200)
    await basic.run(updateCompany, { plan: 'basic' })
    expectProblem(await basic.get('/me'), 402, 'plan_required')
  })

  it('serves /me to a key with any scope', async () => {
    const { key } = await company.newKey(['webhooks:manage'])
    expect((await withKey(key)).status).to.equal(200)
  })

  describe('scopes', () => {
    /** Companies that lack one scope, by that scope. */
    const lacking = new Map<Scope, TestCompany>()

    before(async () => {
      for (const scope of SCOPES) {
        lacking.set(scope, await api.company({ scopes: SCOPES.filter((other) => other !== scope) }))
      }
    })

    for (const [method, path, scope] of ROUTES) {
      it(`${method} ${path} reports ${scope} if the key lacks it [KEY-9]`, async () => {
        const without = await (lacking.get(scope) as TestCompany).call(method, path)
        expect(expectProblem(without, 403, 'insufficient_scope')).to.deep.equal({ missing_scope: scope })
        expect(without.headers.get('x-ledger-revision')).to.match(/^\d+$/)
      })
    }

    it('a single scope permits its routes and no others [KEY-8]', async () => {
      for (const scope of new Set(ROUTES.map((route) => route[2]))) {
        const only = await api.company({ scopes: [scope] })
        for (const [method, path, needed] of ROUTES) {
          const { status } = await only.call(method, path)
          // Permitted: without a record or body the route may then answer 404 or 422.
          if (needed === scope) expect(status, `${scope}: ${method} ${path}`).to.be.oneOf([200, 404, 422])
          else expect(status, `${scope}: ${method} ${path}`).to.equal(403)
        }
      }
    })

    it('every route of the contract with a scope reports it if missing [KEY-9]', async () => {
      for (const route of V1_ROUTES) {
        if (route.scope === null) continue
        const path = route.path.replaceAll(/:\w+/g, '1')
        const reply = await (lacking.get(route.scope) as TestCompany).call(route.method.toUpperCase(), path)
        expect(expectProblem(reply, 403, 'insufficient_scope'), `${route.method} ${path}`).to.deep.equal({
          missing_scope: route.scope,
        })
      }
    })

    it('are checked before body and query are read [KEY-9]', async () => {
      const caller = lacking.get('customers:write') as TestCompany
      for (const body of ['{', '{"name": 1}', '[]']) {
        expectProblem(await caller.post('/customers?x=1', body), 403, 'insufficient_scope')
      }
      const reply = await caller.call('POST', '/customers', 'x', { 'content-type': 'text/plain' })
      expectProblem(reply, 403, 'insufficient_scope')
    })

    it('block all changes if missing [KEY-9]', async () => {
      const caller = lacking.get('customers:write') as TestCompany
      const before = (await caller.get('/customers')).headers.get('x-ledger-revision')
      await caller.post('/customers', { name: 'Ana' })
      const after = await caller.get('/customers')
      expect(after.body.data).to.deep.equal([])
      expect(after.headers.get('x-ledger-revision')).to.equal(before)
      expectRate(after)
    })
  })
})

describe('a POST with a credential that ends before its decision', () => {
  /** Requests received by the writer. */
  let written = 0
  /** Bodies that the service began to read. */
  let begun = 0
  const budget = createMemoryBudget({ allBytes: 1_000_000, companyBytes: 1_000_000 })
  const { api, company } = useCompanyPerTest({
    bodies: {
      open(key) {
        begun += 1
        return budget.open(key)
      },
    },
    wrapWriter: (writer) => ({
      ...writer,
      around(_request, write) {
        written += 1
        return write()
      },
    }),
  })

  const revision = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))

  /** Sends a call without the last byte of its body, and that byte after `end`. */
  async function endMidway(call: RawCall, end: () => Promise<unknown>): Promise<Reply> {
    const bytes = bytesOf(call)
    const before = begun
    const wire = await openWire(api.url)
    try {
      wire.write(bytes.subarray(0, -1))
      await until(() => begun > before)
      await end()
      wire.write(bytes.subarray(-1))
      return (await wire.answered(1))[0] as Reply
    } finally {
      wire.close()
    }
  }

  /** Sends a call that is decided after `end`, by waiting for a lock. */
  async function endBefore(end: () => Promise<unknown>, call: () => Promise<Reply>, isCommand = true): Promise<Reply> {
    const blocker = await api.core.pool.connect()
    try {
      await blocker.query('begin')
      await blocker.query('select from ops.ledgers where company_id = $1 for update', [company.id])
      const ending = end()
      await untilBlocked(api.core.pool, 1)
      const before = written
      const called = call()
      if (isCommand) await until(() => written > before)
      else await untilBlocked(api.core.pool, 2)
      await blocker.query('rollback')
      await ending
      return await called
    } finally {
      blocker.release(true)
    }
  }

  /** Sends a call that has come to the writer, and waits for a lock, when `end` is done. */
  async function endWhileBlocked<R>(call: () => Promise<R>, end: () => Promise<unknown>): Promise<R> {
    const blocker = await company.core.pool.connect()
    try {
      await blocker.query('begin')
      await blocker.query('select from ops.ledgers where company_id = $1 for update', [company.id])
      const called = call()
      await untilBlocked(company.core.pool, 1)
      await end()
      await blocker.query('rollback')
      return await called
    } finally {
      blocker.release(true)
    }
  }

  describe('is refused, and leaves nothing behind, when', () => {
    it('its key is revoked while its body is on its way [KEY-21]', async () => {
      const { id, key } = await company.newKey(['customers:write'])
      const headers = [
        ['Authorization', `Bearer ${key}`],
        ['Content-Type', 'application/json'],
      ] as const
      const call = { method: 'POST', path: '/api/v1/customers', headers, body: '{"name":"Ana"}' }
      const reply = await endMidway(call, () => company.run(revokeApiKey, { id }))
      expectProblem(reply, 401, 'invalid_token')
      expect(reply.headers.get('www-authenticate')).to.equal('Bearer')
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its key is revoked while it is queued [KEY-21]', async () => {
      const { data } = (await company.post('/webhooks', { url: 'https://example.com/', events: ['basic'] })).body
      for (const [path, body] of [
        ['/customers', { name: 'Ana' }],
        ['/customers/batch', { items: [{ external_id: 'a', name: 'Ana' }] }],
        [`/webhooks/${data.id}/test`, {}],
      ] as const) {
        const { id, key } = await company.newKey(['customers:write', 'webhooks:manage'])
        const reply = await endBefore(
          () => company.run(revokeApiKey, { id }),
          () => company.call('POST', path, body, { authorization: `Bearer ${key}` }),
          !path.endsWith('/test'),
        )
        expectProblem(reply, 401, 'invalid_token')
      }
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its till logs out during its upload [KEY-21]', async () => {
      const till = await openTill(api.url, company)
      const headers = [
        ['Authorization', `Bearer ${till.token}`],
        ['Content-Type', 'application/json'],
      ] as const
      const body = JSON.stringify({ sales: [offlineSaleOf()] })
      const before = await revision()
      const call = { method: 'POST', path: '/api/sync/sales', headers, body }
      expectFailure(await endMidway(call, () => till.post('/auth/logout')), 401, /Faça login novamente/)
      expect(await revision()).to.equal(before)
    })

    it('its user gets a new password while its upload is queued [KEY-21]', async () => {
      const user = await createTestUser(company)
      const till = await openTill(api.url, company, user)
      const password_hash = await cheapHash('outra senha boa')
      const reply = await endBefore(
        () => company.run(changePassword, { id: user.id, password_hash }),
        () => till.post('/sync/sales', { sales: [offlineSaleOf()] }),
      )
      expectFailure(reply, 401, /Faça login novamente/)
      const { rows } = await api.core.pool.query('select from ops.refused_sales where company_id = $1', [company.id])
      expect(rows).to.deep.equal([])
    })

    it('its session ends during the upload of its form [KEY-21]', async () => {
      const owner = await panelUser(api, company)
      const form = hiddenFields((await owner.get('/painel/clientes/novo')).html, '/painel/clientes')
      const headers = [
        ['Cookie', owner.cookie()],
        ['Content-Type', 'application/x-www-form-urlencoded'],
      ] as const
      const body = new URLSearchParams({ ...form, name: 'Maria', person_type: 'PF' }).toString()
      const call = { method: 'POST', path: '/painel/clientes', headers, body }
      const reply = await endMidway(call, () => owner.submit('/painel/clientes', {}, '/painel/sair'))
      expect(reply.status).to.equal(401)
      expect(reply.text).to.include('action="/painel/entrar"')
      expect((await company.get('/customers')).body.data).to.deep.equal([])
    })

    it('its till logs out while its upload waits for its turn [KEY-21]', async () => {
      const till = await openTill(api.url, company)
      const before = await revision()
      const reply = await endWhileBlocked(
        () => till.post('/sync/sales', { sales: [offlineSaleOf()] }),
        () => till.post('/auth/logout'),
      )
      expectFailure(reply, 401, /Faça login novamente/)
      expect(await revision()).to.equal(before)
    })

    it('its session is ended while the key that it asks for waits to be made [KEY-21]', async () => {
      const owner = await panelUser(api, company)
      const page = '/painel/integracoes/chaves'
      const form = hiddenFields((await owner.get(`${page}/nova`)).html, page)
      const { status } = await endWhileBlocked(
        () => owner.post(page, { ...form, name: 'Loja', scopes: 'catalog:read' }),
        () =>
          api.core.pool.query('update ops.sessions set revoked_at = clock_timestamp() where user_id = $1', [owner.id]),
      )
      expect(status).to.equal(401)
      const { rows } = await api.core.pool.query('select from read.api_keys where company_id = $1', [company.id])
      expect(rows).to.have.length(1)
    })
  })
})

/** Unused id. */
const MISSING = 9_000_001

describe("another company's records", () => {
  const api = useApi()
  let company: TestCompany
  let theirs: {
    customer: number
    item: number
    category: number
    sale: number
    payment: number
    deleted: number
    order: number
    alias: string
  }

  /** One record of each kind, with equal names in every company. */
  async function fill(shop: TestCompany): Promise<typeof theirs> {
    const create = async (path: string, body: object): Promise<number> => {
      const reply = await shop.post(path, body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id
    }
    const payment = await shop.paymentType('cash')
    const category = await create('/catalog/categories', { name: 'Bebidas', external_id: 'cat' })
    const item = await create('/catalog/items', {
      name: 'Café',
      price: '10.00',
      stock: '5',
      barcode: '789',
      external_id: 'item',
      category_id: category,
    })
    const customer = await create('/customers', { name: 'Ana', external_id: 'ana' })
    const sale = await create('/sales', {
      external_id: 'pedido',
      customer_external_id: 'ana',
      items: [{ catalog_item_id: item, quantity: '1' }],
      payments: [{ payment_type_id: payment, amount: '10.00' }],
    })
    const deleted = await create('/customers', { name: 'Apagada', external_id: 'apagada' })
    await shop.call('DELETE', `/customers/${deleted}`)
    const store = { alias: `loja-${shop.id}`, commission_percentage: '5', sandbox: true }
    await shop.run(createStore, store)
    const order = await create('/orders', {
      store_alias: store.alias,
      external_id: 'pedido',
      customer: { name: 'Ana' },
      items: [{ catalog_item_id: item, quantity: '1' }],
    })
    return { customer, item, category, sale, payment, deleted, order, alias: store.alias }
  }

  before(async () => {
    theirs = await fill(await api.company({ idsFrom: FOREIGN_IDS }))
  })
  beforeEach(async () => {
    company = await api.company()
  })

  /** Response without the parts that differ between any two. */
  function telling(reply: Reply): { status: number; text: string; headers: Record<string, string> } {
    const headers = Object.fromEntries(reply.headers)
    const id = headers['x-request-id'] ?? ''
    const passing = ['date', 'x-ratelimit-remaining', 'x-ratelimit-bytes-remaining', 'x-ratelimit-reset']
    for (const name of ['x-request-id', ...passing]) delete headers[name]
    return { status: reply.status, text: reply.text.replaceAll(id, '<request_id>'), headers }
  }

  /** Both responses are equal in every byte and header. */
  async function expectAlike(
    ask: (id: number | string) => Promise<Reply>,
    foreign: number | string,
    missing: number | string,
  ) {
    const [a, b] = [telling(await ask(foreign)), telling(await ask(missing))]
    // 404 for a record of the path, 422 for a reference in the body.
    expect(a.status, a.text).to.be.oneOf([404, 422])
    const shown = { ...b, text: b.text.replaceAll(String(missing), String(foreign)) }
    expect(a).to.deep.equal(shown)
  }

  it('look exactly like missing ones on every route with an id [HTTP-8]', async () => {
    const routes: readonly (readonly [method: string, path: string, id: number, body?: object])[] = [
      ['GET', '/customers/ID', theirs.customer],
      ['GET', '/customers/ID', theirs.deleted],
      ['PATCH', '/customers/ID', theirs.customer, { name: 'Minha' }],
      ['PATCH', '/customers/ID', theirs.customer, {}],
      ['PATCH', '/customers/ID', theirs.deleted, { name: 'Minha' }],
      ['DELETE', '/customers/ID', theirs.customer],
      ['GET', '/catalog/items/ID', theirs.item],
      ['PATCH', '/catalog/items/ID', theirs.item, { price: '0.01' }],
      ['PATCH', '/catalog/items/ID', theirs.item, { stock: '0' }],
      ['PATCH', '/catalog/items/ID', theirs.item, { stock_adjustment: '-5' }],
      ['DELETE', '/catalog/items/ID', theirs.item],
      ['GET', '/catalog/categories/ID', theirs.category],
      ['GET', '/sales/ID', theirs.sale],
      ['POST', '/sales/ID/cancel', theirs.sale, { reason: 'x' }],
      ['GET', '/orders/ID', theirs.order],
      ['GET', '/orders/ID/payment-options', theirs.order],
      ['POST', '/orders/ID/refunds', theirs.order, {}],
      ['POST', '/orders/ID/cancel', theirs.order, {}],
      ['POST', '/orders/ID/deliver', theirs.order],
      ['POST', '/orders/ID/alarms/p1/acknowledge', theirs.order],
      ['POST', '/orders/ID/payments', theirs.order, { method: 'pix', payer: { email: 'ana@example.com' } }],
    ]
    for (const [method, path, id, body] of routes) {
      await expectAlike(
        (asked) => company.call(method, path.replace('ID', String(asked)), body, { 'idempotency-key': 'k' }),
        id,
        MISSING,
      )
    }
    await expectAlike((id) => company.get(`/sales/by-external/${id}`), 'pedido', 'nenhum')
  })

  it('cannot be referenced in a body: exactly as with a missing one [HTTP-9]', async () => {
    const cash = await company.paymentType('cash')
    const { data: own } = (await company.post('/catalog/items', { name: 'Meu', price: '1.00' })).body
    const line = { description: 'x', quantity: '1', unit_price: '1.00' }
    const payments = [{ payment_type_id: cash, amount: '1.00' }]
    const item = (category_id: number | string) => ({ name: 'x', price: '1.00', category_id })
    const cases: readonly (readonly [(id: number | string) => Promise<Reply>, number | string, number | string])[] = [
      [(id) => company.post('/catalog/items', item(id)), theirs.category, MISSING],
      [(id) => company.call('PUT', '/catalog/items/by-external/x', item(id)), theirs.category, MISSING],
      [(id) => company.call('PATCH', `/catalog/items/${own.id}`, { category_id: id }), theirs.category, MISSING],
      [
        (id) => company.post('/sales', { items: [{ catalog_item_id: id, quantity: '1' }], payments }),
        theirs.item,
        MISSING,
      ],
      [
        (id) =>
          company.post('/sales', {
            items: [{ catalog_item_id: id, quantity: '999', unit_price: '0.00' }],
            payments: [],
          }),
        theirs.item,
        MISSING,
      ],
      [
        (id) => company.post('/sales', { items: [{ catalog_item_external_id: id, quantity: '1' }], payments }),
        'item',
        'nenhum',
      ],
      [(id) => company.post('/sales', { customer_external_id: id, items: [line], payments }), 'ana', 'ninguém'],
      [
        (id) => company.post('/sales', { items: [line], payments: [{ payment_type_id: id, amount: '1.00' }] }),
        theirs.payment,
        MISSING,
      ],
      [
        (store_alias) => company.post('/orders', { store_alias, customer: { name: 'Ana' }, items: [line] }),
        theirs.alias,
        'nenhuma-loja',
      ],
    ]
    for (const [ask, foreign, missing] of cases) await expectAlike(ask, foreign, missing)
    const { body } = await company.post('/catalog/items/batch', {
      items: [{ external_id: 'x', ...item(theirs.category) }],
    })
    expect(body.meta.errors).to.deep.equal([
      {
        index: 0,
        external_id: 'x',
        code: 'validation_failed',
        message: body.meta.errors[0].message,
        details: { fields: { category_id: body.meta.errors[0].details.fields.category_id }, unknown_fields: [] },
      },
    ])
  })

  it('are in no list, under no filter, and in no list of deleted records [HTTP-9]', async () => {
    for (const path of [
      '/customers',
      '/customers?name=ana',
      '/customers?external_id=ana',
      '/customers?updated_since=1970-01-01T00:00:00Z',
      '/customers/deleted',
      '/customers/deleted?since=1970-01-01T00:00:00Z',
      '/catalog/items',
      '/catalog/items?barcode=789',
      '/catalog/items?updated_since=1970-01-01T00:00:00Z',
      `/catalog/items?category_id=${theirs.category}`,
      '/catalog/items/deleted',
      '/catalog/categories',
      '/sales',
      `/sales?customer_id=${theirs.customer}`,
      '/sales?external_id=pedido',
      '/orders',
      '/orders?external_id=pedido',
      `/orders?store_alias=${theirs.alias}`,
    ]) {
      expect(idsIn(await company.get(path)), path).to.deep.equal([])
    }
    expect((await company.get('/sales/payment-types')).body.data).to.deep.equal([])
    expect((await company.get('/stores')).body.data).to.deep.equal([])
  })

  it('do not conflict with any name, barcode, external_id or Idempotency-Key [HTTP-9]', async () => {
    const own = await fill(company)
    for (const kind of Object.keys(own) as (keyof typeof own)[]) expect(own[kind]).to.not.equal(theirs[kind])
    const other = await api.company()
    const [a, b] = (await Promise.all(
      [company, other].map((each, n) =>
        each.post('/customers', { name: `Cliente ${n}` }, { 'idempotency-key': 'mesma' }),
      ),
    )) as [Reply, Reply]
    expect([a.status, b.status]).to.deep.equal([201, 201])
    expect([a, b].map((reply) => reply.headers.has('idempotent-replayed'))).to.deep.equal([false, false])
  })

  it('are not changed by an upsert under their external id', async () => {
    const reply = await company.call('PUT', '/customers/by-external/ana', { name: 'Minha Ana' })
    expect(reply.status).to.equal(201)
    expect(reply.body.data.id).to.not.equal(theirs.customer)
    const batch = await company.post('/customers/batch', { items: [{ external_id: 'apagada', name: 'Minha' }] })
    expect(batch.body.data[0].id).to.not.equal(theirs.deleted)
    const item = await company.call('PUT', '/catalog/items/by-external/item', { name: 'Meu', price: '1.00' })
    expect(item.body.data).to.include({ stock: null, category_id: null })
  })

  it('are not reachable with the cursor of their list [HTTP-9, LIST-3]', async () => {
    const [mine, other] = [await api.company(), await api.company()]
    for (let n = 0; n < 3; n++) await other.post('/customers', { name: `Cliente ${n}` })
    const { next_cursor } = (await other.get('/customers?limit=1')).body.meta
    const reply = await mine.get(`/customers?limit=1&cursor=${next_cursor}`)
    if (reply.status === 200) expect(reply.body.data).to.deep.equal([])
    else expectInvalid(reply, ['cursor'])
  })

  it('are not revealed by a conflict [HTTP-9]', async () => {
    await company.post('/customers', { name: 'Bia' })
    const reply = await company.post('/customers', { name: 'Bia' })
    const { conflicting_id } = reply.body.error.details
    expect((await company.get(`/customers/${conflicting_id}`)).body.data as Json).to.include({ name: 'Bia' })
  })
})
