import { expect } from 'chai'
import { expectRate } from '../../support/answers.ts'
import { bytesOf, exchange } from '../../support/wire.ts'
import { expectRefusal, ID, JSON_TYPE, useConnections } from './connections.ts'

describe('HTTP server with invalid input', () => {
  const { api, company, wireTo, key, creating, me } = useConnections()

  describe('responds 400 with an id to anything but HTTP, and closes the connection [OPS-27]', () => {
    const odd: Record<string, string> = {
      'a line that is no request': 'hello\r\n\r\n',
      'a TLS ClientHello': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'HTTP/0.9': 'GET /\r\n\r\n',
      'HTTP/2 without an upgrade': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'an unknown method': 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n',
      'a path with a blank': 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
      'a header without a colon': 'GET / HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n',
      'a folded header': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
      'a blank before the colon': 'GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n',
      'a header with U+0000': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\u0000c\r\n\r\n',
      'line ends of LF only': 'GET / HTTP/1.1\nHost: x\n\n',
      'two lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      'a negative length': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'a length that is no number': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n',
      'a length beyond integers': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n',
      'a length and chunks':
        'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'an encoding applied after chunked':
        'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
    }
    for (const [what, bytes] of Object.entries(odd)) {
      it(what, async () => {
        const wire = await wireTo(api.url)
        wire.write(Buffer.from(bytes, 'latin1'))
        const [reply, ...others] = await wire.answered(1)
        expectRefusal(reply, 400, 'malformed_request')
        await wire.ended()
        expect(others).to.have.length(0)
      })
    }

    for (const hosts of [[], ['a', 'b'], ['a', 'a']]) {
      it(`${hosts.length} Host headers: ${hosts}`, async () => {
        const lines = hosts.map((host) => `Host: ${host}\r\n`).join('')
        const reply = await exchange(api.url, `GET /api/v1/me HTTP/1.1\r\n${lines}\r\n`)
        expect(`${reply.status} ${reply.body.error.code}`).to.equal('400 malformed_request')
        expect(reply.headers.get('x-request-id')).to.match(ID)
        const till = await exchange(api.url, `GET /api/sync/status HTTP/1.1\r\n${lines}\r\n`)
        expect([till.status, till.body.success]).to.deep.equal([400, false])
      })
    }

    it('HTTP/1.0 requires no Host', async () => {
      const reply = await exchange(api.url, 'GET /health/live HTTP/1.0\r\n\r\n')
      expect(reply.status).to.equal(200)
    })
  })

  it('responds 431 to headers beyond 16 KB, for any number of headers [OPS-27]', async () => {
    const long = ['X-Long', 'x'.repeat(16_400)] as const
    const many = Array.from({ length: 3_000 }, (_, n) => [`X-${n}`, 'x'] as const)
    for (const headers of [[long], many]) {
      expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path: '/', headers })), 431, 'headers_too_large')
    }
    const path = `/${'x'.repeat(16_400)}`
    expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path })), 431, 'headers_too_large')
  })

  describe('shows the limit of the address, and counts the request against it [RATE-2]', () => {
    const unreadable: Record<string, readonly [status: number, bytes: string | Buffer]> = {
      'that is no HTTP': [400, 'nonsense\r\n\r\n'],
      'without a Host': [400, 'GET /api/v1/me HTTP/1.1\r\n\r\n'],
      'with headers beyond 16 KB': [431, bytesOf({ method: 'GET', path: `/api/v1/${'x'.repeat(16_400)}` })],
      'with a body that ends in invalid bytes': [
        400,
        'POST /api/v1/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      ],
    }
    for (const [what, [status, bytes]] of Object.entries(unreadable)) {
      it(`in the answer to a request ${what}`, async () => {
        const first = await exchange(api.url, bytes)
        expect(first.status).to.equal(status)
        const again = expectRate(await exchange(api.url, bytes))
        expect(again.remaining).to.be.below(expectRate(first).remaining)
      })
    }
  })

  it('sends the same security headers with every response, with and without a route [HTTP-32]', async () => {
    const ofRoute = (await exchange(api.url, me())).headers
    const policies = [...ofRoute].filter(([name]) =>
      /^(content-security|cross-origin|strict-|x-(?!ratelimit|ledger|request))/.test(name),
    )
    expect(policies.length).to.be.above(8)
    const path = `/${'x'.repeat(16_384)}`
    for (const [status, bytes] of [
      [431, bytesOf({ method: 'GET', path })],
      [400, 'nonsense\r\n\r\n'],
      [405, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'],
      [400, 'GET /api/v1/me HTTP/1.1\r\n\r\n'],
      [200, bytesOf({ method: 'GET', path: '/health/live' })],
    ] as const) {
      const { status: answered, headers } = await exchange(api.url, bytes)
      expect(answered).to.equal(status)
      for (const [name, value] of policies) expect(headers.get(name), `${status} ${name}`).to.equal(value)
    }
  })

  it('responds 405 to CONNECT, and ignores Expect headers', async () => {
    expectRefusal(await exchange(api.url, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'), 405, 'method_not_allowed')
    expect((await exchange(api.url, creating('Esperada', [['Expect', '100-continue']]))).status).to.equal(201)
    expect((await exchange(api.url, creating('Esperançosa', [['Expect', 'wonders']]))).status).to.equal(201)
  })

  it('responds to pipelined requests in their order', async () => {
    const wire = await wireTo(api.url)
    const names = Array.from({ length: 30 }, (_, n) => `Em fila ${n}`)
    wire.write(Buffer.concat(names.map((name) => creating(name))))
    const replies = await wire.answered(30)
    expect(replies.map((reply) => reply.body.data?.name)).to.deep.equal(names)
  })

  it('responds to requests before the invalid bytes first, and does not report recorded ones as refused', async () => {
    const wire = await wireTo(api.url)
    wire.write(Buffer.concat([creating('Antes do fim'), Buffer.from('nonsense\r\n\r\n')]))
    const [created, refused] = await wire.answered(2)
    expect([created?.status, created?.body.data?.name]).to.deep.equal([201, 'Antes do fim'])
    expectRefusal(refused, 400, 'malformed_request')
    await wire.ended()
  })

  it('responds to a body that ends in invalid bytes in the format of its interface, and records nothing', async () => {
    for (const [path, shape] of [
      ['/api/v1/customers', 'error'],
      ['/api/auth/login', 'success'],
    ] as const) {
      const headers = [key(), JSON_TYPE, ['Transfer-Encoding', 'chunked']] as const
      const wire = await wireTo(api.url)
      wire.write(Buffer.concat([bytesOf({ method: 'POST', path, headers }), Buffer.from('8\r\n{"name":\r\nzz\r\n')]))
      const [reply] = await wire.answered(1)
      expect(reply?.status).to.equal(400)
      expect(reply?.body).to.have.property(shape)
      expect(reply?.headers.get('x-request-id')).to.match(ID)
      await wire.ended()
    }
    expect((await company.get('/customers?name=zz')).body.data).to.deep.equal([])
  })
})
