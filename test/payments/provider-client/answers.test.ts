import type { ServerResponse } from 'node:http'
import { expect } from 'chai'
import { ProviderUnavailable } from '#payments/provider-port.ts'
import { ACCESS_TOKEN, account, failure, json, newPayment, shown, useProvider } from './provider.ts'

describe('payment provider client: responses', () => {
  const provider = useProvider()

  it('calls the configured URL and path, with credentials and idempotency key', async () => {
    provider.answer = json(201, shown())
    const port = provider.port()
    await provider.clientOf({ baseUrl: `http://127.0.0.1:${port}/mirror` }).createPayment(account, newPayment())
    const [call] = provider.calls
    expect(call).to.include({ method: 'POST', url: '/mirror/v1/payments' })
    expect(call?.headers).to.include({
      host: `127.0.0.1:${port}`,
      authorization: `Bearer ${ACCESS_TOKEN}`,
      'x-idempotency-key': newPayment().attemptId,
    })
  })

  for (const [text, cents] of [
    [46.3, 4630],
    [0.29, 29],
    [1.1, 110],
    [1005, 100_500],
    [9_999_999_999.99, 999_999_999_999],
    [8_000_000.07, 800_000_007],
  ] as const) {
    it(`parses ${text} as ${cents} cents`, async () => {
      provider.answer = json(200, shown({ transaction_amount: text }))
      expect(await provider.clientOf().getPayment(account, '1')).to.include({ amountCents: cents })
    })
  }

  const PIX = 'E00038166202611281559y6j6mt9l0pi'
  for (const [place, told, expected] of [
    ['the Pix', { point_of_interaction: { transaction_data: { e2e_id: PIX, transaction_id: null } } }, PIX],
    [
      'the Pix, with other letters',
      { point_of_interaction: { transaction_data: { transaction_id: `PIX${PIX}` } } },
      PIX,
    ],
    ['the details', { transaction_details: { transaction_id: PIX, bank_transfer_id: 5 } }, PIX],
    [
      'no place',
      { transaction_details: { transaction_id: '123' }, point_of_interaction: { transaction_data: 7 } },
      undefined,
    ],
  ] as const)
    it(`reads the end-to-end id of a Pix from ${place} [SALE-910]`, async () => {
      provider.answer = json(200, shown(told))
      const payment = await provider.clientOf().getPayment(account, '1')
      expect(payment?.details.end_to_end_id).to.equal(expected)
    })

  for (const [name, begin] of [
    ['100 Continue', (response) => response.writeContinue()],
    [
      '100 twice and 102',
      (response) => {
        response.writeContinue()
        response.writeContinue()
        response.writeProcessing()
      },
    ],
    ['103 Early Hints', (response) => response.writeEarlyHints({ link: '</a>; rel=preload' })],
  ] as const satisfies [string, (response: ServerResponse) => void][]) {
    it(`passes over ${name} before an answer: one call [PAY-7]`, async () => {
      provider.answer = (request, response) => {
        begin(response)
        json(201, shown())(request, response)
      }
      expect(await provider.clientOf().createPayment(account, newPayment())).to.include({ id: '1300555' })
      expect(provider.calls).to.have.length(1)
    })
  }

  it('counts 101 as unavailable [PAY-7]', async () => {
    provider.answer = (request) =>
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n')
    expect(await failure(provider.clientOf().createPayment(account, newPayment()))).to.be.instanceOf(
      ProviderUnavailable,
    )
    expect(provider.calls).to.have.length(1)
  })

  it('parses ids and references from numbers or texts', async () => {
    provider.answer = json(200, shown({ id: '1300555', external_reference: 17, metadata: null, status_detail: null }))
    expect(await provider.clientOf().getPayment(account, '1')).to.include({
      id: '1300555',
      externalReference: '17',
      attemptId: null,
      statusDetail: null,
    })
    provider.answer = json(200, shown({ external_reference: null }))
    expect(await provider.clientOf().getPayment(account, '1')).to.include({ externalReference: null })
  })

  it('assumes the account’s mode for a payment without one', async () => {
    provider.answer = json(200, shown({ live_mode: undefined }))
    for (const sandbox of [true, false])
      expect(await provider.clientOf().getPayment({ ...account, sandbox }, '1')).to.include({ liveMode: !sandbox })
  })

  it('assumes amount and reference of the request for a new payment without them', async () => {
    provider.answer = json(201, { id: 1300555, status: 'approved' })
    expect(await provider.clientOf().createPayment(account, newPayment())).to.deep.equal({
      id: '1300555',
      status: 'approved',
      statusDetail: null,
      externalReference: 'order-17',
      attemptId: null,
      amountCents: 4630,
      liveMode: false,
      refundedCents: 0,
      refunds: [],
      expiresAt: null,
      changedAt: null,
      details: {},
    })
    provider.answer = json(201, shown({ external_reference: 'order-18', transaction_amount: 1 }))
    expect(await provider.clientOf().createPayment(account, newPayment())).to.include({
      externalReference: 'order-18',
      amountCents: 100,
    })
  })

  it('returns no amount for a payment in another currency', async () => {
    for (const [currency_id, amountCents] of [
      ['BRL', 4630],
      ['ARS', null],
    ] as const) {
      provider.answer = json(200, shown({ currency_id }))
      expect(await provider.clientOf().getPayment(account, '1')).to.include({ amountCents })
    }
  })

  it('finds the payments of an order among unreadable results', async () => {
    provider.answer = json(200, { results: [{ id: null, external_reference: 'order-18' }, {}, shown()] })
    expect(await provider.clientOf().findPayments(account, 'order-17')).to.have.length(1)
    provider.answer = json(200, { results: [shown({ id: null })] })
    expect(await failure(provider.clientOf().findPayments(account, 'order-17'))).to.be.instanceOf(ProviderUnavailable)
  })
})
