import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { addDays, dateInZone, startOfDay } from '#domain/instant.ts'
import { countedAuthenticator, createMetrics } from '#service/metrics.ts'
import { expectProblem, expectRate } from '../support/answers.ts'
import { type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { expectFailure, openTill } from '../support/till.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

const PER_MINUTE = 30
const PER_DAY = 45

/** Time zone with midnight hours away, so that no test crosses a day. */
const ZONE = new Date().getUTCHours() < 9 ? 'Asia/Tokyo' : 'America/Sao_Paulo'

const unixNow = () => Math.floor(Date.now() / 1000)

describe('quotas', () => {
  const database = useDatabase()
  let api: TestApi

  before(async () => {
    api = await startApi(database.url, { perMinute: PER_MINUTE, perDay: PER_DAY })
  })
  after(() => api.close())

  const newCompany = () => api.company({ timezone: ZONE })

  /** Remaining requests of a company; this request counts too. */
  const remaining = async (company: TestCompany) => expectRate(await company.get('/me')).remaining

  /** Ends the company's minute. */
  const endMinute = ({ id }: TestCompany) =>
    api.core.pool.query('update ops.quotas set minute_ends_at = now() where company_id = $1', [id])

  const call = (company: TestCompany, count: number): Promise<Reply[]> =>
    Promise.all(Array.from({ length: count }, () => company.get('/me')))

  it('every response to a key shows the window and counts, for any status [RATE-3]', async () => {
    const company = await newCompany()
    const cash = await company.paymentType('cash')
    const json = { authorization: `Bearer ${company.key}`, 'content-type': 'application/json' }
    const id = (await company.post('/customers', { external_id: 'a', name: 'Ana' })).body.data.id
    let left = PER_MINUTE - 1
    const calls: readonly (readonly [status: number, () => Promise<Reply>])[] = [
      [200, () => company.get('/customers')],
      [201, () => company.post('/customers', { name: 'Bia' })],
      [207, () => company.post('/customers/batch', { items: [{ external_id: 'c', name: 'Caio' }, {}] })],
      [400, () => company.post('/customers', '{')],
      [404, () => company.get('/customers/999999999')],
      [404, () => company.get('/nothing')],
      [404, () => rawRequest(api.url, { path: '/api/v1/customers/%', headers: json })],
      [405, () => company.call('PUT', '/customers')],
      [409, () => company.post('/customers', { name: 'Ana' })],
      [413, () => company.post('/customers', ' '.repeat(1_048_577))],
      [415, () => company.post('/customers', '{}', { 'content-type': 'text/plain' })],
      [422, () => company.post('/customers', {})],
      [422, () => company.get('/customers?limit=0')],
      [422, () => company.post('/sales', { items: [], payments: [{ payment_type_id: cash, amount: '1.00' }] })],
      [204, () => company.call('DELETE', `/customers/${id}`)],
    ]
    for (const [status, run] of calls) {
      const reply = await run()
      expect(reply.status).to.equal(status)
      const rate = expectRate(reply)
      expect(rate).to.include({ limit: PER_MINUTE, remaining: --left })
      expect(rate.reset).to.be.within(unixNow(), unixNow() + 61)
      expect(reply.headers.get('x-ledger-revision'), `${status}`).to.match(/^\d+$/)
      expect(reply.headers.has('retry-after')).to.equal(false)
    }
  })

  it('a request without its scope or plan counts too [RATE-3]', async () => {
    const basic = await api.company({ plan: 'basic', timezone: ZONE })
    const first = expectRate(await basic.get('/me')).remaining
    expect(first).to.equal(PER_MINUTE - 1)
    expect(expectRate(await basic.get('/me')).remaining).to.equal(first - 1)
    const reader = await api.company({ scopes: ['sales:read'], timezone: ZONE })
    expect(expectRate(await reader.get('/customers')).remaining).to.equal(PER_MINUTE - 1)
    expect(await remaining(reader)).to.equal(PER_MINUTE - 2)
  })

  it('all keys of a company share one quota, separate from other companies [RATE-1]', async () => {
    const [company, other] = [await newCompany(), await newCompany()]
    const { key } = await company.newKey(['customers:read'])
    await company.get('/me')
    const second = await send(`${api.url}/api/v1/me`, 'GET', undefined, { authorization: `Bearer ${key}` })
    expect(expectRate(second).remaining).to.equal(PER_MINUTE - 2)
    expect(await remaining(company)).to.equal(PER_MINUTE - 3)
    expect(await remaining(other)).to.equal(PER_MINUTE - 1)
  })

  it('a batch of 500 items counts as one request [BATCH-2]', async () => {
    const company = await newCompany()
    const items = Array.from({ length: 500 }, (_, n) => ({ external_id: `${n}`, name: `Cliente ${n}` }))
    const reply = await company.post('/customers/batch', { items })
    expect(reply.status).to.equal(200)
    expect(expectRate(reply).remaining).to.equal(PER_MINUTE - 1)
    expect(await remaining(company)).to.equal(PER_MINUTE - 2)
  })

  it('of concurrent requests exactly the quota passes, each with a different rest [RATE-1]', async () => {
    const company = await newCompany()
    const replies = await call(company, PER_MINUTE + 7)
    const passed = replies.filter((reply) => reply.status === 200)
    expect(passed).to.have.length(PER_MINUTE)
    expect(passed.map((reply) => expectRate(reply).remaining).sort((a, b) => a - b)).to.deep.equal(
      Array.from({ length: PER_MINUTE }, (_, n) => n),
    )
    for (const reply of replies) {
      if (reply.status === 200) continue
      expect(expectProblem(reply, 429, 'rate_limited')).to.equal(undefined)
      expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
      const { limit, remaining, reset } = expectRate(reply)
      expect({ limit, remaining }).to.deep.equal({ limit: PER_MINUTE, remaining: 0 })
      expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 60)
      expect(reset).to.be.within(unixNow(), unixNow() + 61)
    }
  })

  it('a refused request changes nothing and reaches no route [RATE-3]', async () => {
    const company = await newCompany()
    await call(company, PER_MINUTE)
    for (const [method, path] of [
      ['POST', '/customers'],
      ['GET', '/nothing'],
      ['PUT', '/customers'],
    ] as const) {
      expectProblem(
        await company.call(method, path, method === 'GET' ? undefined : { name: 'Ana' }),
        429,
        'rate_limited',
      )
    }
    await endMinute(company)
    expect((await company.get('/customers')).body.data).to.deep.equal([])
  })

  it('a 429 does not count; headers show the window closer to its limit [RATE-3, RATE-4]', async () => {
    const company = await newCompany()
    await call(company, PER_MINUTE + 10)
    await endMinute(company)
    const first = expectRate(await company.get('/me'))
    expect(first).to.include({ limit: PER_DAY, remaining: PER_DAY - PER_MINUTE - 1 })
    const today = dateInZone(new Date().toISOString(), ZONE)
    expect(first.reset).to.equal(Date.parse(startOfDay(addDays(today, 1), ZONE)) / 1000)
    await call(company, PER_DAY - PER_MINUTE - 1)
    const reply = await company.get('/me')
    expectProblem(reply, 429, 'rate_limited')
    const { limit, remaining, reset } = expectRate(reply)
    expect({ limit, remaining, reset }).to.deep.equal({ limit: PER_DAY, remaining: 0, reset: first.reset })
    expect(Number(reply.headers.get('retry-after'))).to.be.within(reset - unixNow() - 2, reset - unixNow() + 2)
    await endMinute(company)
    expectProblem(await company.get('/me'), 429, 'rate_limited')
  })

  it('clients without a valid key are limited by IP address, without affecting others [RATE-5]', async () => {
    const company = await newCompany()
    const strange = (authorization?: string) =>
      send(`${api.url}/api/v1/me`, 'GET', undefined, authorization === undefined ? {} : { authorization })
    const first = await strange()
    const { limit, remaining } = expectRate(first)
    expect({ status: first.status, limit }).to.deep.equal({ status: 401, limit: PER_MINUTE })
    const replies: Reply[] = []
    for (let n = 0; n <= remaining; n++) replies.push(await strange(n % 2 ? 'Bearer x' : undefined))
    const refused = replies.pop() as Reply
    for (const reply of replies) expect(reply.status).to.equal(401)
    expectProblem(refused, 429, 'rate_limited')
    expect(expectRate(refused).remaining).to.equal(0)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 60)
    const plain = await rawRequest(api.url, { path: '/api/v1/me', headers: { host: 'api.example.com' } })
    expectProblem(plain, 429, 'rate_limited')
    expect((await company.get('/me')).status).to.equal(200)
  })
})

