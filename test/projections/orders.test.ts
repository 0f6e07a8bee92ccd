import { expect } from 'chai'
import { acknowledgeAlarm } from '#commands/order-commands.ts'
import { inZone } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { nsuKey, paymentProofByKey, pixKey, toPaymentProof } from '#projections/cash-takings.ts'
import { paymentByKey } from '#projections/order-payments.ts'
import { type OrderObject, orderByExternalId, orderById } from '#projections/orders.ts'
import {
  approved,
  attemptId,
  commissionSplit,
  companyRegistered,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  saleCompleted,
  storeCreated,
} from '../support/facts.ts'
import { by, COMPANY_ID, given, minute } from '../support/given.ts'

const shop = [companyRegistered(), storeCreated(), orderPlaced({ external_id: 'a' })]
const local = (n: number) => inZone(minute(n), 'America/Sao_Paulo')

async function orderAfter(...events: readonly NewEvent[]): Promise<OrderObject> {
  return (await (await given(...shop, ...events)).show('order/1')) as OrderObject
}

describe('orders read model', () => {
  it('stores an order under its id and external id, with times in the company’s zone', async () => {
    const rows = await (await given(...shop)).rows(orderById(1), orderByExternalId('a'))
    const row = rows.get(orderById(1))
    expect(rows.get(orderByExternalId('a'))).to.equal(row)
    expect(row).to.include({
      status: 'pending',
      store_id: 1,
      total_cents: 10_000,
      carrying_payment_id: null,
      attempted_at: null,
    })
    expect(row?.doc).to.include({ created_at: local(2), updated_at: local(2), released_at: null, refunded_at: null })
  })

  it('shows an attempt from its start, and replaces it by the provider’s payment', async () => {
    const started = await orderAfter(paymentStarted(1))
    expect(started.payments).to.deep.equal([
      {
        attempt_id: attemptId(1),
        method: 'pix',
        provider_payment_id: null,
        provider_status: null,
        provider_status_detail: null,
        status: 'pending',
        status_detail: null,
        payment_method_id: 'pix',
        amount: '100.00',
        refunded: '0.00',
        dispute: null,
        commission_percentage: '5.00',
        expires_at: null,
        pix: null,
        boleto: null,
        card: null,
        live_mode: null,
        provider_updated_at: null,
        refusal: null,
        started_at: local(3),
        updated_at: local(3),
      },
    ])
    const { payment, payments } = await orderAfter(
      paymentStarted(1),
      paymentRecorded(1, { ...approved, status_detail: 'accredited' }),
    )
    expect(payments).to.deep.equal([payment])
    expect(payment).to.deep.equal({
      ...started.payment,
      provider_payment_id: 'p1',
      provider_status: 'approved',
      provider_status_detail: 'accredited',
      status: 'paid',
      status_detail: 'Pagamento aprovado.',
      live_mode: false,
      updated_at: local(4),
    })
  })

  it('shows payment details while the payment is pending, in the company’s zone', async () => {
    const slip = { barcode: '2379', digitable_line: '2379 3', ticket_url: null }
    const boleto = [
      paymentStarted(1, { payment_method_id: 'bolbradesco', expires_at: '2026-03-14T01:30:00.000Z' }),
      paymentRecorded(1, { boleto: slip }),
    ]
    expect((await orderAfter(...boleto)).payment).to.deep.include({
      method: 'boleto',
      expires_at: '2026-03-13T22:30:00.000-03:00',
      boleto: { ...slip, due_on: '2026-03-13' },
    })
    expect((await orderAfter(...boleto, paymentRecorded(1, approved))).payment).to.include({ boleto: null })
    const card = paymentStarted(1, { payment_method_id: 'visa', installments: 3 })
    const known = { last_four: '5682', installments: 3 }
    expect((await orderAfter(card, paymentRecorded(1, { ...approved, card: known }))).payment).to.deep.include({
      card: { ...known, brand: 'visa' },
    })
  })

  it('records release, refund and commission of an order [ORDER-5, ORDER-7]', async () => {
    const [, ...paid] = orderPaid()
    const split = { percentage: '5.00', amount: '5.00', store_amount: '95.00' }
    expect(await orderAfter(...paid)).to.deep.include({
      status: 'paid',
      released_at: local(5),
      refunded_at: null,
      commission: { ...split, refunded: '0.00', reversed_at: null },
      updated_at: local(6),
    })
    const refund = [
      paymentRecorded(1, { provider_status: 'refunded', status: 'refunded' }),
      event('OrderRefunded', ofPayment(1)),
      event('CommissionReversed', ofPayment(1)),
    ]
    expect(await orderAfter(...paid, ...refund)).to.deep.include({
      status: 'refunded',
      released_at: local(5),
      refunded_at: local(8),
      commission: { ...split, refunded: '5.00', reversed_at: local(9) },
      refunded_total: '100.00',
      partially_refunded: false,
    })
  })

  it('shows the payment that paid the order or was refunded, not a later one', async () => {
    const paid = [paymentStarted(1), paymentStarted(2), paymentRecorded(1, approved), commissionSplit(1)]
    const late = paymentRecorded(2, { provider_status: 'rejected', status: 'failed' })
    expect((await orderAfter(...paid, event('OrderPaid', ofPayment(1)), late)).payment).to.include({
      provider_payment_id: 'p1',
      status: 'paid',
    })
    const refunded = [
      paymentRecorded(1, { provider_status: 'refunded', status: 'refunded' }),
      event('OrderRefunded', ofPayment(1)),
    ]
    expect((await orderAfter(...paid, ...refunded, late)).payment).to.include({ provider_payment_id: 'p1' })
    expect((await orderAfter(paymentStarted(1), paymentStarted(2))).payment).to.include({ attempt_id: attemptId(2) })
  })

  it('shows refunds of a payment, and of its commission, to the cent [ORDER-11]', async () => {
    const [, ...paid] = orderPaid()
    for (const [refunded, commission] of [
      ['0.10', '0.00'],
      ['0.11', '0.01'],
      ['33.33', '1.67'],
      ['99.99', '5.00'],
    ] as const)
      expect(await orderAfter(...paid, paymentRecorded(1, { ...approved, refunded })), refunded).to.deep.include({
        status: 'paid',
        refunded_total: refunded,
        partially_refunded: true,
        commission: {
          percentage: '5.00',
          amount: '5.00',
          store_amount: '95.00',
          refunded: commission,
          reversed_at: null,
        },
      })
  })

  it('shows what the shop keeps: paid, less refunds, less the commission that was kept [FIG-801]', async () => {
    const [, ...paid] = orderPaid()
    expect((await orderAfter()).store_net).to.equal(null)
    expect((await orderAfter(...paid)).store_net).to.equal('95.00')
    for (const [refunded, net] of [
      ['0.10', '94.90'],
      ['33.33', '63.34'],
      ['99.99', '0.01'],
    ] as const)
      expect((await orderAfter(...paid, paymentRecorded(1, { ...approved, refunded }))).store_net, refunded).to.equal(
        net,
      )
    const back = [
      paymentRecorded(1, { provider_status: 'refunded', status: 'refunded' }),
      event('OrderRefunded', ofPayment(1)),
      event('CommissionReversed', ofPayment(1)),
    ]
    expect((await orderAfter(...paid, ...back)).store_net).to.equal('0.00')
  })

  it('shows the latest dispute, and since when it has its status [ORDER-14]', async () => {
    const [, ...paid] = orderPaid()
    const open = paymentRecorded(1, { ...approved, dispute: 'open' })
    const { dispute, payment } = await orderAfter(...paid, open, open)
    expect([dispute, payment?.dispute]).to.deep.equal(Array(2).fill({ status: 'open', since: local(7) }))
    expect(
      (await orderAfter(...paid, open, paymentRecorded(1, { ...approved, dispute: 'won' }))).dispute,
    ).to.deep.equal({
      status: 'won',
      since: local(8),
    })
  })

  it('lists alarms in order, with their acknowledgements', async () => {
    const scenario = await given(
      ...shop,
      event('OrderAlarmRaised', { ...ofPayment(2), code: 'second_payment' }),
      event('OrderAlarmRaised', { ...ofPayment(3), code: 'paid_after_refund' }),
      by('user/1', event('OrderAlarmAcknowledged', ofPayment(2))),
    )
    const seen = { acknowledged_at: local(5), acknowledged_by: 'user/1' }
    const unseen = { acknowledged_at: null, acknowledged_by: null }
    const open = () => scenario.rows(orderById(1)).then((rows) => rows.get(orderById(1)))
    expect((await open())?.doc.alarms).to.deep.equal([
      { code: 'second_payment', provider_payment_id: 'p2', raised_at: local(3), ...seen },
      { code: 'paid_after_refund', provider_payment_id: 'p3', raised_at: local(4), ...unseen },
    ])
    expect(await open()).to.include({ has_open_alarm: true })
    await scenario.when(acknowledgeAlarm, { id: 1, provider_payment_id: 'p3' })
    expect(await open()).to.include({ has_open_alarm: false })
  })

  it('maps a key to its latest attempt', async () => {
    const scenario = await given(
      ...shop,
      orderPlaced({ id: 2 }),
      paymentStarted(1, { idempotency_key: 'k' }),
      paymentStarted(2, { id: 2, idempotency_key: 'k' }),
    )
    const ref = paymentByKey(null, 'k')
    expect((await scenario.rows(ref)).get(ref)).to.deep.equal({
      company_id: COMPANY_ID,
      caller: '',
      idempotency_key: 'k',
      order_id: 2,
      attempt_id: attemptId(2),
      started_at: minute(5),
    })
  })
})

