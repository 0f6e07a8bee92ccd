import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { get } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { connect as connectTls, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { expect } from 'chai'
import express from 'express'
import { createAddressLimit } from '#access/login-limits.ts'
import { answerProblem } from '#http/edge.ts'
import { createAppServer, renewTls, SERVER_LIMITS, watchPace, watchReaders } from '#http/server.ts'
import { expectRate } from '../support/answers.ts'
import { type Reply, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { CERTIFICATES } from '../support/tls.ts'
import { OWN_DATABASE, useCompany } from '../support/use-api.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Asserts a response given before routing: in the format of API v1, with an id, and the last of its connection. */
function expectRefusal(reply: Reply | undefined, status: number, code: string): void {
  expect(`${reply?.status} ${reply?.body?.error?.code}`, reply?.text).to.equal(`${status} ${code}`)
  expect(reply?.headers.get('x-request-id')).to.match(ID)
  expect(reply?.body.error.request_id).to.equal(reply?.headers.get('x-request-id'))
  expect(reply?.headers.get('connection')).to.equal('close')
}

const JSON_TYPE = ['Content-Type', 'application/json'] as const

interface Connections {
  readonly api: TestApi
  readonly company: TestCompany
  /** Connection that is closed after the test. */
  wireTo(url: string): Promise<Wire>
  /** Header with the company's key. */
  key(): readonly [string, string]
  /** Request for /me. */
  me(): Buffer
  /** Request that creates a customer. */
  creating(name: string, headers?: readonly (readonly [string, string])[]): Buffer
}

/** Service, company, and raw connections. */
function useConnections(): Connections {
  const { api, company } = useCompany(OWN_DATABASE)
  const wires: Wire[] = []

  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })

  const key: Connections['key'] = () => ['Authorization', `Bearer ${company.key}`]
  return {
    api,
    company,
    async wireTo(url) {
      const wire = await openWire(url)
      wires.push(wire)
      return wire
    },
    key,
    me: () => bytesOf({ method: 'GET', path: '/api/v1/me', headers: [key()] }),
    creating: (name, headers = []) =>
      bytesOf({
        method: 'POST',
        path: '/api/v1/customers',
        headers: [key(), JSON_TYPE, ...headers],
        body: `{"name":"${name}"}`,
      }),
  }
}

