import { connect } from 'node:net'
import { expect } from 'chai'
import { expectInvalid } from '../support/answers.ts'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { expectShortTurns } from '../support/turns-taken.ts'
import { bytesOf } from '../support/wire.ts'

const MB = 1_048_576
/** Longest time that a body may block the event loop (HTTP-42). */
const MOST_MS = 100

const filled = (text: string, bytes: number) => text.repeat(Math.floor(bytes / text.length))
const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))
const keys = (count: number) => times(count, (n) => `"k${n}":1`).join()

describe('large bodies', function () {
  this.timeout(180_000)
  const database = useDatabase()
  let api: TestApi
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  before(async () => {
    api = await startApi(database.url)
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company, '1000000')
  })
  after(() => api.close())

  interface Sent {
    readonly path: string
    readonly body: string
    readonly headers?: readonly (readonly [string, string])[]
  }

  /** Status only: parsing the body would take CPU time of this process. */
  function statusOf({ path, body, headers = [] }: Sent): Promise<number> {
    const { hostname, port } = new URL(api.url)
    const token = path.startsWith('/api/v1') ? company.key : till.token
    const bytes = bytesOf({
      method: 'POST',
      path,
      headers: [
        ['Authorization', `Bearer ${token}`],
        ['Content-Type', 'application/json'],
        ['Connection', 'close'],
        ...headers,
      ],
      body,
    })
    return new Promise((resolve, reject) => {
      let status = 0
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      socket.on('error', reject)
      socket.on('data', (chunk) => {
        status ||= Number(/^HTTP\/1\.1 (\d{3}) /.exec(chunk.toString('latin1', 0, 20))?.[1])
      })
      socket.on('close', () => resolve(status))
    })
  }

  async function expectServed(status: number, sent: () => Sent): Promise<void> {
    await expectShortTurns(MOST_MS, async () => expect(await statusOf(sent())).to.equal(status))
  }

  const lists = (bytes: number) => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`
  const within = (list: string) => `{"sales":[${list}]}`
  const levels = 'tem mais de 64 níveis de listas e objetos'
  const elements = 'tem uma lista com mais de 100000 itens'
  const beyond: [what: string, body: () => string, message: string][] = [
    ['5 MB of lists within lists', () => lists(5 * MB - 2), levels],
    ['such lists for a sale', () => within(lists(5 * MB - 20)), levels],
    ['5 MB of objects within objects', () => `${filled('{"a":', 4 * MB)}1${filled('}', (4 * MB) / 5)}`, levels],
    ['5 MB of empty objects', () => `[${filled('{},', 5 * MB - 10)}{}]`, elements],
    ['5 MB of empty sales', () => within(`${filled('{},', 5 * MB - 20)}{}`), elements],
    ['a million numbers', () => `[${filled('1,', 2 * MB)}1]`, elements],
    ['a sale of a million numbers', () => within(`{"items":[${filled('1,', 2 * MB)}1]}`), elements],
    ['100,000 members in an object', () => `{${keys(100_000)}}`, 'tem um objeto com mais de 1000 campos'],
    ['5 MB of one text', () => `"${filled('\\u0041', 5 * MB - 10)}"`, 'tem um texto com mais de 1048576 bytes'],
    [
      'a million values in small lists',
      () => within(times(500, () => `[${filled('{},', 5_000)}{}]`).join()),
      'tem mais de 550000 valores',
    ],
  ]
  for (const [what, body, message] of beyond)
    it(`of a till are refused with 422 without blocking the event loop: ${what} [HTTP-41, HTTP-42]`, async () => {
      const sent = { path: '/api/sync/sales', body: body() }
      await expectServed(422, () => sent)
      const reply = await till.call('POST', '/sync/sales', sent.body)
      expect(expectFailure(reply, 422)).to.deep.equal({ body: [message] })
    })

  it('beyond a limit are 422 in API v1 too, naming the limit, for every write [HTTP-41]', async () => {
    for (const [method, path] of [
      ['POST', '/customers'],
      ['PUT', '/customers/by-external/a'],
      ['PATCH', '/customers/1'],
      ['DELETE', '/customers/1'],
      ['POST', '/customers/batch'],
      ['POST', '/webhooks/1/test'],
    ] as const) {
      const reply = await company.call(method, path, `{"name":${lists(200)}}`)
      expectInvalid(reply, ['body'])
      expect(reply.body.error.details.fields).to.deep.equal({ body: [levels] })
    }
  })

  it('at the limit are accepted: 64 levels, 1,000 members, a text of a megabyte [HTTP-41, SYNC-2]', async () => {
    const odd = { ...counter.sale('estranha'), deep: JSON.parse(lists(122)), wide: JSON.parse(`{${keys(1_000)}}`) }
    const reply = await till.post('/sync/sales', { sales: [{ ...odd, long: 'x'.repeat(MB) }] })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.body.results[0].status).to.equal('created')
  })

  const lineOf = (product: number) => ({ product_id: product, quantity: 1, price: 10, total: 10 })
  const soldIn = (name: string, items: (n: number) => unknown[]) =>
    times(1_000, (n) =>
      counter.sale(`${name}-${n}`, {
        total: 600,
        amount_received: 600,
        items: items(n),
        payments: [{ payment_type_id: counter.cash, amount: 600, status: 'completed' }],
      }),
    )
  let uploads = 0
  const uploaded: [what: string, sales: () => unknown[]][] = [
    ['1,000 sales of 60 items', () => soldIn(`boa-${++uploads}`, () => times(60, () => lineOf(counter.product)))],
    ['1,000 sales of unknown products', () => soldIn('má', () => times(60, (n) => lineOf(900_000 + n)))],
    ['1,000 sales with 500 invalid items', () => times(1_000, () => ({ items: times(500, () => 1) }))],
    ['a sale with 90,000 items', () => [counter.sale('longa', { items: times(90_000, () => ({})) })]],
  ]
  for (const [what, sales] of uploaded)
    it(`of a till are recorded without blocking the event loop: ${what} [HTTP-42]`, () =>
      expectServed(200, () => ({ path: '/api/sync/sales', body: JSON.stringify({ sales: sales() }) })))

  it('of a till are checked without blocking the event loop: 50,000 products [HTTP-42]', async () => {
    const products = times(50_000, (n) => ({ id: n + 1, updated_at: '2026-03-10T14:00:00.000Z' }))
    const path = '/api/sync/check-conflicts'
    await expectServed(200, () => ({ path, body: JSON.stringify({ products }) }))
    await expectServed(422, () => ({ path, body: JSON.stringify({ products: times(50_000, () => ({ id: 'a' })) }) }))
  })

  const ofApi: [what: string, status: number, path: string, body: () => string][] = [
    ['350,000 empty items', 422, '/customers/batch', () => `{"items":[${filled('{},', MB - 30)}{}]}`],
    ['80,000 unknown fields', 422, '/customers', () => `{${keys(80_000)}}`],
    [
      '500 items with 160 unknown fields',
      207,
      '/customers/batch',
      () => `{"items":[${times(500, () => `{${keys(160)}}`)}]}`,
    ],
    [
      '100 items of 5,000 numbers',
      207,
      '/customers/batch',
      () => `{"items":[${times(100, () => `[${filled('1,', 10_000)}1]`)}]}`,
    ],
    ['500 items of 2 KB', 200, '/customers/batch', () => JSON.stringify({ items: times(500, customer) })],
    ['500 lines of 200 characters', 201, '/sales', () => JSON.stringify(longSale())],
  ]
  const customer = (n: number): Json => ({ external_id: `c-${n}`, name: `Conceição ${n}`, notes: 'é'.repeat(900) })
  const longSale = () => ({
    items: times(500, () => ({ description: 'ç'.repeat(200), quantity: '1', unit_price: '1.00' })),
    payments: [{ payment_type_id: counter.cash, amount: '500.00' }],
  })
  for (const [what, status, path, body] of ofApi)
    it(`of API v1 with an Idempotency-Key do not block the event loop: ${what} [HTTP-42]`, () =>
      expectServed(status, () => ({
        path: `/api/v1${path}`,
        body: body(),
        headers: [['Idempotency-Key', `${what} ${++uploads}`]],
      })))

  it('of many concurrent sales with hundreds of lines do not block the event loop [HTTP-42]', async () => {
    const sale = {
      items: times(400, () => ({ catalog_item_id: counter.product, quantity: '1' })),
      payments: [{ payment_type_id: counter.cash, amount: '4000.00' }],
    }
    const body = JSON.stringify(sale)
    expect(body.length).to.be.below(16_384)
    await expectShortTurns(MOST_MS, async () => {
      const statuses = await Promise.all(times(40, () => statusOf({ path: '/api/v1/sales', body })))
      expect(new Set(statuses)).to.deep.equal(new Set([201]))
    })
  })
})
