import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { type FaultyApi, startFaultyApi } from '../support/faulty-api.ts'
import { rawRequest } from '../support/raw-request.ts'
import { createTestUser, expectFailure, openTill, type TestTill, tillWith } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const ROUTES = [
  ['/auth/login', 'POST'],
  ['/auth/refresh', 'POST'],
  ['/auth/logout', 'POST'],
  ['/auth/user', 'GET, HEAD'],
  ['/sync/status', 'GET, HEAD'],
  ['/sync/config', 'GET, HEAD'],
  ['/sync/products', 'GET, HEAD'],
  ['/sync/check-conflicts', 'POST'],
  ['/sync/sales', 'POST'],
] as const

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

describe('errors of the till sync', () => {
  const api = useApi()
  let few: TestApi
  let faulty: FaultyApi
  let company: TestCompany
  let till: TestTill

  before(async () => {
    few = await startApi(api.databaseUrl, { perMinute: 3, settings: { SYNC_QUOTA_PER_MINUTE: '4' } })
    faulty = await startFaultyApi(api.core, api.databaseUrl)
    company = await api.company()
    till = await openTill(api.url, company)
  })
  after(async () => {
    await faulty.close()
    await few.close()
  })

  for (const [path, allow] of ROUTES) {
    it(`${path} responds 405 to methods other than ${allow}, with or without a token [SYNC-40]`, async () => {
      for (const method of METHODS.filter((one) => !allow.includes(one))) {
        for (const one of [till, tillWith(api.url, till.user, 'x')]) {
          const reply = await one.call(method, path)
          expectFailure(reply, 405)
          expect(reply.headers.get('allow')).to.equal(allow)
        }
      }
    })
  }

  it('routes that do not exist are 404 [SYNC-40]', async () => {
    for (const path of [
      '',
      '/',
      '/nada',
      '/v2/sales',
      '/auth',
      '/auth/',
      '/auth/login/',
      '/auth/LOGIN',
      '/sync/nada',
      '/sync/status/1',
      '/sync/%',
      '/sync/%00',
    ]) {
      const headers = { authorization: `Bearer ${till.token}` }
      for (const method of ['GET', 'POST']) {
        expectFailure(await rawRequest(api.url, { method, path: `/api${path}`, headers }), 404, /Rota não encontrada/)
      }
    }
  })

  it('HEAD responds like GET, without the body', async () => {
    const get = await till.get('/auth/user')
    const head = await till.call('HEAD', '/auth/user')
    expect([head.status, head.text]).to.deep.equal([200, ''])
    expect(head.headers.get('content-length')).to.equal(get.headers.get('content-length'))
  })

  describe('the body', () => {
    const login = (body: string | Buffer, type?: string) =>
      rawRequest(api.url, {
        method: 'POST',
        path: '/api/auth/login',
        headers: type ? { 'content-type': type } : {},
        body,
      })

    it('of invalid JSON is 422 [SYNC-40]', async () => {
      for (const body of ['{', '{"email":}', "{'email':'a'}", '{} {}', 'email=a&password=b', '"\\x"']) {
        expectFailure(await login(body, 'application/json'), 422, /não é um JSON válido/)
      }
      const latin1 = Buffer.from('{"email":"a@b.example","password":"é"}', 'latin1')
      expectFailure(await login(latin1, 'application/json'), 422, /não é um JSON válido/)
    })

    it('of another type is 415 [SYNC-40]', async () => {
      for (const type of [
        undefined,
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/json; charset=latin1',
      ]) {
        expectFailure(await login('{}', type), 415)
      }
    })

    it('an unauthenticated body of more than 16 KB is 413 naming the limit [SYNC-40]', async () => {
      const padded = (bytes: number) => '{}'.padEnd(bytes)
      const errors = expectFailure(await login(padded(16_385), 'application/json'), 413)
      expect(errors).to.deep.equal({ body: ['deve ter no máximo 16384 bytes'] })
      expectFailure(await login(padded(16_384), 'application/json'), 422)
    })
  })

  it('plain HTTP is 403 before the password is checked, except under a loopback name [KEY-7]', async () => {
    const headers = { host: 'api.example.com', 'content-type': 'application/json' }
    const body = JSON.stringify({ email: till.user.email, password: till.user.password })
    const reply = await rawRequest(api.url, { method: 'POST', path: '/api/auth/login', headers, body })
    expectFailure(reply, 403, /HTTPS/)
    const authorization = `Bearer ${till.token}`
    expectFailure(await rawRequest(api.url, { path: '/api/sync/status', headers: { ...headers, authorization } }), 403)
  })

  it('requests beyond the limit per minute are 429, for each token separately [SYNC-6]', async () => {
    const user = await createTestUser(company)
    const tills = await Promise.all([openTill(few.url, company, user), openTill(few.url, company, user)])
    for (const one of tills) {
      for (let call = 0; call < 4; call++) expect((await one.get('/sync/status')).status).to.equal(200)
      const refused = await one.get('/sync/status')
      expectFailure(refused, 429, /Muitas requisições/)
      expect(Number(refused.headers.get('retry-after'))).to.be.within(50, 60)
    }
  })

  it('requests without a token are limited by address [SYNC-6]', async () => {
    const ask = (path: string) => tillWith(few.url, till.user, 'x').get(path)
    expectFailure(await ask('/sync/status'), 401)
    expectFailure(await ask('/sync/nada'), 404)
    expectFailure(await ask('/auth/login'), 405)
    const refused = await ask('/sync/status')
    expectFailure(refused, 429)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(50, 60)
    // A client with a token counts as authenticated.
    expect((await tillWith(few.url, till.user, till.token).get('/sync/status')).status).to.equal(200)
  })

  it('odd values get a response on every route, never 500 [HTTP-12]', async () => {
    const odd = [
      null,
      true,
      0,
      -1,
      1e308,
      '',
      '\0',
      '\ud800',
      '𝒳'.repeat(300),
      [],
      [[]],
      {},
      { __proto__: 1 },
      '__proto__',
    ]
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
    for (const value of odd) {
      for (const [path, body] of [
        ['/auth/login', { email: value, password: value }],
        ['/auth/login', { email: 'a@b.example', password: value }],
        ['/auth/login', value],
        ['/sync/check-conflicts', value],
        ['/sync/check-conflicts', { products: value }],
        ['/sync/check-conflicts', { products: [value] }],
        ['/sync/check-conflicts', { products: [{ id: value, updated_at: value }] }],
      ] as const) {
        const reply = await till.call('POST', path, JSON.stringify(body), { 'content-type': 'application/json' })
        // An odd login is 422, 401 or, after ten of them, 429; an odd check is 422, or 200 where nothing is asked.
        expect(reply.status, `${path} ${JSON.stringify(body)}: ${reply.text}`).to.be.oneOf([200, 401, 422, 429])
      }
    }
    for (const [path, deep] of [
      ['/auth/login', nested(3_000)],
      ['/sync/check-conflicts', nested(50_000)],
    ] as const) {
      expectFailure(await till.post(path, deep), 422)
      expectFailure(await till.post(path, `{"products":${deep},"email":${deep}}`), 422)
    }
    for (const query of ['last_sync[]=1', 'last_sync[a]=1', 'last_sync=%ff', '%00=1', 'last_sync=%', '__proto__=1']) {
      // An unknown parameter is ignored, a malformed `last_sync` refused.
      expect((await till.get(`/sync/products?${query}`)).status, query).to.be.oneOf([200, 422])
    }
  })

  it('a bug is 500 without details; an unreachable database is 503 with Retry-After [HTTP-13]', async () => {
    const body = { email: till.user.email, password: till.user.password }
    for (const [path, method, sent] of [
      ['/sync/status', 'GET', undefined],
      ['/auth/login', 'POST', body],
      ['/sync/products', 'GET', undefined],
    ] as const) {
      const broken = await tillWith(faulty.broken.all, till.user, till.token).call(method, path, sent)
      expectFailure(broken, 500, /^Erro interno/)
      expect(broken.text).not.to.include('a bug')
      const down = await tillWith(faulty.down.all, till.user, till.token).call(method, path, sent)
      expectFailure(down, 503)
      expect(Number(down.headers.get('retry-after'))).to.be.at.least(1)
    }
  })
})
