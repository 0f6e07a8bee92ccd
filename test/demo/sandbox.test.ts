import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import { type Sandbox, startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { isSigned } from '#payments/notifications.ts'
import { PAYER } from '../payments/provider-world.ts'
import { type Json, type Reply, send } from '../support/api.ts'
import { until } from '../support/wait.ts'

const SECRET = 'secret of the store'
const TOKEN = 'TEST-token'

interface Told {
  readonly path: string
  readonly query: URLSearchParams
  readonly body: Json
  readonly signed: boolean
}

describe('payment provider sandbox', () => {
  let sandbox: Sandbox
  let receiver: Server
  let receiverUrl: string
  let told: Told[]
  let status: number

  before(async () => {
    receiver = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = JSON.parse(Buffer.concat(chunks).toString()) as Json
        const { 'x-signature': signature, 'x-request-id': requestId } = request.headers as Record<string, string>
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://receiver')
        const signed = isSigned({ dataId: body.data.id, signature, requestId }, SECRET)
        told.push({ path: pathname, query: searchParams, body, signed })
        response.writeHead(status, { 'content-type': 'application/json' }).end('{"processed":true}')
      })
    })
    await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done))
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  })
  beforeEach(async () => {
    told = []
    status = 200
    sandbox = await startSandbox({ port: 0, secret: SECRET })
  })
  afterEach(() => sandbox.close())
  after(() => new Promise((done) => receiver.close(done)))

  const api = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    send(`${sandbox.url}/v1${path}`, method, body, { authorization: `Bearer ${TOKEN}`, ...headers })
  const control = (method: string, path: string, body?: object) => send(`${sandbox.url}/sandbox${path}`, method, body)

  let keys = 0
  const charge = async (changes: object = {}): Promise<Json> => {
    const body = {
      transaction_amount: 46.3,
      payment_method_id: 'pix',
      payer: { email: 'maria@example.com' },
      external_reference: 'order-17',
      notification_url: `${receiverUrl}/webhook/paymentprovider/loja/17`,
      ...changes,
    }
    const reply = await api('POST', '/payments', body, { 'x-idempotency-key': `key-${++keys}` })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body
  }
  const chargeQuietly = async (changes: object = {}) => {
    const payment = await charge(changes)
    await until(() => told.length > 0, { what: 'the notification of the new payment' })
    told = []
    return payment
  }

  it('notifies of a payment as the provider does: signed, with data.id in the query too [OPS-18]', async () => {
    const { id, status } = await charge()
    expect(status).to.equal('pending')
    await until(() => told.length === 1)
    const { path, query, body, signed } = told[0] as Told
    expect(path).to.equal('/webhook/paymentprovider/loja/17')
    expect(Object.fromEntries(query)).to.deep.equal({ 'data.id': String(id), type: 'payment' })
    expect(body).to.include({ type: 'payment', action: 'payment.created', live_mode: false, api_version: 'v1' })
    expect(body.data).to.deep.equal({ id: String(id) })
    expect(Number.isSafeInteger(body.id)).to.equal(true)
    expect(signed).to.equal(true)
  })

  for (const [moves, end] of [
    [['approve'], 'approved'],
    [['reject'], 'rejected'],
    [['cancel'], 'cancelled'],
    [['approve', 'refund'], 'refunded'],
    [['approve', 'charge-back'], 'charged_back'],
  ] as const) {
    it(`moves a payment to ${end}, and notifies of each step`, async () => {
      const { id } = await chargeQuietly()
      for (const move of moves) {
        const { body } = await control('POST', `/payments/${id}/${move}`)
        expect(body.notification.sent).to.deep.equal([{ status: 200, answer: { processed: true } }])
      }
      expect((await api('GET', `/payments/${id}`)).body).to.include({ id, status: end, transaction_amount: 46.3 })
      expect(told).to.have.length(moves.length)
    })
  }

  it('tells the end-to-end id of a Pix once it is paid, and keeps it [OPS-18]', async () => {
    const idOf = async (id: number) =>
      (await api('GET', `/payments/${id}`)).body.point_of_interaction?.transaction_data.e2e_id
    const { id } = await chargeQuietly()
    expect(await idOf(id)).to.equal(undefined)
    await control('POST', `/payments/${id}/approve`)
    const told = await idOf(id)
    expect(told).to.match(/^E\d{20}[A-Za-z0-9]{11}$/)
    for (const move of ['mediate', 'settle-mediation']) await control('POST', `/payments/${id}/${move}`)
    expect(await idOf(id)).to.equal(told)
    const card = await chargeQuietly({ payment_method_id: 'visa', token: 'APRO' })
    expect(JSON.stringify(card)).not.to.include('e2e_id')
  })

  it('leaves a refund in process, which is 400 without the header, until it is done or rejected [OPS-18]', async () => {
    const { id } = await chargeQuietly()
    await control('POST', `/payments/${id}/approve`)
    const refund = (key: string, headers: object = {}) =>
      api('POST', `/payments/${id}/refunds`, { amount: 30 }, { 'x-idempotency-key': key, ...headers })
    expect((await control('POST', `/payments/${id}/refund-in-process`)).body.notification).to.equal(null)
    expect((await refund('a')).status).to.equal(400)
    const shown = await refund('a', { 'x-render-in-process-refunds': 'true' })
    expect([shown.status, shown.body.status]).to.deep.equal([201, 'in_process'])
    expect((await api('GET', `/payments/${id}`)).body).to.deep.include({ transaction_amount_refunded: 0 })
    expect((await refund('b')).status).to.equal(400)
    await control('POST', `/payments/${id}/refund-rejected`)
    await control('POST', `/payments/${id}/refund-in-process`)
    await refund('c')
    const { payment } = (await control('POST', `/payments/${id}/refund-done`)).body
    expect(payment).to.include({ status: 'approved', transaction_amount_refunded: 30 })
    expect(payment.refunds.map((each: Json) => each.status)).to.deep.equal(['rejected', 'approved'])
    expect((await control('POST', `/payments/${id}/refund-done`)).status).to.equal(409)
  })

  it('refuses a time to pay that the provider does not allow [OPS-18]', async () => {
    const until = async (method: string, minutes: number) => {
      const body = {
        transaction_amount: 1,
        payment_method_id: method,
        date_of_expiration: new Date(Date.now() + minutes * 60_000).toISOString(),
        payer: PAYER,
      }
      return (await api('POST', '/payments', body, { 'x-idempotency-key': `key-${++keys}` })).status
    }
    for (const [method, minutes, status] of [
      ['pix', 29.9, 400],
      ['pix', 31, 201],
      ['pix', 43_199, 201],
      ['pix', 43_201, 400],
      ['bolbradesco', 1_430, 400],
      ['bolbradesco', 1_440, 201],
    ] as const)
      expect(await until(method, minutes), `${method} ${minutes}`).to.equal(status)
  })

  it('decides at once by card token', async () => {
    for (const [token, end] of [
      ['APRO', 'approved'],
      ['OTHE', 'rejected'],
      ['anything', 'pending'],
    ])
      expect(await charge({ token, payment_method_id: 'visa' })).to.include({ status: end })
  })

  it('refuses transitions that the provider does not allow', async () => {
    const { id } = await chargeQuietly()
    expect((await control('POST', `/payments/${id}/refund`)).status).to.equal(409)
    await control('POST', `/payments/${id}/reject`)
    for (const move of ['approve', 'cancel', 'charge-back'])
      expect((await control('POST', `/payments/${id}/${move}`)).status, move).to.equal(409)
    expect((await control('POST', '/payments/5/approve')).status).to.equal(404)
    expect((await api('GET', `/payments/${id}`)).body).to.include({ status: 'rejected' })
  })

  it('has a page with the transitions of each payment, which notify the service [OPS-18]', async () => {
    const { id } = await chargeQuietly({ description: '<Pedido> 17' })
    const buttons = async () => {
      const { text } = await send(`${sandbox.url}/`, 'GET')
      expect(text).to.include('&lt;Pedido> 17')
      return [...text.matchAll(/<button[^>]*>([^<]+)</g)].map(([, label]) => label)
    }
    const press = (move: string, amount?: string) =>
      fetch(`${sandbox.url}/console/${id}/${move}`, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams(amount === undefined ? {} : { amount }),
      })
    expect(await buttons()).to.have.members(['Pay', 'Refuse', 'Let expire', 'Cancel'])
    for (const [move, after, amount] of [
      ['approve', ['Complain (mediation)', 'Charge back', 'Refund', 'Delay the next refund']],
      ['refund', ['Complain (mediation)', 'Charge back', 'Refund', 'Delay the next refund'], '6,30'],
      ['mediate', ['Settle the complaint', 'Charge back', 'Refund', 'Delay the next refund']],
      ['charge-back', ['Shop wins', 'Shop loses']],
      ['win-dispute', []],
    ] as const) {
      const { status, headers } = await press(move, amount)
      expect([status, headers.get('location')], move).to.deep.equal([303, '/'])
      expect(await buttons(), move).to.have.members(after)
    }
    expect(told).to.have.length(5)
    expect(sandbox.book.get(String(id))).to.include({ status: 'charged_back', transaction_amount_refunded: 6.3 })
    expect((await press('approve')).status).to.equal(409)
    expect((await press('constructor')).status).to.equal(404)
    expect((await press('refund', 'much')).status).to.equal(422)
  })

  it('charges once per account and idempotency key, and requires a key [OPS-18]', async () => {
    const body = { transaction_amount: 1, payment_method_id: 'pix', payer: { email: 'a@example.com' } }
    const post = (changes: object, headers: Record<string, string>) =>
      api('POST', '/payments', { ...body, ...changes }, headers)
    const key = { 'x-idempotency-key': 'one' }
    const first = await post({}, key)
    expect((await post({}, key)).body).to.deep.equal(first.body)
    expect((await post({ transaction_amount: 2 }, key)).status).to.equal(409)
    expect((await post({}, { ...key, authorization: 'Bearer TEST-other' })).body.id).not.to.equal(first.body.id)
    expect((await post({}, {})).status).to.equal(400)
    expect(sandbox.book.all()).to.have.length(2)
  })

  it('refuses invalid requests in the provider’s format', async () => {
    const refused = async (changes: object, headers: Record<string, string> = {}): Promise<Reply> => {
      const body = { transaction_amount: 1, payment_method_id: 'pix', payer: { email: 'a@example.com' }, ...changes }
      return api('POST', '/payments', body, { 'x-idempotency-key': 'k', ...headers })
    }
    expect((await refused({ transaction_amount: 0 })).body).to.deep.include({ error: 'bad_request', status: 400 })
    expect((await refused({ payment_method_id: 'cheque' })).body.cause).to.deep.equal([
      { code: 10102, description: 'Payment method not found', data: null },
    ])
    expect((await refused({}, { authorization: '' })).status).to.equal(401)
    expect((await refused({}, { authorization: 'Bearer INVALID' })).status).to.equal(401)
    expect((await api('GET', '/payments/5')).status).to.equal(404)
    expect(sandbox.book.all()).to.deep.equal([])
  })

  it('finds payments of an order, newest first, and none of other accounts', async () => {
    const first = await charge()
    const second = await charge()
    await charge({ external_reference: 'order-18' })
    const search = '/payments/search?external_reference=order-17'
    expect((await api('GET', search)).body.results.map(({ id }: Json) => id)).to.deep.equal([second.id, first.id])
    expect((await api('GET', search, undefined, { authorization: 'Bearer TEST-other' })).body.results).to.deep.equal([])
    const other = await api('GET', `/payments/${first.id}`, undefined, { authorization: 'Bearer TEST-other' })
    expect(other.status).to.equal(404)
  })

  it('repeats notifications, concurrently if requested [OPS-18]', async () => {
    const { id } = await chargeQuietly()
    await control('POST', `/payments/${id}/notify`, { times: 5, at_once: true })
    expect(new Set(told.map(({ body }) => body.id))).to.have.property('size', 1)
    expect(told).to.have.length(5)
  })

  it('holds notifications, and sends them in the requested order [OPS-18]', async () => {
    await control('PUT', '/settings', { delivery: 'hold' })
    const ids: number[] = []
    for (let n = 0; n < 4; n++) ids.push((await charge()).id)
    expect(told).to.deep.equal([])
    await control('POST', '/notifications/release', { order: 'backward' })
    expect(told.map(({ body }) => Number(body.data.id))).to.deep.equal(ids.toReversed())
    expect((await control('POST', '/notifications/release', {})).body.notifications).to.deep.equal([])
  })

  it('loses notifications', async () => {
    await control('PUT', '/settings', { delivery: 'lose' })
    const { id } = await charge()
    expect((await control('POST', `/payments/${id}/approve`)).body.notification).to.equal(null)
    await sandbox.notifier.idle()
    expect(told).to.deep.equal([])
  })

  it('repeats notifications until they get a 2xx response', async () => {
    status = 503
    const { id } = await chargeQuietly()
    await control('POST', `/payments/${id}/approve`)
    status = 200
    expect((await control('POST', '/notifications/retry')).body.notifications).to.have.length(2)
    expect((await control('POST', '/notifications/retry')).body.notifications).to.deep.equal([])
    expect(told).to.have.length(3)
  })

  it('sends every kind of forged notification [OPS-18]', async () => {
    const { id } = await chargeQuietly()
    const forge = async (as: string, url?: string): Promise<Told> => {
      const { status } = await control('POST', `/payments/${id}/forge`, { as, url })
      expect(status).to.equal(200)
      return told.at(-1) as Told
    }
    expect(await forge('bad_signature')).to.include({ signed: false })
    expect(await forge('unsigned')).to.include({ signed: false })
    expect(await forge('other_order', `${receiverUrl}/elsewhere`)).to.include({ signed: true, path: '/elsewhere' })
    expect((await forge('other_mode')).body).to.include({ live_mode: true })
    expect((await forge('other_type')).body).to.include({ type: 'plan' })
    expect((await forge('unknown_payment')).body.data).to.deep.equal({ id: '1' })
    const cheap = (await forge('other_amount')).body.data.id
    expect((await api('GET', `/payments/${cheap}`)).body).to.include({
      status: 'approved',
      transaction_amount: 0.01,
      external_reference: 'order-17',
    })
    expect((await control('POST', `/payments/${id}/forge`, { as: 'other_order' })).status).to.equal(422)
    expect((await control('POST', `/payments/${id}/forge`, { as: 'what' })).status).to.equal(422)
  })

  it('signs with the given secret, or not at all', async () => {
    const { id } = await chargeQuietly()
    for (const secret of ['another', null, SECRET]) {
      await control('PUT', '/settings', { secret })
      await control('POST', `/payments/${id}/notify`, {})
    }
    expect(told.map(({ signed }) => signed)).to.deep.equal([false, false, true])
  })

  it('signs with the secret of each store, and with the common one for stores without one [OPS-18]', async () => {
    const told = async (store: string) => {
      const url = `https://tillbook.example/webhook/paymentprovider/${store}/1`
      const { id } = await chargeQuietly()
      const { headers } = sandbox.notifier.make(sandbox.book.get(String(id))!, { url })
      const signed = (secret: string) =>
        isSigned({ dataId: String(id), signature: headers['x-signature'], requestId: headers['x-request-id'] }, secret)
      return ['one', 'two', SECRET].filter(signed)
    }
    for (const store of ['one', 'two'])
      expect((await control('PUT', '/settings', { store, secret: store })).body.signs).to.equal(true)
    expect([await told('one'), await told('two'), await told('three')]).to.deep.equal([['one'], ['two'], [SECRET]])
    expect((await control('PUT', '/settings', { store: 'two', secret: null })).body.signs).to.equal(false)
    expect([await told('one'), await told('two')]).to.deep.equal([['one'], []])
  })

  it('simulates every kind of failure, and recovers [OPS-18]', async () => {
    const { id } = await chargeQuietly()
    const get = () => fetch(`${sandbox.url}/v1/payments/${id}`, { headers: { authorization: `Bearer ${TOKEN}` } })
    const fault = (mode: string, delay_ms?: number) => control('PUT', '/fault', { mode, delay_ms })
    await fault('down')
    expect(await get().catch(() => 'no answer')).to.equal('no answer')
    for (const [mode, status] of [
      ['error', 500],
      ['limited', 429],
      ['html', 200],
      ['wrong_types', 200],
    ] as const) {
      await fault(mode)
      expect((await get()).status, mode).to.equal(status)
    }
    await fault('huge')
    expect(await (await get()).text()).to.have.length.above(8_000_000)
    await fault('slow', 1)
    expect((await get()).status).to.equal(200)
    await fault('late', 60_000)
    const gone = new AbortController()
    const held = fetch(`${sandbox.url}/v1/payments/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: '{"status":"cancelled"}',
      signal: gone.signal,
    }).catch(() => 'no answer')
    await until(() => sandbox.book.get(String(id))?.status === 'cancelled')
    gone.abort()
    expect(await held).to.equal('no answer')
    await fault('none')
    expect(await (await get()).json()).to.include({ id })
    expect((await control('PUT', '/fault', { mode: 'strange' })).status).to.equal(422)
  })
})
