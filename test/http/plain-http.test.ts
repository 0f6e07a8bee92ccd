import { expect } from 'chai'
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
