import { expect } from 'chai'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** An answer to what no route has seen: in the shape of API v1, with an id, and the last of its connection. */
function expectRefusal(reply: Reply | undefined, status: number, code: string): void {
  expect(`${reply?.status} ${reply?.body?.error?.code}`, reply?.text).to.equal(`${status} ${code}`)
  expect(reply?.headers.get('x-request-id')).to.match(ID)
  expect(reply?.body.error.request_id).to.equal(reply?.headers.get('x-request-id'))
  expect(reply?.headers.get('connection')).to.equal('close')
}

describe('the server', () => {
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  const wires: Wire[] = []

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
  })
  after(() => api.close())
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })

  async function wireTo(url: string): Promise<Wire> {
    const wire = await openWire(url)
    wires.push(wire)
    return wire
  }

  const key = (): readonly [string, string] => ['Authorization', `Bearer ${company.key}`]
  const JSON_TYPE = ['Content-Type', 'application/json'] as const
  const me = () => bytesOf({ method: 'GET', path: '/api/v1/me', headers: [key()] })
  const creating = (name: string, headers: readonly (readonly [string, string])[] = []) =>
    bytesOf({
      method: 'POST',
      path: '/api/v1/customers',
      headers: [key(), JSON_TYPE, ...headers],
      body: `{"name":"${name}"}`,
    })

  describe('answers what is no HTTP with 400, an id, and the end of the connection', () => {
    const odd: Record<string, string> = {
      'no request at all': 'hello\r\n\r\n',
      'a greeting for TLS': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'HTTP/0.9': 'GET /\r\n\r\n',
      'HTTP/2 without asking': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'a method that nobody knows': 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n',
      'a path with a blank': 'GET /a b HTTP/1.1\r\nHost: x\r\n\r\n',
      'a header without a colon': 'GET / HTTP/1.1\r\nHost: x\r\nnothing\r\n\r\n',
      'a folded header': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n',
      'a blank before the colon': 'GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n',
      'a header with U+0000': 'GET / HTTP/1.1\r\nHost: x\r\nA: b\u0000c\r\n\r\n',
      'lines that end with LF alone': 'GET / HTTP/1.1\nHost: x\n\n',
      'two lengths': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      'a length below nothing': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'a length that is no number': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n',
      'a length beyond all measure': 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n',
      'a length and chunks':
        'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'chunks that are coded otherwise after':
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

    it('HTTP/1.0 needs no Host', async () => {
      const reply = await exchange(api.url, 'GET /health/live HTTP/1.0\r\n\r\n')
      expect(reply.status).to.equal(200)
    })
  })

  it('answers headers beyond 16 KB with 431, however many they are', async () => {
    const long = ['X-Long', 'x'.repeat(16_400)] as const
    const many = Array.from({ length: 3_000 }, (_, n) => [`X-${n}`, 'x'] as const)
    for (const headers of [[long], many]) {
      expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path: '/', headers })), 431, 'headers_too_large')
    }
    const path = `/${'x'.repeat(16_400)}`
    expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path })), 431, 'headers_too_large')
  })

  it('answers CONNECT with 405, and takes no expectation amiss', async () => {
    expectRefusal(await exchange(api.url, 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'), 405, 'method_not_allowed')
    expect((await exchange(api.url, creating('Esperada', [['Expect', '100-continue']]))).status).to.equal(201)
    expect((await exchange(api.url, creating('Esperançosa', [['Expect', 'wonders']]))).status).to.equal(201)
  })

  it('answers requests that come before the ones before them are answered, in their order', async () => {
    const wire = await wireTo(api.url)
    const names = Array.from({ length: 30 }, (_, n) => `Em fila ${n}`)
    wire.write(Buffer.concat(names.map((name) => creating(name))))
    const replies = await wire.answered(30)
    expect(replies.map((reply) => reply.body.data?.name)).to.deep.equal(names)
  })

  it('answers what came before the nonsense first, and what it recorded is not called refused', async () => {
    const wire = await wireTo(api.url)
    wire.write(Buffer.concat([creating('Antes do fim'), Buffer.from('nonsense\r\n\r\n')]))
    const [created, refused] = await wire.answered(2)
    expect([created?.status, created?.body.data?.name]).to.deep.equal([201, 'Antes do fim'])
    expectRefusal(refused, 400, 'malformed_request')
    await wire.ended()
  })

  it('answers a body that breaks off in nonsense in the shape of its interface, and records nothing', async () => {
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

  describe('with little patience', () => {
    const hurried = { headers_ms: 300, request_ms: 600, check_ms: 50, keepAlive_ms: 300 }
    let quick: TestApi

    before(async () => {
      quick = await startApi(database.url, { server: hurried })
    })
    after(() => quick.close())

    it('ends a connection on which nothing is said', async () => {
      const wire = await wireTo(quick.url)
      expectRefusal((await wire.answered(1))[0], 408, 'request_timeout')
      await wire.ended()
    })

    it('ends a connection on which headers come byte by byte', async () => {
      const wire = await wireTo(quick.url)
      const dribble = setInterval(() => wire.write('X'), 20)
      wire.write('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ')
      try {
        expectRefusal((await wire.answered(1))[0], 408, 'request_timeout')
        await wire.ended()
      } finally {
        clearInterval(dribble)
      }
    })

    it('ends a request whose body comes byte by byte, in the shape of its interface, and records nothing', async () => {
      for (const [path, shape] of [
        ['/api/v1/customers', 'error'],
        ['/api/auth/login', 'success'],
        ['/webhook/paymentprovider/loja/1', 'error'],
      ] as const) {
        const wire = await wireTo(quick.url)
        wire.write(bytesOf({ method: 'POST', path, headers: [key(), JSON_TYPE, ['Content-Length', '100000']] }))
        wire.write('{"name":"')
        const dribble = setInterval(() => wire.write('x'), 20)
        try {
          const [reply] = await wire.answered(1)
          expect(reply?.status, path).to.equal(408)
          expect(reply?.body, path).to.have.property(shape)
          await wire.ended()
        } finally {
          clearInterval(dribble)
        }
      }
      expect((await company.get('/customers?name=xxx')).body.data).to.deep.equal([])
    })

    it('ends a connection whose request was answered before its body had come', async () => {
      const wire = await wireTo(quick.url)
      wire.write('POST /api/v1/customers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{')
      expect((await wire.answered(1))[0]?.status).to.equal(401)
      await wire.ended()
      expect(wire.answers()).to.have.length(1)
    })

    it('ends a connection that is kept and not used', async () => {
      const wire = await wireTo(quick.url)
      wire.write(me())
      expect((await wire.answered(1))[0]?.status).to.equal(200)
      await wire.ended()
      expect(wire.answers()).to.have.length(1)
    })
  })

  describe('with an answer that does not get away', () => {
    let quick: TestApi

    before(async () => {
      quick = await startApi(database.url, { server: { stalled_ms: 300 } })
      const items = Array.from({ length: 200 }, (_, n) => ({
        external_id: `g${n}`,
        name: `Grande ${n}`,
        notes: 'x'.repeat(1_000),
      }))
      expect((await company.post('/customers/batch', { items })).status).to.equal(200)
    })
    after(() => quick.close())

    it('gives up one that nobody takes', async () => {
      const wire = await wireTo(quick.url)
      wire.socket.pause()
      // Many of them, more than the buffers of both sides hold.
      const list = bytesOf({ method: 'GET', path: '/api/v1/customers?limit=200', headers: [key()] })
      wire.write(Buffer.concat(Array.from({ length: 100 }, () => list)))
      await until(async () => (await quick.connections()) === 1)
      await until(async () => (await quick.connections()) === 0)
    })

    it('waits for one that takes its time to be made', async () => {
      const blocker = await quick.core.pool.connect()
      await blocker.query('begin')
      await blocker.query('select * from ops.ledgers where company_id = $1 for update', [company.id])
      const wire = await wireTo(quick.url)
      wire.write(creating('Demorada'))
      // A connection on which nothing happens, opened later, is given up: so the time is over for the other one too.
      await (await wireTo(quick.url)).ended()
      expect(wire.answers()).to.have.length(0)
      await blocker.query('rollback')
      blocker.release()
      expect((await wire.answered(1))[0]?.status).to.equal(201)
    })
  })

  it('closes connections beyond those it can hold, and has room again when some have gone', async () => {
    const small = await startApi(database.url, { server: { connections: 3 } })
    try {
      const kept = await Promise.all([1, 2, 3].map(() => wireTo(small.url)))
      await until(async () => (await small.connections()) === 3)
      const refused = await wireTo(small.url)
      await refused.ended()
      for (const wire of kept) wire.write(me())
      for (const wire of kept) expect((await wire.answered(1))[0]?.status).to.equal(200)
      kept[0]?.close()
      await until(async () => (await small.connections()) === 2)
      expect((await exchange(small.url, me())).status).to.equal(200)
    } finally {
      await small.close()
    }
  })
})
