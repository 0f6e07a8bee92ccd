import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { codingOf } from '#http/answers.ts'
import { createPageCache } from '#http/traffic.ts'
import { expectProblem, expectRate } from '../support/answers.ts'
import { startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'

const MIB = 1_048_576

describe('representations of API v1', () => {
  const database = useDatabase()
  let api: TestApi
  let other: TestApi
  let company: TestCompany
  const pages = createPageCache(16 * MIB)

  before(async () => {
    api = await startApi(database.url, { pages })
    other = await startApi(database.url, { pages: createPageCache(0) })
  })
  beforeEach(async () => {
    company = await api.company()
    const items = Array.from({ length: 20 }, (_, n) => ({ external_id: `c-${n}`, name: `Cliente ${n}` }))
    await company.post('/customers/batch', { items })
  })
  after(() => Promise.all([api.close(), other.close()]))

  const raw = (path: string, headers: Record<string, string> = {}, method = 'GET', url = api.url) =>
    rawRequest(url, { method, path: `/api/v1${path}`, headers: { authorization: `Bearer ${company.key}`, ...headers } })
  const etagOf = async (path: string): Promise<string> => {
    const etag = (await raw(path)).headers.get('etag')
    expect(etag, path).to.match(/^W\/"[\w-]{22}"$/)
    return etag as string
  }

  it('have an ETag: 304 without a body, with the headers of any request, from every process [LIST-9]', async () => {
    const { id } = (await company.get('/customers')).body.data[0]
    for (const path of ['/customers', `/customers/${id}`, '/customers/deleted', '/finance/summary', '/events']) {
      const etag = await etagOf(path)
      for (const given of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        for (const [url, method] of [
          [api.url, 'GET'],
          [api.url, 'HEAD'],
          [other.url, 'GET'],
        ] as const) {
          const reply = await raw(path, { 'if-none-match': given }, method, url)
          expect([reply.status, reply.text], `${path} ${given}`).to.deep.equal([304, ''])
          expect(reply.headers.get('etag')).to.equal(etag)
          expect(reply.headers.get('cache-control')).to.equal('no-store')
          expect(reply.headers.get('x-ledger-revision')).to.match(/^\d+$/)
          expect(reply.headers.has('content-type')).to.equal(false)
          expectRate(reply)
        }
      }
      expect((await raw(path, { 'if-none-match': 'W/"AAAAAAAAAAAAAAAAAAAAAA"' })).status, path).to.equal(200)
    }
  })

  it('change with every change, and an ETag gives no access without the scope [LIST-9]', async () => {
    const { id } = (await company.get('/customers')).body.data[0]
    const [list, one] = [await etagOf('/customers'), await etagOf(`/customers/${id}`)]
    await company.call('PATCH', `/customers/${id}`, { notes: 'x' })
    for (const [path, etag] of [
      ['/customers', list],
      [`/customers/${id}`, one],
    ] as const)
      expect((await raw(path, { 'if-none-match': etag })).status).to.equal(200)
    const { key } = await company.newKey(['sales:read'])
    const asked = { authorization: `Bearer ${key}`, 'if-none-match': '*' }
    expectProblem(await raw('/customers', asked), 403, 'insufficient_scope')
    expectProblem(await raw('/customers/999999', { 'if-none-match': '*' }), 404, 'not_found')
    expectProblem(await raw('/customers?nada=1', { 'if-none-match': '*' }), 422, 'validation_failed')
  })

  it('are compressed above 1 KB on request, from tables and cache alike [HTTP-18]', async () => {
    for (const url of [api.url, other.url, api.url]) {
      const plain = await raw('/customers', {}, 'GET', url)
      expect(plain.headers.has('content-encoding')).to.equal(false)
      for (const [coding, decode] of [
        ['br', brotliDecompressSync],
        ['gzip', gunzipSync],
      ] as const) {
        const reply = await raw('/customers', { 'accept-encoding': coding }, 'GET', url)
        expect(reply.headers.get('content-encoding')).to.equal(coding)
        expect(reply.headers.get('vary')).to.equal('Accept-Encoding')
        expect(reply.headers.get('etag')).to.equal(plain.headers.get('etag'))
        expect(Number(reply.headers.get('content-length')))
          .to.equal(reply.bytes.length)
          .and.below(plain.text.length / 3)
        expect(decode(reply.bytes).toString()).to.equal(plain.text)
        const head = await raw('/customers', { 'accept-encoding': coding }, 'HEAD', url)
        expect(head.headers.get('content-length')).to.equal(reply.headers.get('content-length'))
      }
    }
    const small = await raw('/customers?limit=1', { 'accept-encoding': 'gzip' })
    expect(small.headers.has('content-encoding')).to.equal(false)
    const contract = await raw('/openapi.json', { 'accept-encoding': 'gzip' })
    expect(JSON.parse(gunzipSync(contract.bytes).toString()).openapi).to.match(/^3/)
  })

  it('in responses to writes are compressed too, except with secrets [HTTP-18]', async () => {
    const post = (path: string, body: object) =>
      rawRequest(api.url, {
        method: 'POST',
        path: `/api/v1${path}`,
        headers: {
          authorization: `Bearer ${company.key}`,
          'content-type': 'application/json',
          'accept-encoding': 'gzip',
        },
        body: JSON.stringify(body),
      })
    const items = Array.from({ length: 20 }, (_, n) => ({ external_id: `c-${n}`, name: `Outro ${n}` }))
    const batch = await post('/customers/batch', { items })
    expect(batch.headers.get('content-encoding')).to.equal('gzip')
    expect(JSON.parse(gunzipSync(batch.bytes).toString()).meta.succeeded).to.equal(20)
    const url = `https://erp.example/${'x'.repeat(1_500)}`
    const webhook = await post('/webhooks', { url, events: ['basic'] })
    expect([webhook.status, webhook.body.data?.secret?.slice(0, 6)], webhook.text).to.deep.equal([201, 'whsec_'])
    expect(webhook.headers.has('content-encoding')).to.equal(false)
  })

  it('must not be stored by intermediaries, for any status [HTTP-18]', async () => {
    for (const [path, headers] of [
      ['/customers', {}],
      ['/me', {}],
      ['/nothing', {}],
      ['/me', { authorization: 'Bearer x' }],
      ['/openapi.json', {}],
    ] as const)
      expect((await raw(path, headers)).headers.get('cache-control'), path).to.equal('no-store')
  })
})

describe('content coding', () => {
  for (const [asked, coding] of [
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate, zstd', null],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['br;q=0, *', 'gzip'],
    ['*', 'br'],
    ['*;q=0', null],
    ['br ; q=0.1', 'br'],
    ['br;q=x', null],
    [';;,,q=', null],
  ] as const) {
    it(`for "${asked}" is ${coding} [HTTP-18]`, () => {
      expect(codingOf(asked)).to.equal(coding)
    })
  }
})
