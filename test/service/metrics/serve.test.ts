import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express, { type Request, type Response } from 'express'
import { v7 as uuidv7 } from 'uuid'
import { createAddressLimit } from '#access/minute-limit.ts'
import { mountRoutes, type ObservedRequest } from '#http/edge.ts'
import { createApp } from '#service/interfaces.ts'
import { serveMetrics } from '#service/metrics.ts'
import { type Reply, send } from '../../support/api.ts'
import { until } from '../../support/wait.ts'

const metrics = { contentType: 'text/plain; version=0.0.4', read: async () => 'figure 1\n' }
const expectError = (reply: Reply, status: number, code: string) =>
  expect([reply.status, reply.body.error.code]).to.deep.equal([status, code])
const TOKEN = 'prometheus-reads-this'

describe('/metrics', () => {
  const servers: Server[] = []
  const calls: ObservedRequest[] = []

  async function serve(token: string | null): Promise<string> {
    const { server, open } = createApp({
      trustProxy: false,
      addresses: createAddressLimit({ perMinute: 1_000_000 }),
      newId: uuidv7,
      isStopping: () => false,
      onAnswered: (call) => calls.push(call),
      figures: { metrics, token },
      log: () => {},
    })
    const sales = express.Router()
    mountRoutes(sales, '/api/v1', [
      { method: 'get', path: '/sales/:id', handlers: [(_request, response) => void response.json({})] },
      { method: 'post', path: '/sales/:id', handlers: [(request) => void request.socket.destroy()] },
    ])
    open(async () => ({ parts: {} }), express.Router().use('/api/v1', sales))
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  beforeEach(() => {
    calls.length = 0
  })
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections()
  })

  it('is served to this machine in the Prometheus format [OPS-19]', async () => {
    const url = await serve(null)
    const reply = await send(`${url}/metrics`, 'GET')
    expect(reply.status).to.equal(200)
    expect(reply.text).to.equal('figure 1\n')
    expect(reply.headers.get('content-type')).to.equal(metrics.contentType)
    expectError(await send(`${url}/metrics`, 'POST'), 405, 'method_not_allowed')
  })

  it('is 404 for requests through a proxy [OPS-19]', async () => {
    const url = await serve(null)
    for (const name of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip']) {
      expectError(await send(`${url}/metrics`, 'GET', undefined, { [name]: '10.0.0.1' }), 404, 'not_found')
    }
  })

  for (const [address, status] of [
    ['127.0.0.1', 200],
    ['::ffff:192.168.1.20', 200],
    ['10.1.2.3', 200],
    ['172.31.0.9', 200],
    ['fd00::1', 200],
    ['fe80::1%eth0', 200],
    ['203.0.113.9', 404],
    ['::ffff:8.8.8.8', 404],
    ['2001:db8::1', 404],
    [undefined, 404],
  ] as const) {
    it(`responds ${status} to ${address ?? 'a closed connection'} [OPS-19]`, async () => {
      const request = { method: 'GET', headers: {}, socket: { remoteAddress: address } } as unknown as Request
      const response = { statusCode: 200, locals: {}, req: request, setHeader: () => {}, end: () => {} }
      await serveMetrics({ metrics, token: null })(request, response as unknown as Response, () => {})
      expect(response.statusCode).to.equal(status)
    })
  }

  it('requires the token if one is configured, and nothing else [OPS-19]', async () => {
    const url = await serve(TOKEN)
    const read = (headers?: Record<string, string>) => send(`${url}/metrics`, 'GET', undefined, headers)
    expectError(await read(), 401, 'missing_token')
    expectError(await read({ authorization: 'Bearer prometheus-reads-that' }), 401, 'invalid_token')
    expectError(await read({ authorization: `Basic ${TOKEN}` }), 401, 'invalid_token')
    const allowed = await read({ authorization: `Bearer ${TOKEN}`, 'x-forwarded-for': '203.0.113.9' })
    expect(allowed.status).to.equal(200)
  })

  it('counts requests by route pattern, never by path [OPS-19]', async () => {
    const url = await serve(null)
    const counted = async (method: string, path: string) => {
      const before = calls.length
      await send(`${url}${path}`, method).catch(() => null)
      await until(() => calls.length > before)
      const { duration_seconds, ...call } = calls.at(-1) as ObservedRequest
      expect(duration_seconds).to.be.within(0, 60)
      return call
    }
    expect(await counted('GET', '/api/v1/sales/7?x=1')).to.deep.equal({
      method: 'GET',
      route: '/api/v1/sales/:id',
      status: '200',
    })
    expect(await counted('POST', '/api/v1/sales/8')).to.include({ route: '/api/v1/sales/:id', status: 'aborted' })
    expect(await counted('GET', '/api/v1/nothing/9')).to.include({ route: '/api/v1/*', status: '404' })
    expect(await counted('GET', '/api/v1x/9')).to.include({ route: '/api/*' })
    expect(await counted('GET', '/wp-login.php?user=9')).to.include({ route: 'other', status: '404' })
    expect(await counted('PROPFIND', '/')).to.include({ method: 'other', route: 'other' })
    expect(await counted('GET', '/health/live')).to.include({ route: '/health/*', status: '200' })
  })
})
