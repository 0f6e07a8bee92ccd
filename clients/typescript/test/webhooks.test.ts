import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import express from 'express'
import { Headers as UndiciHeaders } from 'undici'
import { formatWebhookSecret } from '../../../src/crypto/vault.ts'
import { deliveryHeaders } from '../../../src/webhooks/sender.ts'
import {
  type Delivery,
  expressHandler,
  fastifyHandler,
  fetchHandler,
  type HeadersLike,
  verifyWebhook,
} from '../src/webhooks.ts'

const [SECRET, NEXT] = [1, 2].map((byte) => formatWebhookSecret(Buffer.alloc(32, byte))) as [string, string]
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

  it('fails under another id: a replayed delivery cannot pass for a new one', async () => {
    expect(await verify({ ...headersOf(), 'webhook-id': `${ID.slice(0, -1)}c` })).to.equal(null)
    const { 'webhook-id': _, ...nameless } = headersOf()
    expect(await verify(nameless)).to.equal(null)
    // Unsigned headers have no influence.
    expect((await verify({ ...headersOf(), 'x-service-delivery': 'outra' }))?.id).to.equal(ID)
  })

  it('does not accept a signature of the body alone', async () => {
    const { 'webhook-signature': _, ...older } = headersOf()
    expect(older['x-service-signature']).to.match(/^sha256=/)
    expect(await verify(older)).to.equal(null)
    expect(await verify({ ...older, 'webhook-signature': older['x-service-signature'] ?? '' })).to.equal(null)
  })

  /** As the service sends it: `X-Service-Sequence`, `webhook-id`. */
  const sent = () =>
    deliveryHeaders(
      { id: ID, event: 'sale.completed', revision: 41, sequence: 9, body: BODY },
      { secret: SECRET, next_secret: NEXT, switch_at: new Date(NOW + 60_000).toISOString() },
      NOW,
    )
  const renamed = (change: (name: string) => string) =>
    Object.fromEntries(Object.entries(sent()).map(([name, value]) => [change(name), value]))

  for (const [name, headers] of [
    ['a plain object as sent', () => sent()],
    ['a plain object in capitals', () => renamed((each) => each.toUpperCase())],
    [
      'a plain object in capital initials',
      () => renamed((each) => each.replace(/\b\w/g, (letter) => letter.toUpperCase())),
    ],
    [
      'an object without prototype, with lists',
      () =>
        Object.assign(
          Object.create(null),
          Object.fromEntries(Object.entries(sent()).map(([each, value]) => [each, [value]])),
        ),
    ],
    ['signatures in a list', () => ({ ...sent(), 'webhook-signature': sent()['webhook-signature']?.split(' ') })],
    ['the platform’s Headers', () => new Headers(sent())],
    ['undici’s Headers', () => new UndiciHeaders(sent())],
    ['a Map', () => new Map(Object.entries(sent()))],
    ['a Map in capitals', () => new Map(Object.entries(renamed((each) => each.toUpperCase())))],
    ['pairs', () => Object.entries(sent())],
    ['Node’s rawHeaders', () => Object.entries(sent()).flat()],
    ['an object with get()', () => ({ get: (each: string) => new Headers(sent()).get(each) })],
    [
      'two headers of signatures, joined by a comma',
      () => ({ ...sent(), 'webhook-signature': sent()['webhook-signature']?.replace(' ', ', ') }),
    ],
    [
      'a signature of another version before',
      () => ({ ...sent(), 'webhook-signature': `v2,AAAA ${sent()['webhook-signature']} v1a,BBBB` }),
    ],
  ] as const satisfies [string, () => HeadersLike][])
    it(`is verified by ${name}, with either secret`, async () => {
      for (const secret of [SECRET, NEXT]) {
        const delivery = await verifyWebhook(headers(), bytes(BODY), { secret, now: NOW })
        expect(delivery).to.include({ id: ID, sequence: 9, revision: 41 })
        expect(await verifyWebhook(headers(), bytes(`${BODY} `), { secret, now: NOW })).to.equal(null)
      }
    })

  for (const [name, around] of [
    ['a line end', (secret: string) => `${secret}\n`],
    ['a line end of Windows', (secret: string) => `${secret}\r\n`],
    ['blanks', (secret: string) => ` \t${secret}  `],
  ] as const)
    it(`is verified by a secret with ${name} around it`, async () => {
      expect(await verify(headersOf(), BODY, around(SECRET))).to.not.equal(null)
      expect(await verify(headersOf(), BODY, around(NEXT))).to.equal(null)
    })

  it('cannot be verified with what is no secret, which is said', async () => {
    for (const secret of ['', 'whsec_', SECRET.slice(6), `"${SECRET}"`]) {
      const error = await verify(headersOf(), BODY, secret).catch((thrown: unknown) => thrown)
      expect((error as Error).message).to.equal('secret must be the whole whsec_… of the webhook')
    }
  })
})

