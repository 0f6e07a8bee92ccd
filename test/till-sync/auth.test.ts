import { expect } from 'chai'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { createTestUser, expectFailure, logIn, openTill, type TestUser, tillWith } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('tokens of tills', () => {
  const api = useApi()
  let other: TestApi
  let company: TestCompany
  let user: TestUser

  before(async () => {
    other = await startApi(api.databaseUrl, { settings: { SYNC_TOKEN_DAYS: '7' } })
    company = await api.company({ plan: 'basic' })
    user = await createTestUser(company, 'owner')
  })
  after(() => other.close())

  const sql = (text: string, values: unknown[] = []) => api.core.pool.query(text, values)

  describe('POST /api/auth/login', () => {
    it('returns a valid token with its user, without the API add-on [TOKEN-3]', async () => {
      const reply = await logIn(api.url, user)
      expect(reply.status, reply.text).to.equal(200)
      const { token } = reply.body.data
      expect(token).to.match(/^tb_sync_[\w-]{43}$/)
      expect(reply.body).to.deep.equal({
        success: true,
        message: 'Login realizado com sucesso.',
        data: {
          token,
          user: { id: user.id, name: user.name, email: user.email, company_id: company.id },
          expires_at: null,
        },
      })
      expect(reply.headers.get('cache-control')).to.equal('no-store')
      expect((await tillWith(api.url, user, token).get('/sync/status')).status).to.equal(200)
    })

    it('accepts the address in capitals and with blanks [TOKEN-3, SYNC-2]', async () => {
      const till = tillWith(api.url, user, '')
      const credentials = { email: ` ${user.email.toUpperCase()} `, password: user.password, device: 'Caixa 1' }
      expect((await till.post('/auth/login', credentials)).status).to.equal(200)
    })

    it('keeps the tokens of several tills valid [TOKEN-3]', async () => {
      const tills = [await openTill(api.url, company, user), await openTill(api.url, company, user)]
      for (const till of tills) expect((await till.get('/auth/user')).status).to.equal(200)
    })

    it('refuses a wrong password and an unknown address with the same response [PANEL-2]', async () => {
      const wrong = await logIn(api.url, { ...user, password: 'outra senha' })
      const unknown = await logIn(api.url, { ...user, email: 'ninguem@loja.example' })
      expectFailure(wrong, 401, /^E-mail ou senha incorretos\.$/)
      expectFailure(unknown, 401)
      expect(unknown.text).to.equal(wrong.text)
    })

    for (const [what, body, fields] of [
      ['no body', undefined, ['email', 'password']],
      ['an empty object', {}, ['email', 'password']],
      ['a list', [], ['body']],
      ['null', 'null', ['body']],
      ['an invalid address', { email: 'caixa', password: 'x' }, ['email']],
      ['an empty password', { email: 'a@b.example', password: '' }, ['password']],
      ['an endless password', { email: 'a@b.example', password: 'x'.repeat(201) }, ['password']],
      ['numbers', { email: 1, password: 2 }, ['email', 'password']],
      ['objects', { email: { $gt: '' }, password: { $gt: '' } }, ['email', 'password']],
    ] as const) {
      it(`refuses ${what} with 422, naming ${fields.join(' and ')}`, async () => {
        const reply = await tillWith(api.url, user, '').post('/auth/login', body)
        expect(Object.keys(expectFailure(reply, 422))).to.have.members(fields)
      })
    }

    it('stores neither token nor password, only the hash of the token [TOKEN-3]', async () => {
      const { token } = await openTill(api.url, company, user)
      const { rows } = await sql(`select t::text as row from ops.sync_tokens t where user_id = $1`, [user.id])
      expect(rows).not.to.be.empty
      for (const { row } of rows) {
        expect(row).not.to.include(token).and.not.include(token.slice('tb_sync_'.length))
        expect(row).not.to.include(Buffer.from(token).toString('hex'))
      }
    })
  })

  describe('a token', () => {
    for (const [what, authorization] of [
      ['with a wrong format', 'Bearer abc'],
      ['that was never issued', `Bearer tb_sync_${'A'.repeat(43)}`],
      ['without its scheme', `tb_sync_${'A'.repeat(43)}`],
      ['of another scheme', 'Basic YTpi'],
      ['that is empty', 'Bearer '],
    ] as const) {
      it(`${what} gets 401 on every route [TOKEN-3]`, async () => {
        const till = tillWith(api.url, user, '')
        for (const [method, path] of ROUTES) {
          expectFailure(await till.call(method, path, undefined, { authorization }), 401, /Faça login novamente/)
        }
      })
    }

    it('that is missing gets 401 on every route [TOKEN-3]', async () => {
      for (const [method, path] of ROUTES) {
        const reply = await fetch(`${api.url}/api${path}`, { method })
        expect(reply.status).to.equal(401)
        expect(((await reply.json()) as { message: string }).message).to.match(/^Informe o token/)
      }
    })

    it('is not an API key, nor the other way round [TOKEN-3]', async () => {
      const till = await openTill(api.url, company, user)
      expect((await till.get('/v1/me')).body.error.code).to.equal('invalid_token')
      expectFailure(await tillWith(api.url, user, company.key).get('/sync/status'), 401)
    })

    it('expires after SYNC_TOKEN_DAYS, in every process [TOKEN-4]', async () => {
      const till = await openTill(other.url, company, user)
      const { rows } = await sql(
        `update ops.sync_tokens set expires_at = date_trunc('milliseconds', clock_timestamp())
         where company_id = ${company.id} and expires_at is not null and revoked_at is null
         returning expires_at > created_at + interval '6 days' as was_later`,
      )
      expect(rows).to.have.length(1)
      for (const { url } of [api, other]) {
        for (const [method, path] of ROUTES) {
          expectFailure(await tillWith(url, user, till.token).call(method, path), 401)
        }
      }
    })

    it('shows its expiry [TOKEN-4]', async () => {
      const { expires_at } = (await logIn(other.url, user)).body.data
      expect(expires_at).to.match(INSTANT)
      const { rows } = await sql(
        `select $1::timestamptz - now() between interval '6 days 23 hours' and interval '7 days' as soon`,
        [expires_at],
      )
      expect(rows[0].soon).to.equal(true)
    })
  })

  describe('POST /api/auth/refresh', () => {
    it('responds like a login with a new token, whose first use revokes the old one [TOKEN-5]', async () => {
      const till = await openTill(api.url, company, user)
      const reply = await till.post('/auth/refresh')
      expect(reply.status, reply.text).to.equal(200)
      const { token } = reply.body.data
      const { id, name, email } = user
      expect(reply.body).to.deep.equal({
        success: true,
        message: 'Token renovado com sucesso.',
        data: { token, user: { id, name, email, company_id: company.id }, expires_at: null },
      })
      expect(token)
        .to.match(/^tb_sync_/)
        .and.not.equal(till.token)
      expect((await till.get('/sync/status')).status, 'the answer may be lost').to.equal(200)
      expect((await tillWith(api.url, user, token).get('/sync/status')).status).to.equal(200)
      expectFailure(await till.get('/sync/status'), 401)
      expectFailure(await till.post('/auth/refresh'), 401)
    })

    it('ignores the body, whatever its type', async () => {
      const till = await openTill(api.url, company, user)
      const reply = await till.call('POST', '/auth/refresh', '{', { 'content-type': 'text/plain' })
      expect(reply.status, reply.text).to.equal(200)
    })

    it('gives one new token to many concurrent renewals, also in several processes [TOKEN-5]', async () => {
      const till = await openTill(api.url, company, user)
      const replies = await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          tillWith(n % 2 ? api.url : other.url, user, till.token).post('/auth/refresh'),
        ),
      )
      expect(replies.map(({ status }) => status)).to.deep.equal(Array(16).fill(200))
      const [token, ...more] = new Set(replies.map(({ body }) => body.data.token as string))
      expect(more).to.deep.equal([])
      expect((await tillWith(api.url, user, token!).get('/auth/user')).status).to.equal(200)
      expectFailure(await till.get('/auth/user'), 401)
    })
  })

  describe('POST /api/auth/logout', () => {
    it('revokes this token at once in every process, and no other one [TOKEN-5]', async () => {
      const till = await openTill(api.url, company, user)
      const another = await openTill(api.url, company, user)
      const elsewhere = tillWith(other.url, user, till.token)
      expect((await elsewhere.get('/sync/status')).status).to.equal(200)
      const reply = await till.post('/auth/logout')
      expect(reply.status).to.equal(200)
      expect(reply.body).to.deep.equal({ success: true, message: 'Logout realizado com sucesso.' })
      for (const [method, path] of ROUTES) {
        expectFailure(await elsewhere.call(method, path), 401)
        expectFailure(await till.call(method, path), 401)
      }
      expect((await another.get('/sync/status')).status).to.equal(200)
    })

    it('revokes a renewed token and its successor, with either of them [TOKEN-5]', async () => {
      for (const isOld of [true, false]) {
        const till = await openTill(api.url, company, user)
        const renewed = tillWith(other.url, user, (await till.post('/auth/refresh')).body.data.token)
        expect((await (isOld ? till : renewed).post('/auth/logout')).status).to.equal(200)
        for (const each of [till, renewed]) expectFailure(await each.get('/sync/status'), 401)
      }
    })
  })

  it('GET /api/auth/user shows the logged-in user', async () => {
    const till = await openTill(api.url, company, user)
    const reply = await till.get('/auth/user')
    const { id, name, email } = user
    expect(reply.body).to.deep.equal({ success: true, data: { id, name, email, company_id: company.id } })
  })

  it('GET /api/sync/status shows the logged-in user, and the time of Postgres', async () => {
    const till = await openTill(api.url, company, user)
    const { body } = await till.get('/sync/status')
    const { server_time, ...rest } = body
    expect(rest).to.deep.equal({
      success: true,
      company_id: company.id,
      user_id: user.id,
      user_name: user.name,
      version: '1.0',
      till: null,
    })
    expect(server_time).to.match(INSTANT)
    const { rows } = await sql(`select now() - $1::timestamptz between interval '0' and interval '1 minute' as fits`, [
      server_time,
    ])
    expect(rows[0].fits).to.equal(true)
  })
})

const ROUTES = [
  ['GET', '/auth/user'],
  ['GET', '/sync/status'],
  ['GET', '/sync/config'],
  ['GET', '/sync/products'],
  ['POST', '/sync/check-conflicts'],
  ['POST', '/sync/sales'],
  ['POST', '/auth/refresh'],
  ['POST', '/auth/logout'],
] as const
