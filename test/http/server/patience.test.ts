import { expect } from 'chai'
import { expectRate } from '../../support/answers.ts'
import { type Reply, startApi, type TestApi } from '../../support/api.ts'
import { until } from '../../support/wait.ts'
import { bytesOf, exchange } from '../../support/wire.ts'
import { expectRefusal, JSON_TYPE, useConnections } from './connections.ts'

describe('HTTP server time limits', () => {
  const { api, company, wireTo, key, me, creating } = useConnections()

  describe('for requests', () => {
    const hurried = { headers_ms: 300, request_ms: 600, check_ms: 50, keepAlive_ms: 300 }
    let quick: TestApi

    before(async () => {
      quick = await startApi(api.databaseUrl, { server: hurried })
    })
    after(() => quick.close())

    it('close a silent connection, with an answer that shows the limit of the address [OPS-26, RATE-2]', async () => {
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