describe('handlers of deliveries', () => {
  let received: Delivery[]
  let errors: string[]
  const options = { secret: SECRET, now: NOW, onError: (error: unknown) => void errors.push((error as Error).message) }
  beforeEach(() => {
    received = []
    errors = []
  })
  const receive = (delivery: Delivery) => void received.push(delivery)
  const fail = () => Promise.reject(new Error('the database is away'))

  async function statusOf(listener: RequestListener, body = BODY, signed = BODY): Promise<number> {
    const server = createServer(listener).listen(0)
    await once(server, 'listening')
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      const headers = { ...headersOf(signed), 'content-type': 'application/json' }
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

  it('tell onError what receive has thrown, and answer 500', async () => {
    const reply = { code: (status: number) => ({ send: () => status }) }
    const thrower = () => {
      throw new Error('synchronous')
    }
    const request = () => new Request('http://localhost/hook', { method: 'POST', headers: headersOf(), body: BODY })
    expect(await statusOf(expressHandler(options, fail))).to.equal(500)
    expect((await fetchHandler(options, thrower)(request())).status).to.equal(500)
    expect(await fastifyHandler(options, fail)({ headers: headersOf(), body: Buffer.from(BODY) }, reply)).to.equal(500)
    expect(await fastifyHandler(options, receive)({ headers: headersOf(), body: JSON.parse(BODY) }, reply)).to.equal(
      500,
    )
    expect((await fetchHandler({ ...options, secret: 'wrong' }, receive)(request())).status).to.equal(500)
    expect(errors).to.deep.equal([
      'the database is away',
      'synchronous',
      'the database is away',
      'the body was parsed: the signature is over its bytes',
      'secret must be the whole whsec_… of the webhook',
    ])
  })

  it('answer 500 whatever onError does, and tell console.error without one', async () => {
    const request = () => new Request('http://localhost/hook', { method: 'POST', headers: headersOf(), body: BODY })
    const told: unknown[] = []
    const original = console.error
    console.error = (error: unknown) => void told.push((error as Error).message)
    try {
      const { onError: _, ...silent } = options
      expect((await fetchHandler(silent, fail)(request())).status).to.equal(500)
      for (const onError of [
        () => {
          throw new Error('no log')
        },
        () => Promise.reject(new Error('no log, later')),
      ])
        expect((await fetchHandler({ ...options, onError }, fail)(request())).status).to.equal(500)
    } finally {
      console.error = original
    }
    expect(told).to.deep.equal(['the database is away', 'no log', 'no log, later'])
  })

  it('take a sale of 500 lines behind express.raw() with the documented limit', async () => {
    const items = Array.from({ length: 500 }, (_, n) => ({ id: n, description: 'Pão de queijo '.repeat(17) }))
    const sale = JSON.stringify({ ...JSON.parse(BODY), data: { id: 7, items } })
    expect(sale.length).to.be.above(123_000)
    expect(await statusOf(behind(express.raw({ type: 'application/json', limit: '5mb' })), sale, sale)).to.equal(204)
    expect(await statusOf(behind(null), sale, sale)).to.equal(204)
  })

  it('of Fetch and Fastify do the same', async () => {
    const request = (body: string) =>
      new Request('http://localhost/hook', { method: 'POST', headers: headersOf(), body })
    expect((await fetchHandler(options, receive)(request(BODY))).status).to.equal(204)
    expect((await fetchHandler(options, receive)(request(`${BODY} `))).status).to.equal(401)
    expect((await fetchHandler(options, fail)(request(BODY))).status).to.equal(500)
    const codes: number[] = []
    const reply = { code: (status: number) => ({ send: () => codes.push(status) }) }
    await fastifyHandler(options, receive)({ headers: headersOf(), body: Buffer.from(BODY) }, reply)
    await fastifyHandler(options, receive)({ headers: headersOf(), body: undefined }, reply)
    expect(codes).to.deep.equal([204, 401])
  })
})
