import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express, { type Response } from 'express'
import { limitLargeRequests } from '#http/bodies.ts'
import { problemHandler } from '#http/edge.ts'
import { createKeyedSemaphore, type KeyedSemaphore } from '#lib/fair-sharing.ts'
import { until } from '../support/wait.ts'
import { bytesOf, exchange, openWire, type Wire } from '../support/wire.ts'

describe('requests with large bodies', () => {
  let server: Server
  let url: string
  let turns: KeyedSemaphore
  /** Requests under way. */
  const under: Response[] = []
  const wires: Wire[] = []

  before(async () => {
    const app = express()
    app.use((request, response, next) => {
      response.locals.requestId = 'id'
      response.locals.caller = { companyId: Number(request.get('company')) }
      next()
    })
    app.post(
      '/',
      (request, response, next) => limitLargeRequests(turns)(request, response, next),
      (_request, response) => {
        under.push(response)
      },
    )
    app.use(problemHandler(() => {}))
    server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  beforeEach(() => {
    turns = createKeyedSemaphore({ running: Number.POSITIVE_INFINITY, runningOfKey: 1, waiting: 4 })
    under.length = 0
  })
  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })
  after(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))

  /** Announces a body without sending any of it. */
  async function announce(company: number, header: readonly [string, string]): Promise<Wire> {
    const wire = await openWire(url)
    wires.push(wire)
    wire.write(bytesOf({ method: 'POST', path: '/', headers: [['Company', String(company)], header] }))
    return wire
  }
  const LARGE = ['Content-Length', '16385'] as const

  it('are admitted a few per company at a time, small ones at once [OPS-63]', async () => {
    await announce(1, LARGE)
    await until(() => under.length === 1)
    await announce(1, LARGE)
    await until(() => turns.used === 1)
    await announce(1, ['Content-Length', '16384'])
    await announce(2, LARGE)
    await until(() => under.length === 3)
    under[0]?.end()
    await until(() => under.length === 4)
    expect(turns.used).to.equal(0)
  })

  it('include those of unknown size', async () => {
    await announce(1, ['Transfer-Encoding', 'chunked'])
    await until(() => under.length === 1)
    const wire = await openWire(url)
    wires.push(wire)
    const headers = [
      ['Company', '1'],
      ['Content-Encoding', 'gzip'],
    ] as const
    wire.write(bytesOf({ method: 'POST', path: '/', headers, body: 'x' }))
    await until(() => turns.used === 1)
  })

  it('a full queue of the company refuses; a disconnect frees its place [OPS-63]', async () => {
    const first = await announce(1, LARGE)
    await until(() => under.length === 1)
    const waiting = [await announce(1, LARGE), await announce(1, LARGE)]
    await until(() => turns.used === 2)
    const headers = [['Company', '1']] as const
    const refused = await exchange(url, bytesOf({ method: 'POST', path: '/', headers, body: 'x'.repeat(20_000) }))
    expect([refused.status, refused.body.error.details]).to.deep.equal([503, { reason: 'share_taken' }])
    waiting[0]?.close()
    await until(() => turns.used === 1)
    first.close()
    await until(() => under.length === 2)
    expect(turns.used).to.equal(0)
  })
})
