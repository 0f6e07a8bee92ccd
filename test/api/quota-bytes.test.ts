import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { countedAuthenticator, createMetrics } from '#service/metrics.ts'
import { expectProblem } from '../support/answers.ts'
import { type Reply, send, type TestCompany } from '../support/api.ts'
import { rawRequest } from '../support/raw-request.ts'
import { expectFailure, openTill } from '../support/till.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

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

  it('every response to a valid key counts sent bytes, also of refused requests [RATE-6, RATE-8]', async () => {
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

  it('counts a body of unknown size that is no JSON [RATE-8]', async () => {
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