const paid = { payment_type_id: 1, name: 'Pix', amount: '10.00', surcharge: '0.00', net: '10.00' }
const card = {
  brand: null,
  nsu: '007',
  authorization: 'A1',
  installments: null,
  acquirer_cnpj: null,
  integrated: null,
}

describe('payment proofs projection', () => {
  it('names the sales of a Pix, a card transaction and an NSU, each once [SALE-785]', async () => {
    const payments = [{ ...paid, end_to_end_id: 'E1a' }, { ...paid, card }, { ...paid, card }, paid]
    const scenario = await given(companyRegistered(), saleCompleted({ id: 8, payments }))
    const keys = [pixKey('e1A'), toPaymentProof({ card }) ?? '', nsuKey('7')]
    const refs = keys.map(paymentProofByKey)
    const rows = await scenario.rows(...refs)
    expect(refs.map((ref) => rows.get(ref))).to.deep.equal(
      keys.map((key) => ({ company_id: COMPANY_ID, key, sale_ids: [8] })),
    )
  })

  it('keeps the first ten and the last ten sales [SALE-785]', async () => {
    const sales = Array.from({ length: 25 }, (_, n) =>
      saleCompleted({ id: n + 1, payments: [{ ...paid, end_to_end_id: 'E1' }] }),
    )
    const ref = paymentProofByKey(pixKey('E1'))
    const rows = await (await given(companyRegistered(), ...sales)).rows(ref)
    const [first, last] = [
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
      [16, 17, 18, 19, 20, 21, 22, 23, 24, 25],
    ]
    expect(rows.get(ref)?.sale_ids).to.deep.equal([...first, ...last])
  })
})