describe('HTTP server with invalid input', () => {
  const { api, company, wireTo, key, creating, me } = useConnections()

  describe('responds 400 with an id to anything but HTTP, and closes the connection [HTTP-32]', () => {
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

  it('responds 431 to headers beyond 16 KB, for any number of headers [HTTP-32]', async () => {
    const long = ['X-Long', 'x'.repeat(16_400)] as const
    const many = Array.from({ length: 3_000 }, (_, n) => [`X-${n}`, 'x'] as const)
    for (const headers of [[long], many]) {
      expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path: '/', headers })), 431, 'headers_too_large')
    }
    const path = `/${'x'.repeat(16_400)}`
    expectRefusal(await exchange(api.url, bytesOf({ method: 'GET', path })), 431, 'headers_too_large')
  })

  describe('shows the limit of the address, and counts the request against it [RATE-3]', () => {
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

describe('HTTP server time limits', () => {
  const { api, company, wireTo, key, me, creating } = useConnections()

  describe('for requests', () => {
    const hurried = { headers_ms: 300, request_ms: 600, check_ms: 50, keepAlive_ms: 300 }
    let quick: TestApi

    before(async () => {
      quick = await startApi(api.databaseUrl, { server: hurried })
    })
    after(() => quick.close())

    it('close a silent connection, with an answer that shows the limit of the address [OPS-26, RATE-3]', async () => {
      const wire = await wireTo(quick.url)
      const [reply] = await wire.answered(1)
      expectRefusal(reply, 408, 'request_timeout')
      expectRate(reply as Reply)
      await wire.ended()
    })

    it('close a connection with headers sent byte by byte [OPS-26]', async () => {
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

    it('ends a request whose body arrives byte by byte, in its interface’s format [OPS-26]', async () => {
      for (const [path, shape] of [
        ['/api/v1/customers', 'error'],
        ['/api/auth/login', 'success'],
        ['/webhook/paymentprovider/loja/1', 'error'],
      ] as const) {
        const wire = await wireTo(quick.url)
        wire.write(bytesOf({ method: 'POST', path, headers: [key(), JSON_TYPE, ['Content-Length', '8000']] }))
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

    it('end a request with a body that is slow or incomplete at its deadline, and no other [HTTP-30]', async () => {
      const paced = await startApi(api.databaseUrl, {
        server: { grace_ms: 100, bytesPerSecond: 10_000, body_ms: 1_000, look_ms: 50 },
      })
      const head = (length: number) =>
        bytesOf({
          method: 'POST',
          path: '/api/v1/customers',
          headers: [key(), JSON_TYPE, ['Content-Length', `${length}`]],
        })
      const sending = async (bytesEachTime: number, length: number) => {
        const wire = await wireTo(paced.url)
        const began = performance.now()
        wire.write(head(length))
        let sent = 0
        const flow = setInterval(() => {
          const next = Math.min(bytesEachTime, length - sent)
          if (next > 0) wire.write(`${sent === 0 ? '"' : ''}${'x'.repeat(next - (sent === 0 ? 1 : 0))}`)
          sent += next
        }, 20)
        try {
          const [reply] = await wire.answered(1)
          if (reply?.status === 408) await wire.ended()
          return { status: reply?.status, passed: performance.now() - began, code: reply?.body.error.code }
        } finally {
          clearInterval(flow)
        }
      }
      try {
        // 50 bytes a second; 50,000 a second of a body that is too large; 50,000 a second of one that completes in
        // time.
        const [dripping, endless, swift] = await Promise.all([
          sending(1, 10_000),
          sending(1_000, 500_000),
          sending(1_000, 30_000),
        ])
        expect(dripping).to.include({ status: 408, code: 'request_timeout' })
        expect(endless).to.include({ status: 408 })
        expect(endless.passed).to.be.at.least(1_000).and.above(dripping.passed)
        expect(swift).to.include({ status: 400, code: 'malformed_json' })
      } finally {
        await paced.close()
      }
    })

    it('close a connection that got its response before its body arrived', async () => {
      const wire = await wireTo(quick.url)
      wire.write('POST /api/v1/customers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n{')
      expect((await wire.answered(1))[0]?.status).to.equal(401)
      await wire.ended()
      expect(wire.answers()).to.have.length(1)
    })

    it('close an idle keep-alive connection', async () => {
      const wire = await wireTo(quick.url)
      wire.write(me())
      expect((await wire.answered(1))[0]?.status).to.equal(200)
      await wire.ended()
      expect(wire.answers()).to.have.length(1)
    })
  })

  describe('for responses', () => {
    let quick: TestApi

    before(async () => {
      quick = await startApi(api.databaseUrl, { server: { stalled_ms: 300 } })
      const items = Array.from({ length: 200 }, (_, n) => ({
        external_id: `g${n}`,
        name: `Grande ${n}`,
        notes: 'x'.repeat(1_000),
      }))
      expect((await company.post('/customers/batch', { items })).status).to.equal(200)
    })
    after(() => quick.close())

    it('close a connection if the client does not read the response [OPS-26]', async () => {
      const wire = await wireTo(quick.url)
      wire.socket.pause()
      // Many requests, beyond the buffers of both sides.
      const list = bytesOf({ method: 'GET', path: '/api/v1/customers?limit=200', headers: [key()] })
      wire.write(Buffer.concat(Array.from({ length: 100 }, () => list)))
      await until(async () => (await quick.connections()) === 1)
      await until(async () => (await quick.connections()) === 0)
    })

    it('wait for a response that takes long to compute', async () => {
      const blocker = await quick.core.pool.connect()
      await blocker.query('begin')
      await blocker.query('select * from ops.ledgers where company_id = $1 for update', [company.id])
      const wire = await wireTo(quick.url)
      wire.write(creating('Demorada'))
      // A silent connection opened later is closed, so the time limit of the first one has passed.
      await (await wireTo(quick.url)).ended()
      expect(wire.answers()).to.have.length(0)
      await blocker.query('rollback')
      blocker.release()
      expect((await wire.answered(1))[0]?.status).to.equal(201)
    })
  })

  it('close connections beyond the maximum, and accept new ones after some have closed [OPS-26]', async () => {
    const small = await startApi(api.databaseUrl, { server: { connections: 3 } })
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

const PIECE = Buffer.alloc(65_536, 'x')

describe('client that reads a streamed response', () => {
  let folder: string
  const cleanups: (() => unknown)[] = []

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'readers-'))
    await writeFile(join(folder, 'cert.pem'), CERTIFICATES[0].cert)
    await writeFile(join(folder, 'key.pem'), CERTIFICATES[0].key)
  })
  after(() => rm(folder, { recursive: true }))
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup()
  })

  /** Server of `answer` with a minimum pace for clients, and a paused connection that requested it. */
  async function asked(answer: () => Readable, readerBytesPerSecond: number, isTls: boolean) {
    let end: Promise<unknown> | undefined
    const app = express().get('/', (_request, response) => {
      end = pipeline(answer(), response).then(
        () => 'whole',
        () => 'cut',
      )
    })
    const limits = { ...SERVER_LIMITS, look_ms: 20, reader_ms: 300, readerBytesPerSecond }
    const tls = isTls ? { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') } : null
    const server = createAppServer(app, {
      newId: () => 'id',
      answer: answerProblem,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      limits,
      tls,
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const at = { host: '127.0.0.1', port, rejectUnauthorized: false }
    const socket: Socket = isTls ? connectTls(at) : connect(at)
    cleanups.push(
      () => socket.destroy(),
      () => server.close(),
    )
    socket.on('error', () => {})
    await once(socket, isTls ? 'secureConnect' : 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    return { socket, ended: () => until(() => end).then((ending) => ending) }
  }

  for (const isTls of [false, true])
    it(`is disconnected if it reads too slowly, over ${isTls ? 'HTTPS' : 'HTTP'} [OPS-26]`, async () => {
      function* endless() {
        for (;;) yield PIECE
      }
      const { socket, ended } = await asked(() => Readable.from(endless()), 500_000_000, isTls)
      // Reads continuously, so that the connection is never idle.
      socket.on('readable', () => {})
      const reading = setInterval(() => socket.read(10_000), 20)
      cleanups.push(() => clearInterval(reading))
      expect(await ended()).to.equal('cut')
    })

  it('is not late while the response is being produced [OPS-26]', async () => {
    let made = 0
    async function* dripping() {
      for (const began = performance.now(); performance.now() - began < 1_000; made++) {
        yield 'x'
        await new Promise(setImmediate)
      }
    }
    const { socket, ended } = await asked(() => Readable.from(dripping()), 500_000_000, false)
    socket.resume()
    expect(await ended()).to.equal('whole')
    expect(made).to.be.above(0)
  })
})

describe('server with a certificate', () => {
  let folder: string
  const [first, second] = CERTIFICATES
  const files = () => ({ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') })
  const write = ({ cert, key }: { cert: string; key: string }) =>
    Promise.all([writeFile(files().certFile, cert), writeFile(files().keyFile, key)])

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tls-'))
    await write(first)
  })
  after(() => rm(folder, { recursive: true }))

  it('speaks HTTPS, and loads a renewed certificate without a restart [PANEL-104]', async () => {
    const app = express().get('/', (request, response) => void response.send(request.secure ? 'secure' : 'plain'))
    const faults: unknown[] = []
    const server = createAppServer(app, {
      newId: () => 'id',
      answer: answerProblem,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      tls: files(),
    })
    const stop = renewTls(server as never, files(), (error) => faults.push(error), 5)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const at = { host: '127.0.0.1', port, rejectUnauthorized: false }
    const named = () =>
      new Promise<string>((resolve, reject) => {
        const socket: TLSSocket = tlsConnect(at, () => {
          resolve(String(socket.getPeerCertificate().subject.CN))
          socket.destroy()
        }).on('error', reject)
      })
    try {
      const body = await new Promise<string>((resolve, reject) => {
        get({ ...at, agent: false }, (response) => {
          let text = ''
          response.on('data', (part) => (text += part)).on('end', () => resolve(text))
        }).on('error', reject)
      })
      expect(body).to.equal('secure')
      const nonsense = tlsConnect(at, () => nonsense.write('nonsense\r\n\r\n'))
      const [told] = await once(nonsense, 'data')
      expect(String(told)).to.match(/^HTTP\/1.1 400 /)
      expect(await named()).to.equal('one')
      await writeFile(files().certFile, 'no certificate')
      await until(() => faults.length > 0)
      expect(await named()).to.equal('one')
      await write(second)
      await until(async () => (await named()) === 'two')
    } finally {
      stop()
      server.closeAllConnections()
      server.close()
    }
  })
})

describe('minimum pace of a body', () => {
  it('is measured from the start of reading: a queued request is not late [OPS-63]', async () => {
    let looks = 0
    let isRead = false
    let isLate = false
    const request = {
      headers: { 'content-length': '20000' },
      socket: { bytesRead: 300 },
      complete: false,
      get readableFlowing() {
        looks += 1
        return isRead ? true : null
      },
    } as unknown as IncomingMessage
    const pace = { body_ms: 20, grace_ms: 5, bytesPerSecond: 1_024, look_ms: 1 }
    const unwatch = watchPace(request, pace, () => {
      isLate = true
    })
    const began = performance.now()
    await until(() => performance.now() - began > 3 * pace.body_ms && looks > 20)
    expect(isLate).to.equal(false)
    isRead = true
    await until(() => isLate)
    unwatch()
  })
})

describe('minimum pace of a client that reads a response', () => {
  const pace = { readerBytesPerSecond: 1_000_000, reader_ms: 30, look_ms: 1 }

  /**
   * Connection with `pending` unsent bytes at any time, of which the client reads `bytesPerSecond`; records whether it
   * counts as late.
   */
  function watched({ pending, bytesPerSecond }: { pending: number; bytesPerSecond: number }) {
    const began = performance.now()
    let [looks, isLate] = [0, false]
    const socket = {
      get writableLength() {
        looks += 1
        return pending
      },
      get bytesWritten() {
        return pending + ((performance.now() - began) / 1_000) * bytesPerSecond
      },
    } as unknown as Socket
    const end = watchReaders(new Set([socket]), pace, () => {
      isLate = true
    })
    const longer = () => performance.now() - began > 5 * pace.reader_ms && looks > 20
    return { end, isLate: () => isLate, longer }
  }

  it('closes a connection below the pace [OPS-26]', async () => {
    const { end, isLate } = watched({ pending: 1_000, bytesPerSecond: 500_000 })
    await until(isLate)
    end()
  })

  it('keeps a connection at the pace for any duration [OPS-26]', async () => {
    const { end, isLate, longer } = watched({ pending: 1_000, bytesPerSecond: 1_500_000 })
    await until(longer)
    expect(isLate()).to.equal(false)
    end()
  })

  it('keeps a connection with one large chunk, because its progress is not visible [OPS-26]', async () => {
    const { end, isLate, longer } = watched({ pending: 50_000_000, bytesPerSecond: 0 })
    await until(longer)
    expect(isLate()).to.equal(false)
    end()
  })
})