const MEBIBYTE = 1_048_576

/** Values of X-RateLimit-Bytes-*. */
function bytesIn(reply: Reply): { limit: number; remaining: number } {
  const [limit, remaining] = ['limit', 'remaining'].map((name) => {
    const text = reply.headers.get(`x-ratelimit-bytes-${name}`)
    expect(text, `X-RateLimit-Bytes-${name} of ${reply.status}`).to.match(/^\d+$/)
    return Number(text)
  }) as [number, number]
  return { limit, remaining }
}

describe('daily byte quota', () => {
  const { api, company } = useCompanyPerTest({ bytesPerDay: MEBIBYTE })

  const left = async () => bytesIn(await company.get('/me')).remaining
  const headersOf = ({ key }: TestCompany) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' })
  /** Sets the remaining bytes of the company's day. */
  const leave = (bytes: number) =>
    api.core.pool.query('update ops.quotas set day_bytes = $2 where company_id = $1', [company.id, MEBIBYTE - bytes])

  it('every response to a valid key counts sent bytes, also of refused requests [RATE-6]', async () => {
    const customer = { external_id: 'a', name: 'Ana' }
    const size = Buffer.byteLength(JSON.stringify(customer))
    let expected = MEBIBYTE
    const key = { 'idempotency-key': 'k' }
    const calls: readonly (readonly [status: number, bytes: number, () => Promise<Reply>])[] = [
      [200, 0, () => company.get('/customers')],
      [201, size, () => company.post('/customers', customer, key)],
      [201, size, () => company.post('/customers', customer, key)],
      [409, size, () => company.post('/customers', customer)],
      [422, 2, () => company.post('/customers', {})],
      [400, 1, () => company.post('/customers', '{')],
      // Refused without reading.
      [413, 0, () => company.post('/customers', ' '.repeat(MEBIBYTE + 1))],
      [404, 0, () => company.get('/nothing')],
    ]
    for (const [status, bytes, call] of calls) {
      const reply = await call()
      expect(reply.status, reply.text).to.equal(status)
      expected -= bytes
      expect(bytesIn(reply), String(status)).to.deep.equal({ limit: MEBIBYTE, remaining: expected })
    }
    const stranger = await send(`${api.url}/api/v1/customers`, 'POST', customer)
    expect(expectProblem(stranger, 401, 'missing_token')).to.equal(undefined)
    for (const name of ['limit', 'remaining'])
      expect(stranger.headers.get(`x-ratelimit-bytes-${name}`), name).to.equal(null)
    expect((await company.get('/me')).body.data.limits.bytes_per_day).to.equal(MEBIBYTE)
  })

  it('refuses a larger body before reading it, and accepts all others [RATE-7]', async () => {
    await company.get('/me')
    await leave(100)
    const refused = await company.post('/customers', { name: 'Ana', notes: 'x'.repeat(200) })
    expect(expectProblem(refused, 429, 'rate_limited')).to.deep.equal({ reason: 'bytes_used_up' })
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 90_000)
    expect(refused.headers.get('x-ratelimit-bytes-remaining')).to.equal('100')
    // The body was not awaited.
    const unsent = await new Promise<Reply>((resolve, reject) => {
      const path = '/api/v1/customers'
      const headers = { ...headersOf(company), 'content-length': String(MEBIBYTE), connection: 'close' }
      rawRequest(api.url, { method: 'POST', path, headers }).then(resolve, reject)
    })
    expectProblem(unsent, 429, 'rate_limited')
    expect((await company.get('/customers')).body.data).to.deep.equal([])
    expect((await company.post('/customers', { name: 'Ana' })).status).to.equal(201)
  })

  for (const [what, request] of [
    ['in chunks', (body: string) => ({ body, chunked: true, headers: {} })],
    [
      'compressed, by its decompressed size,',
      (body: string) => ({ body: gzipSync(body), headers: { 'content-encoding': 'gzip' } }),
    ],
  ] as const) {
    it(`counts a body sent ${what} after reading it, and does not process one above the rest [RATE-7]`, async () => {
      const body = JSON.stringify({ name: 'Ana', notes: 'x'.repeat(900) })
      const post = () => {
        const { headers, ...rest } = request(body)
        return rawRequest(api.url, {
          method: 'POST',
          path: '/api/v1/customers',
          headers: { ...headersOf(company), ...headers },
          ...rest,
        })
      }
      const before = await left()
      const reply = await post()
      expect(reply.status, reply.text).to.equal(201)
      expect(bytesIn(reply).remaining).to.equal(before - body.length)
      await leave(body.length - 1)
      expect(expectProblem(await post(), 429, 'rate_limited')).to.deep.equal({ reason: 'bytes_used_up' })
      expect(await left()).to.equal(body.length - 1)
      expect((await company.get('/customers')).body.data).to.have.length(1)
    })
  }

  it('counts a body of unknown size that is no JSON [RATE-6]', async () => {
    const before = await left()
    const reply = await rawRequest(api.url, {
      method: 'POST',
      path: '/api/v1/customers',
      headers: headersOf(company),
      body: '[1, 2',
      chunked: true,
    })
    expectProblem(reply, 400, 'malformed_json')
    expect(bytesIn(reply).remaining).to.equal(before - 5)
    expect(await left()).to.equal(before - 5)
  })

  it('is shared by keys and tills of a company; a till upload is refused as a whole [RATE-6, UP-1]', async () => {
    const till = await openTill(api.url, company)
    const upload = { sales: [{ offline_id: 'x'.repeat(2_000) }] }
    const size = Buffer.byteLength(JSON.stringify(upload))
    const before = await left()
    const reply = await till.post('/sync/sales', upload)
    expect(reply.status, reply.text).to.equal(200)
    expect(bytesIn(reply)).to.deep.equal({ limit: MEBIBYTE, remaining: before - size })
    expect(await left()).to.equal(before - size)
    await leave(size - 1)
    const refused = await till.post('/sync/sales', upload)
    expectFailure(refused, 429, /Guarde as vendas e envie amanhã/)
    expect(Number(refused.headers.get('retry-after'))).to.be.within(1, 90_000)
    const chunked = await rawRequest(api.url, {
      method: 'POST',
      path: '/api/sync/sales',
      headers: { authorization: `Bearer ${till.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(upload),
      chunked: true,
    })
    expectFailure(chunked, 429)
    expect((await till.get('/sync/status')).status).to.equal(200)
  })

  it('is a metric by outcome', async () => {
    const metrics = createMetrics()
    const bytes = { limit: 10, remaining: 0, retryAfter: 1 }
    const gate = countedAuthenticator(
      {
        admit: async (_hash, size = 0) => ({ kind: size > 10 ? 'too_many_bytes' : 'admitted', bytes }) as never,
        charge: async (_company, size) => ({ isCounted: size <= 10, bytes }),
      },
      metrics,
    )
    await gate.admit(Buffer.alloc(1), 4)
    await gate.admit(Buffer.alloc(1))
    await gate.admit(Buffer.alloc(1), 40)
    await gate.charge(1, 5)
    await gate.charge(1, 50)
    expect(await metrics.read())
      .to.include('tillbook_body_bytes_total{outcome="admitted"} 9')
      .and.include('tillbook_body_bytes_total{outcome="refused"} 90')
  })
})
