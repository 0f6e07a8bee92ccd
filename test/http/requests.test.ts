import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import type { Pool } from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { type Compress, createCompress, createFixedAnswer } from '#http/answers.ts'
import {
  createRequestLog,
  type LoggedRequest,
  purgeExcessRequests,
  purgeOldRequests,
  type RequestLogBounds,
} from '#http/request-log.ts'
import { purge } from '#lib/background-loops.ts'
import { createPool } from '#postgres/pool.ts'
import { expectProblem } from '../support/answers.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'

const expectPlainHttp = (reply: Reply) =>
  expect(expectProblem(reply, 403, 'insufficient_scope')).to.deep.equal({ reason: 'https_required' })

describe('plain HTTP', () => {
  const database = useDatabase()
  let direct: TestApi
  let behindProxy: TestApi
  let company: TestCompany

  before(async () => {
    direct = await startApi(database.url)
    behindProxy = await startApi(database.url, { trustProxy: true })
    company = await direct.company()
  })
  after(() => Promise.all([direct.close(), behindProxy.close()]))

  const ask = (api: TestApi, headers: Record<string, string>, path = '/me') =>
    rawRequest(api.url, { path: `/api/v1${path}`, headers: { authorization: `Bearer ${company.key}`, ...headers } })

  it('is accepted on the machine itself under its loopback names [KEY-7]', async () => {
    for (const host of ['localhost', 'LOCALHOST:3000', '127.0.0.1', '127.0.0.1:8080', '127.1.2.3', '[::1]:3000']) {
      expect((await ask(direct, { host })).status, host).to.equal(200)
    }
  })

  it('is refused with 403 insufficient_scope under any other name, with a remedy and no redirect [KEY-7]', async () => {
    const hosts = [
      'api.example.com',
      'example.com:443',
      'localhost.example.com',
      '127.0.0.1.example.com',
      'localhost@example.com',
      '10.0.0.1',
      '0.0.0.0',
      '[::2]',
      'x',
    ]
    for (const host of hosts) {
      const reply = await ask(direct, { host })
      expectPlainHttp(reply)
      expect(reply.body.error.message).to.include('https://')
      expect(reply.headers.has('location')).to.equal(false)
    }
  })

  it('is distinguished from HTTPS by a trusted proxy, in capitals too [KEY-7]', async () => {
    for (const proto of ['https', 'HTTPS', 'Https', 'HTTPS, http'])
      expect((await ask(behindProxy, { 'x-forwarded-proto': proto })).status, proto).to.equal(200)
    for (const proto of ['HTTP', 'http, HTTPS', 'httpss'])
      expectPlainHttp(await ask(behindProxy, { 'x-forwarded-proto': proto }))
  })

  it('is refused for every forwarded request, whatever a header claims [KEY-7]', async () => {
    for (const [name, value] of [
      ['x-forwarded-for', '203.0.113.9'],
      ['x-forwarded-for', '127.0.0.1'],
      ['x-forwarded-proto', 'http'],
      ['x-forwarded-proto', 'https'],
      ['x-forwarded-host', 'localhost'],
      ['x-real-ip', '127.0.0.1'],
      ['forwarded', 'for=127.0.0.1;proto=https'],
      ['via', '1.1 proxy'],
    ] as const) {
      expectPlainHttp(await ask(direct, { [name]: value }))
    }
  })

  it('is refused before key and path are checked, so that it reveals neither [KEY-7]', async () => {
    const headers = { host: 'api.example.com' }
    for (const authorization of ['', 'Bearer x', `Bearer ${company.key}`]) {
      for (const path of ['/me', '/nothing']) {
        const reply = await rawRequest(direct.url, {
          path: `/api/v1${path}`,
          headers: authorization === '' ? headers : { ...headers, authorization },
        })
        expectPlainHttp(reply)
        expect(reply.headers.has('x-ledger-revision')).to.equal(false)
      }
    }
  })

  describe('behind a trusted proxy', () => {
    it('HTTPS at the proxy is accepted for any host [KEY-7]', async () => {
      for (const host of ['api.example.com', 'localhost']) {
        const headers = { host, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' }
        expect((await ask(behindProxy, headers)).status).to.equal(200)
      }
    })

    it('plain HTTP at the proxy is refused, also without a header of the proxy [KEY-7]', async () => {
      const plain: Record<string, string>[] = [
        { 'x-forwarded-proto': 'http', 'x-forwarded-for': '203.0.113.9' },
        { 'x-forwarded-proto': 'http' },
        { 'x-forwarded-proto': 'http, https' },
        { 'x-forwarded-for': '203.0.113.9' },
      ]
      for (const headers of plain) {
        expectPlainHttp(await ask(behindProxy, { host: 'api.example.com', ...headers }))
        expectPlainHttp(await ask(behindProxy, { host: 'localhost', ...headers }))
      }
    })

    it('a request on the machine itself that bypasses the proxy is accepted [KEY-7]', async () => {
      expect((await ask(behindProxy, { host: 'localhost:3000' })).status).to.equal(200)
    })
  })
})

const TEXT = 'O mesmo de sempre. '.repeat(1_000)

describe('constant response', () => {
  let made: number
  let compressed: string[]
  /** Results of the next compressions, instead of the bytes. */
  let instead: (() => null)[]
  let server: ReturnType<typeof createServer>
  let url: string
  const real = createCompress()
  const compress: Compress = (bytes, coding, key) => {
    compressed.push(coding)
    const other = instead.shift()
    return other ? Promise.resolve().then(other) : real(bytes, coding, key)
  }

  beforeEach(async () => {
    made = 0
    compressed = []
    instead = []
    const send = createFixedAnswer(
      () => {
        made += 1
        return TEXT
      },
      compress,
      'text/plain; charset=utf-8',
    )
    server = createServer(express().use((_request, response) => send(response))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  const get = async (coding: string) => {
    const reply = await fetch(url, { headers: { 'accept-encoding': coding } })
    return [reply.status, reply.headers.get('content-encoding'), (await reply.text()) === TEXT]
  }

  it('is built once, and compressed once per coding, for fifty concurrent requests [HTTP-14]', async () => {
    const codings = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 'br' : 'gzip'))
    expect(await Promise.all(codings.map(get))).to.deep.equal(codings.map((coding) => [200, coding, true]))
    await get('br')
    expect(made).to.equal(1)
    expect(compressed.sort()).to.deep.equal(['br', 'gzip'])
  })

  it('is sent uncompressed while compression is busy, and compressed later', async () => {
    instead.push(() => null)
    expect(await get('br')).to.deep.equal([200, null, true])
    expect(await get('br')).to.deep.equal([200, 'br', true])
  })

  it('is compressed later if compression failed', async () => {
    instead.push(() => {
      throw new Error('no memory')
    })
    expect((await get('gzip'))[0]).to.equal(500)
    expect(await get('gzip')).to.deep.equal([200, 'gzip', true])
  })
})

const DAY_MS = 86_400_000

const call = (companyId: number, more: Partial<LoggedRequest> = {}): LoggedRequest => ({
  companyId,
  keyId: 1,
  id: uuidv7(),
  at_ms: Date.now(),
  method: 'GET',
  path: '/sales',
  query: null,
  status: 200,
  code: null,
  duration_ms: 1,
  replayed: false,
  traceparent: null,
  via: null,
  body: null,
  details: null,
  ...more,
})

describe('request log writer', () => {
  it('never delays a request; drops and counts entries beyond its limits per company and in total [KIT-52]', async () => {
    let answer: (() => void) | undefined
    const written: number[] = []
    const pool = {
      query: ({ values }: { values: unknown[][] }) =>
        new Promise((resolve) => {
          written.push(values[0]!.length)
          answer = () => resolve({ rows: [{ written: values[0]!.length }] })
        }),
    } as unknown as Pool
    const log = createRequestLog({ pool, every_ms: 3_600_000, onError: (error) => expect.fail(String(error)) })
    for (let n = 0; n < 1_500; n++) log.add(call(1))
    expect([log.used, log.refused]).to.deep.equal([1_000, 500])
    for (let company = 2; company <= 6; company++) for (let n = 0; n < 900; n++) log.add(call(company))
    expect([log.used, log.refused]).to.deep.equal([5_000, 1_000])
    const flushed = log.flush()
    while (!answer) await new Promise(setImmediate)
    log.add(call(1))
    answer()
    await flushed
    expect(written).to.deep.equal([5_000])
    expect([log.used, log.refused]).to.deep.equal([1, 1_000])
  })

  it('continues while the database is down, and can still be stopped [KIT-52]', async () => {
    const errors: unknown[] = []
    const pool = { query: () => Promise.reject(new Error('away')) } as unknown as Pool
    const log = createRequestLog({ pool, every_ms: 3_600_000, onError: (error) => errors.push(error) })
    log.add(call(1))
    await log.stop()
    expect(errors).to.have.length(1)
    expect([log.used, log.refused]).to.deep.equal([0, 1])
  })

  describe('to Postgres', () => {
    const database = useDatabase('withoutReadModel')
    const of = { requests: 10, bytes: 1_000_000 }

    let pool: Pool

    before(() => {
      pool = createPool(database.url, { max: 2, keyLookupsOnly: true })
    })
    beforeEach(() => pool.query('delete from ops.request_log; delete from ops.request_counts'))
    after(() => pool.end())

    const purgeAll = (pool: Pool, bounds?: RequestLogBounds): Promise<number> =>
      purge(pool, [purgeOldRequests, (pool, limit) => purgeExcessRequests(pool, limit, bounds)], {
        onError: (error) => expect.fail(String(error)),
      })

    async function write(requests: readonly LoggedRequest[], bounds = { ofCompany: of, ofAll: of }) {
      const log = createRequestLog({ pool, bounds, onError: (error) => expect.fail(String(error)) })
      for (const each of requests) log.add(each)
      await log.stop()
      return log.refused
    }
    const left = async () =>
      (
        await pool.query(
          `select company_id as company, count(*)::int as requests, sum(bytes)::int as bytes from ops.request_log group by 1 order by 1`,
        )
      ).rows
    const counted = async () =>
      (await pool.query('select company_id as company, requests, bytes from ops.request_counts order by 1')).rows

    it('keeps 7 days, and the newest requests of each company within its limits [KIT-53]', async () => {
      const old = uuidv7({ msecs: Date.now() - 7 * DAY_MS - 60_000 })
      const young = uuidv7({ msecs: Date.now() - 7 * DAY_MS + 60_000 })
      await write([call(1, { id: old }), call(1, { id: young }), ...Array.from({ length: 12 }, () => call(2))])
      const newest = call(2)
      await write([newest])
      expect(await purgeAll(pool, { ofCompany: of, ofAll: { requests: 100, bytes: 1e9 } })).to.equal(1 + 3)
      expect(await left()).to.deep.equal(await counted())
      expect((await left()).map(({ requests }) => requests)).to.deep.equal([1, 10])
      const { rows } = await pool.query('select id from ops.request_log where company_id = 2 order by id desc limit 1')
      expect(rows[0].id).to.equal(newest.id)
      const small = await purgeAll(pool, { ofCompany: { requests: 10, bytes: 300 }, ofAll: of })
      expect(small, 'by bytes').to.be.at.least(7)
      expect((await left())[1].bytes).to.be.at.most(300)
    })

    it('beyond the total limit purges the largest companies first; none exceeds twice its limit [KIT-53]', async () => {
      const requests = (company: number, count: number) => Array.from({ length: count }, () => call(company))
      await write([...requests(1, 9), ...requests(2, 2), ...requests(3, 4)])
      await purgeAll(pool, { ofCompany: of, ofAll: { requests: 12, bytes: 1e9 } })
      expect((await left()).map(({ requests }) => requests)).to.deep.equal([4, 2, 4])
      await write(requests(1, 20))
      expect(await write([...requests(1, 5), ...requests(2, 1)]), 'left out').to.equal(5)
      expect(await left()).to.deep.equal(await counted())
    })
  })
})
