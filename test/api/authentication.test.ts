import { expect } from 'chai'
import { V1_ROUTES } from '#api/api-v1.ts'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import { updateCompany } from '#commands/company-commands.ts'
import { SCOPES, type Scope } from '#domain/rights.ts'
import { expectProblem, expectRate } from '../support/answers.ts'
import { send, type TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

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

  it('responds 402 plan_required until the company has the API plan [KEY-10]', async () => {
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
