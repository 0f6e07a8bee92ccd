import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { secretOf } from '../../../src/domain/webhook-secret.ts'
import { deliveryHeaders } from '../../../src/webhooks/signature.ts'
import { type Delivery, expressHandler, fastifyHandler, fetchHandler, verifyWebhook } from '../src/webhooks.ts'

const [SECRET, NEXT] = [1, 2].map((byte) => secretOf(Buffer.alloc(32, byte))) as [string, string]
const NOW = Date.parse('2026-11-21T12:00:00Z')
const BODY = JSON.stringify({
  event: 'sale.completed',
  occurred_at: '2026-11-21T09:00:00.000-03:00',
  origin: 'pdv',
  data: { id: 7, total: '12.30', customer_name: 'Conceição 😀' },
})
const ID = '01a1b2c3-7d5e-7f00-8a9b-0c1d2e3f4a5b'

/** Headers as the service sends them. */
const headersOf = (body = BODY, now = NOW, next: string | null = null) =>
  Object.fromEntries(
    Object.entries(
      deliveryHeaders(
        { id: ID, event: 'sale.completed', revision: 41, sequence: 9, body },
        { secret: SECRET, next_secret: next, switch_at: next && new Date(now + 60_000).toISOString() },
        now,
      ),
    ).map(([name, value]) => [name.toLowerCase(), value]),
  )

const bytes = (text: string) => new TextEncoder().encode(text)

describe('verification of a delivery', () => {
  const verify = (headers: Record<string, string>, body = BODY, secret = SECRET) =>
    verifyWebhook(headers, bytes(body), { secret, now: NOW })

  it('returns the delivery with the values of its headers', async () => {
    expect(await verify(headersOf())).to.deep.equal({ id: ID, sequence: 9, revision: 41, payload: JSON.parse(BODY) })
    expect(await verifyWebhook(new Headers(headersOf()), bytes(BODY), { secret: SECRET, now: NOW })).to.not.equal(null)
  })

  it('accepts either secret during a rotation', async () => {
    for (const secret of [SECRET, NEXT])
      expect(await verify(headersOf(BODY, NOW, NEXT), BODY, secret)).to.not.equal(null)
    expect(await verify(headersOf(), BODY, NEXT)).to.equal(null)
  })

  it('fails for an altered byte, a time too far away, or a missing signature', async () => {
    expect(await verify(headersOf(), BODY.replace('12.30', '12.31'))).to.equal(null)
    for (const seconds of [-301, 301]) expect(await verify(headersOf(BODY, NOW + seconds * 1000))).to.equal(null)
    expect(await verify(headersOf(BODY, NOW - 299_000))).to.not.equal(null)
    expect(await verify({})).to.equal(null)
    expect(await verify({ ...headersOf(), 'webhook-timestamp': String(NOW / 1000 + 1) })).to.equal(null)
    const { 'webhook-signature': _, ...unsigned } = headersOf()
    expect(await verify(unsigned)).to.equal(null)
  })

  it('fails under another id: a replayed delivery cannot pass for a new one [KIT-62]', async () => {
    expect(await verify({ ...headersOf(), 'webhook-id': `${ID.slice(0, -1)}c` })).to.equal(null)
    const { 'webhook-id': _, ...nameless } = headersOf()
    expect(await verify(nameless)).to.equal(null)
    // Unsigned headers have no influence.
    expect((await verify({ ...headersOf(), 'x-service-delivery': 'outra' }))?.id).to.equal(ID)
  })

  it('does not accept a signature of the body alone [KIT-62]', async () => {
    const { 'webhook-signature': _, ...older } = headersOf()
    expect(older['x-service-signature']).to.match(/^sha256=/)
    expect(await verify(older)).to.equal(null)
    expect(await verify({ ...older, 'webhook-signature': older['x-service-signature'] ?? '' })).to.equal(null)
  })

  it('throws for an invalid secret', async () => {
    for (const secret of ['', 'whsec_', SECRET.slice(6), `${SECRET} `]) {
      const error = await verify(headersOf(), BODY, secret).catch((thrown: unknown) => thrown)
      expect((error as Error).message).to.equal('secret must be the whole whsec_… of the webhook')
    }
  })
})

describe('delivery handlers', () => {
  const options = { secret: SECRET, now: NOW }
  let received: Delivery[]
  beforeEach(() => {
    received = []
  })
  const receive = (delivery: Delivery) => void received.push(delivery)
  const fail = () => Promise.reject(new Error('the database is away'))

  async function statusOf(listener: RequestListener, body = BODY): Promise<number> {
    const server = createServer(listener).listen(0)
    await once(server, 'listening')
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      const headers = { ...headersOf(), 'content-type': 'application/json' }
      return (await fetch(url, { method: 'POST', headers, body })).status
    } finally {
      server.close()
    }
  }

  const behind = (parser: express.RequestHandler | null, receiver = receive as typeof receive | typeof fail) => {
    const app = express()
    if (parser) app.use(parser)
    return app.post('/hook', expressHandler(options, receiver))
  }

  it('for Express and node:http read the raw bytes, or take those of express.raw()', async () => {
    expect(await statusOf(expressHandler(options, receive))).to.equal(204)
    expect(await statusOf(behind(null))).to.equal(204)
    expect(await statusOf(behind(express.raw({ type: 'application/json' })))).to.equal(204)
    expect(received.map(({ payload }) => payload.event)).to.deep.equal(Array(3).fill('sale.completed'))
  })

  it('refuse forged deliveries, and request another delivery if storing fails', async () => {
    expect(await statusOf(behind(null), BODY.replace('12.30', '99.99'))).to.equal(401)
    expect(await statusOf(behind(null, fail))).to.equal(500)
    // A JSON parser in front must make the delivery fail visibly.
    expect(await statusOf(behind(express.json()))).to.equal(500)
    expect(received).to.deep.equal([])
  })

  it('for Fetch and Fastify do the same', async () => {
    const request = (body: string) =>
      new Request('http://localhost/hook', { method: 'POST', headers: headersOf(), body })
    expect((await fetchHandler(options, receive)(request(BODY))).status).to.equal(204)
    expect((await fetchHandler(options, receive)(request(`${BODY} `))).status).to.equal(401)
    expect((await fetchHandler(options, fail)(request(BODY))).status).to.equal(500)
    const codes: number[] = []
    const reply = { code: (status: number) => ({ send: () => codes.push(status) }) }
    await fastifyHandler(options, receive)({ headers: headersOf(), body: Buffer.from(BODY) }, reply)
    await fastifyHandler(options, receive)({ headers: headersOf(), body: JSON.parse(BODY) }, reply)
    expect(codes).to.deep.equal([204, 401])
  })
})
