import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { createSender, type Sendable, type Sender, type SenderOptions } from '#webhooks/sender.ts'
import { SELF_SIGNED } from './certificate.ts'
import { SECRET } from './outbox.ts'
import { type Receiver, startReceiver } from './receiver.ts'

describe('one attempt', () => {
  const closing: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  const senderOf = (options: Partial<SenderOptions> = {}): Sender => {
    const sender = createSender({ timeout_ms: 5_000, allowPrivate: true, clock: Date.now, ...options })
    closing.push(() => sender.close())
    return sender
  }
  const receiverOf = async (tls?: Parameters<typeof startReceiver>[0]): Promise<Receiver> => {
    const receiver = await startReceiver(tls)
    closing.push(() => receiver.close())
    return receiver
  }
  /** TCP server with scripted handling of connections. */
  const tcpServer = async (onRequest: (socket: Socket) => void): Promise<string> => {
    const sockets = new Set<Socket>()
    const server: Server = createTcpServer((socket) => {
      sockets.add(socket.on('error', () => {}))
      socket.on('data', () => onRequest(socket))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }
  const to = (url: string): Sendable => ({
    id: '018f',
    event: 'sale.completed',
    revision: 1,
    sequence: 1,
    body: '{"ação":1}',
    url,
    secret: SECRET,
    next_secret: null,
    switch_at: null,
  })

  it('succeeds on an answer with 2xx [HOOK-17]', async () => {
    const receiver = await receiverOf()
    const attempt = await senderOf().send(to(`${receiver.url}?a=b%20c`))
    expect(attempt).to.include({ status: 204, error: null, response: null })
    expect(new Date(attempt.at).toISOString()).to.equal(attempt.at)
    expect(receiver.received[0]).to.include({ method: 'POST', path: '/hooks?a=b%20c', body: '{"ação":1}' })
    expect(receiver.received[0]!.headers).to.include({ 'content-length': String(Buffer.byteLength('{"ação":1}')) })
  })

  for (const [status, error] of [
    [301, 'redirect'],
    [307, 'redirect'],
    [400, 'http_status'],
    [410, 'gone'],
    [500, 'http_status'],
  ] as const) {
    it(`fails on an answer with ${status}, and follows no redirect [HOOK-17]`, async () => {
      const receiver = await receiverOf()
      receiver.answer = (_received, response) =>
        response.writeHead(status, { location: receiver.url }).end('porque não')
      expect(await senderOf().send(to(receiver.url))).to.include({ status, error, response: 'porque não' })
      expect(receiver.received).to.have.length(1)
    })
  }

  for (const [status, header, asked] of [
    [429, '120', 120_000],
    [503, 'Sat, 21 Nov 2026 12:05:00 GMT', 300_000],
    [429, 'Sat, 21 Nov 2026 11:00:00 GMT', 0],
    [503, '9'.repeat(60), Number('9'.repeat(60)) * 1000],
    [503, 'tomorrow', undefined],
    [500, '120', undefined],
    [302, '120', undefined],
    [200, '120', undefined],
  ] as const) {
    it(`has the pause of Retry-After: ${header.slice(0, 30)} with ${status}: ${asked} ms [HOOK-18]`, async () => {
      const receiver = await receiverOf()
      receiver.answer = (_received, response) => response.writeHead(status, { 'retry-after': header }).end()
      const sender = senderOf({ clock: () => Date.parse('2026-11-21T12:00:00Z') })
      expect((await sender.send(to(receiver.url))).retry_after_ms).to.equal(asked)
    })
  }

  it('times out if no answer comes [HOOK-17]', async () => {
    const receiver = await receiverOf()
    receiver.answer = () => {}
    const attempt = await senderOf({ timeout_ms: 100 }).send(to(receiver.url))
    expect(attempt).to.include({ status: null, error: 'timeout', response: null })
    expect(attempt.duration_ms).to.be.at.least(95)
  })

  it('times out if headers arrive slowly [HOOK-17]', async () => {
    const url = await tcpServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const timer = setInterval(() => socket.write('X-A: b\r\n'), 10)
      socket.on('close', () => clearInterval(timer))
    })
    expect(await senderOf({ timeout_ms: 200 }).send(to(url))).to.include({ status: null, error: 'timeout' })
  })

  it('stores only the beginning of an answer, and closes a connection with an endless one', async () => {
    const receiver = await receiverOf()
    let closed = false
    receiver.answer = (_received, response, request) => {
      request.socket.on('close', () => {
        closed = true
      })
      response.writeHead(200)
      const more = () => {
        while (!closed && response.write('á'.repeat(10_000)));
      }
      response.on('drain', more)
      more()
    }
    const attempt = await senderOf().send(to(receiver.url))
    expect(attempt).to.include({ status: 200, error: null, response: 'á'.repeat(512) })
  })

  it('does not wait for an endless body: the status decides', async () => {
    const receiver = await receiverOf()
    receiver.answer = (_received, response) => response.writeHead(200).write('quase')
    const attempt = await senderOf({ timeout_ms: 60_000 }).send(to(receiver.url))
    expect(attempt).to.include({ status: 200, error: null, response: 'quase' })
  })

  it('requests no compression, and stores only text', async () => {
    const receiver = await receiverOf()
    receiver.answer = ({ headers }, response) => {
      expect(headers).not.to.have.property('accept-encoding')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000)))
    }
    const { response, error } = await senderOf().send(to(receiver.url))
    expect(error).to.equal(null)
    expect(response ?? '')
      .to.match(/^[^\0]{0,1024}$/)
      .and.not.match(/\p{Surrogate}/u)
  })

  it('reports the problem if the answer is not HTTP', async () => {
    const url = await tcpServer((socket) => socket.write('+OK POP3 ready\r\n'))
    expect(await senderOf().send(to(url))).to.include({ status: null, error: 'invalid_response' })
  })

  it('refuses endless headers', async () => {
    const url = await tcpServer((socket) =>
      socket.write(`HTTP/1.1 200 OK\r\n${`X-A: ${'b'.repeat(1_000)}\r\n`.repeat(100)}`),
    )
    expect(await senderOf().send(to(url))).to.include({ status: null, error: 'invalid_response' })
  })

  it('reports a refused connection, a closed connection and an unknown name', async () => {
    const receiver = await receiverOf()
    await receiver.close()
    expect(await senderOf().send(to(receiver.url))).to.include({ error: 'connection_refused' })
    const url = await tcpServer((socket) => socket.resetAndDestroy())
    expect(await senderOf().send(to(url))).to.include({ error: 'connection_lost' })
    const unknown = async () => {
      throw Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })
    }
    const sender = senderOf({ allowPrivate: false, resolve: unknown })
    expect(await sender.send(to('https://loja.example/'))).to.include({ error: 'name_not_resolved' })
  })

  it('refuses a self-signed certificate', async () => {
    const receiver = await receiverOf(SELF_SIGNED)
    expect(await senderOf().send(to(receiver.url))).to.include({ status: null, error: 'tls' })
    expect(receiver.received).to.deep.equal([])
  })

  it('reports tls if the server does not support it', async () => {
    const receiver = await receiverOf()
    expect(await senderOf().send(to(receiver.url.replace('http:', 'https:')))).to.include({ error: 'tls' })
  })

  it('reuses a connection, also after an error', async () => {
    const receiver = await receiverOf()
    const ports = new Set<number | undefined>()
    receiver.answer = (_received, response, request) => {
      ports.add(request.socket.remotePort)
      response.writeHead(ports.size % 2 ? 200 : 500).end('a'.repeat(5_000))
    }
    const sender = senderOf()
    for (let n = 0; n < 20; n++) await sender.send(to(receiver.url))
    expect(ports.size).to.be.below(4)
  })

  it('is repeated once at once if the server has just closed the reused connection', async () => {
    const requests = new Map<Socket, number>()
    let cut: Socket | null = null
    const url = await tcpServer((socket) => {
      const count = (requests.get(socket) ?? 0) + 1
      requests.set(socket, count)
      if (count === 2 && !cut) cut = socket.end()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
    const sender = senderOf()
    while (!cut) expect(await sender.send(to(url))).to.include({ status: 200, error: null })
  })

  describe('with interim answers', () => {
    const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
    const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'
    const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

    /** Server that sends these parts after each request, one after the other; returns its URL and the requests so far. */
    const answering = async (...parts: string[]) => {
      const seen = { requests: 0, connections: new Set<Socket>() }
      const url = await tcpServer((socket) => {
        seen.requests += 1
        seen.connections.add(socket.setNoDelay())
        const sendFrom = (index: number): void => {
          const part = parts[index]
          if (part === '(end)') socket.end()
          else if (part !== undefined) socket.write(part, () => setImmediate(sendFrom, index + 1))
        }
        sendFrom(0)
      })
      return { url, seen }
    }

    for (const [name, parts] of [
      ['100 Continue', [CONTINUE + OK]],
      ['100 Continue in a packet of its own', [CONTINUE, OK]],
      ['100 twice', [CONTINUE + CONTINUE, OK]],
      ['100 byte by byte', [...CONTINUE, ...OK]],
      ['100 of HTTP/1.0 without a reason', ['HTTP/1.0 100\r\n\r\n', OK]],
      [
        '102 and 103 with headers',
        ['HTTP/1.1 102 Processing\r\nX-A: b\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n', OK],
      ],
      [
        '100 with headers of a final answer',
        ['HTTP/1.1 100 Continue\r\nContent-Length: 0\r\nConnection: close\r\n\r\n', OK],
      ],
      ['a status without a name', ['HTTP/1.1 199 \r\n\r\n', OK]],
      ['100 before chunks', [CONTINUE, CHUNKED]],
    ] as const) {
      it(`passes over ${name}: one POST, recorded as delivered [HOOK-83]`, async () => {
        const { url, seen } = await answering(...parts)
        const sender = senderOf()
        for (let n = 1; n <= 3; n++) {
          expect(await sender.send(to(url))).to.include({ status: 200, error: null, response: 'ok' })
          expect(seen.requests).to.equal(n)
        }
      })
    }

    it('keeps the connection for further deliveries [HOOK-83]', async () => {
      const { url, seen } = await answering(CONTINUE, CHUNKED)
      const sender = senderOf()
      for (let n = 0; n < 10; n++) await sender.send(to(url))
      expect(seen.connections.size).to.be.below(4)
    })

    it('passes over 100 Continue of Node’s own server [HOOK-83]', async () => {
      const receiver = await receiverOf()
      receiver.answer = (_received, response) => {
        response.writeContinue()
        response.writeEarlyHints({ link: '</a>; rel=preload' })
        response.writeHead(503).end('depois')
      }
      expect(await senderOf().send(to(receiver.url))).to.include({
        status: 503,
        error: 'http_status',
        response: 'depois',
      })
      expect(receiver.received).to.have.length(1)
    })

    for (const [name, head] of [
      ['101', 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
      ['101 without headers', 'HTTP/1.1 101\r\n\r\n'],
      ['101 after 100', `${CONTINUE}HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n`],
    ] as const) {
      it(`fails at once on ${name}: one POST [HOOK-83]`, async () => {
        const { url, seen } = await answering(head + OK)
        expect(await senderOf().send(to(url))).to.include({ status: 101, error: 'http_status' })
        expect(seen.requests).to.equal(1)
      })
    }

    for (const [name, parts, error] of [
      ['100 and the end', [CONTINUE, '(end)'], 'connection_lost'],
      ['half a status line and the end', ['HTTP/1.1 20', '(end)'], 'connection_lost'],
      ['half a head and the end', ['HTTP/1.1 200 OK\r\nContent-Le', '(end)'], 'connection_lost'],
      ['no HTTP', ['+OK POP3 ready\r\n', '(end)'], 'invalid_response'],
      ['nothing but the end', ['(end)'], 'connection_lost'],
    ] as const) {
      it(`makes one POST on a fresh connection that answers with ${name} [HOOK-83]`, async () => {
        const { url, seen } = await answering(...parts)
        expect(await senderOf().send(to(url))).to.include({ status: null, error })
        expect(seen.requests).to.equal(1)
      })
    }

    it('times out after endless interim answers, or gives up at their bound: one POST [HOOK-83]', async () => {
      const silent = await answering(CONTINUE)
      expect(await senderOf({ timeout_ms: 100 }).send(to(silent.url))).to.include({ status: null, error: 'timeout' })
      const endless = await answering(CONTINUE.repeat(1_000))
      expect(await senderOf().send(to(endless.url))).to.include({ status: null })
      expect([silent.seen.requests, endless.seen.requests]).to.deep.equal([1, 1])
    })

    it('sends nothing again once a reused connection has begun an answer [HOOK-83]', async () => {
      let requests = 0
      let isReused = false
      const seen = new Set<Socket>()
      const url = await tcpServer((socket) => {
        requests += 1
        isReused = seen.has(socket)
        seen.add(socket)
        if (isReused) socket.end(CONTINUE)
        else socket.write(OK)
      })
      const sender = senderOf()
      for (let n = 1; !isReused; n++) {
        const { status, error } = await sender.send(to(url))
        expect([status, error]).to.deep.equal(isReused ? [null, 'connection_lost'] : [200, null])
        expect(requests).to.equal(n)
      }
    })
  })

  describe('without private targets', () => {
    const resolving = (...addresses: string[]) => senderOf({ allowPrivate: false, resolve: async () => addresses })

    it('connects to no private address, in any notation [HOOK-3]', async () => {
      const sender = resolving('8.8.8.8')
      for (const url of [
        'https://127.0.0.1/',
        'https://[::1]/',
        'https://[::ffff:127.0.0.1]/',
        'https://2130706433/',
        'https://10.0.0.1/',
      ])
        expect(await sender.send(to(url)), url).to.include({ status: null, error: 'private_address' })
    })

    it('connects to no name that resolves to private addresses [HOOK-3]', async () => {
      const receiver = await receiverOf(SELF_SIGNED)
      const { port } = new URL(receiver.url)
      for (const addresses of [['127.0.0.1'], ['::1', '10.1.2.3'], ['169.254.169.254']])
        expect(await resolving(...addresses).send(to(`https://loja.example:${port}/`))).to.include({
          error: 'private_address',
        })
      expect(receiver.received).to.deep.equal([])
    })

    it('checks the addresses of the connection itself, which defeats DNS rebinding [HOOK-3]', async () => {
      const receiver = await receiverOf(SELF_SIGNED)
      const { port } = new URL(receiver.url)
      const asked: string[] = []
      const sender = senderOf({
        allowPrivate: false,
        timeout_ms: 300,
        // An address reserved for documentation, without a server.
        resolve: async (name) => (asked.push(name) === 1 ? ['2001:4860:4860::8888'] : ['127.0.0.1']),
      })
      const outcomes = [
        await sender.send(to(`https://loja.example:${port}/`)),
        await sender.send(to(`https://loja.example:${port}/`)),
      ]
      expect(outcomes[0]!.error).to.be.a('string')
      expect(outcomes[1]).to.include({ error: 'private_address' })
      expect(asked).to.have.length(2)
      expect(receiver.received).to.deep.equal([])
    })

    it('supports https only [HOOK-3]', async () => {
      expect(await resolving('8.8.8.8').send(to('http://loja.example/'))).to.include({ error: 'invalid_url' })
    })
  })
})
