import { expect } from 'chai'
import { refusePayment, type StartPaymentInput, startPayment } from '#commands/order-attempts.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { inZone } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { paymentByKey } from '#projections/order-payments.ts'
import { orderById } from '#projections/orders.ts'
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
  storeCreated,
} from '../support/facts.ts'
import { given, minute } from '../support/given.ts'

const attempt = (n: number, rest: Partial<StartPaymentInput> = {}): StartPaymentInput => ({
  id: 1,
  attempt_id: attemptId(n),
  idempotency_key: null,
  payment_method_id: 'pix',
  ...rest,
})

const store = [companyRegistered(), storeCreated()]
const shop = [...store, orderPlaced()]
describe('start payment', () => {
  it('records the attempt with the order’s total and the current commission', async () => {
    const scenario = await given(...shop, event('StoreUpdated', { id: 1, changes: { commission_percentage: '8.00' } }))
    const decided = await scenario.when(startPayment, attempt(1, { payment_method_id: 'visa' }))
    decided.accepts('created', paymentStarted(1, { payment_method_id: 'visa', commission_percentage: '8.00' }))
    const rows = await scenario.rows(orderById(1))
    expect(rows.get(orderById(1))).to.include({ status: 'pending', attempted_at: minute(4) })
  })

  it('changes nothing when repeated, even after the order is paid', async () => {
    const scenario = await given(...store, ...orderPaid())
    const decided = await scenario.when(startPayment, attempt(1))
    decided.accepts('unchanged')
  })

  it('refuses to repeat an unanswered attempt once the order is paid or the store disabled', async () => {
    const [placed, ...paid] = orderPaid()
    const scenario = await given(...store, placed as NewEvent, paymentStarted(2), ...paid)
    const unheard = await scenario.when(startPayment, attempt(2))
    unheard.refuses('order_already_paid')
    const heard = await scenario.when(startPayment, attempt(1))
    heard.accepts('unchanged')
    const closed = await given(...shop, paymentStarted(1), event('StoreDisabled', { id: 1 }))
    const onClosed = await closed.when(startPayment, attempt(1))
    onClosed.refuses('validation_failed', {
      fields: { store_alias: ['a loja está desativada'] },
      unknown_fields: [],
    })
  })

  it('accepts another attempt while the order is unpaid [PAY-3]', async () => {
    const scenario = await given(
      ...shop,
      paymentStarted(1),
      paymentRecorded(1, { provider_status: 'rejected', status: 'failed' }),
      event('OrderFailed', ofPayment(1)),
    )
    const decided = await scenario.when(startPayment, attempt(2))
    decided.accepts('created', paymentStarted(2))
  })

  it('refuses an exclusive attempt while another is pending, but continues its own [PAY-40]', async () => {
    const alone = { only_if_none_waits: true }
    const scenario = await given(...shop, paymentStarted(1, { payment_method_id: 'bolbradesco' }))
    const fields = { payments: ['o pedido já tem um pagamento que espera'] }
    const beside = await scenario.when(startPayment, attempt(2, alone))
    beside.refuses('validation_failed', { fields, unknown_fields: [] })
    const same = await scenario.when(startPayment, attempt(1, alone))
    same.accepts('unchanged')
    await scenario.when(refusePayment, { id: 1, attempt_id: attemptId(1), reason: 'recusado' })
    const then = await scenario.when(startPayment, attempt(2, alone))
    then.accepts('created', paymentStarted(2))
  })

  it('restarts a refused attempt in place', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    const refused = await scenario.when(refusePayment, { id: 1, attempt_id: attemptId(1), reason: 'token' })
    refused.accepts('updated', event('PaymentRefused', { id: 1, attempt_id: attemptId(1), reason: 'token' }))
    const again = await scenario.when(startPayment, attempt(1))
    again.accepts('created', paymentStarted(1))
    const { payments, status } = (await scenario.show('order/1')) as { payments: object[]; status: string }
    expect(status).to.equal('pending')
    expect(payments).to.have.length(2)
    expect(payments[1]).to.include({ attempt_id: attemptId(1), status: 'pending', refusal: null })
  })

  it('refuses orders that are paid, refunded, missing, or of a disabled store [PAY-3, RCV-2]', async () => {
    const scenario = await given(...store, ...orderPaid())
    const onPaid = await scenario.when(startPayment, attempt(2))
    onPaid.refuses('order_already_paid')
    const missing = await scenario.when(startPayment, attempt(2, { id: 9 }))
    missing.refuses('not_found')
    const refunded = await given(
      ...store,
      ...orderPaid(),
      event('OrderRefunded', ofPayment(1)),
      event('CommissionReversed', ofPayment(1)),
    )
    const onRefunded = await refunded.when(startPayment, attempt(2))
    onRefunded.refuses('order_already_paid')
    const disabled = await (await given(...shop, event('StoreDisabled', { id: 1 }))).when(startPayment, attempt(1))
    disabled.refuses('validation_failed', {
      fields: { store_alias: ['a loja está desativada'] },
      unknown_fields: [],
    })
  })

  it('refuses the fifty-first attempt, and still repeats existing ones [PAY-3]', async () => {
    const attempts = Array.from({ length: 50 }, (_, n) => paymentStarted(n))
    const refused = event('PaymentRefused', { id: 1, attempt_id: attemptId(7), reason: 'token' })
    const scenario = await given(...shop, ...attempts, refused)
    const decided = await scenario.when(startPayment, attempt(50))
    decided.refuses('validation_failed', {
      fields: { payments: ['o pedido já tem 50 tentativas de pagamento'] },
      unknown_fields: [],
    })
    const again = await scenario.when(startPayment, attempt(7))
    again.accepts('created', paymentStarted(7))
  })
})

describe('start payment: an Idempotency-Key', () => {
  const withKey = (n: number, id = 1) => attempt(n, { id, idempotency_key: 'k' })
  const started = paymentStarted(1, { idempotency_key: 'k' })

  it('identifies one attempt across all orders', async () => {
    const scenario = await given(...shop, orderPlaced({ id: 2 }), started)
    for (const id of [1, 2]) {
      const decided = await scenario.when(startPayment, withKey(2, id))
      decided.refuses('idempotency_key_reuse')
    }
    const same = await scenario.when(startPayment, withKey(1))
    same.accepts('unchanged')
  })

  it('of another caller identifies another attempt [IDEM-5]', async () => {
    const scenario = await given(...shop, orderPlaced({ id: 2 }), started)
    const decided = await scenario.when(startPayment, { ...withKey(2, 2), caller: 'api_key/1' })
    decided.accepts('created', paymentStarted(2, { id: 2, idempotency_key: 'k' }))
    const repeated = await scenario.when(startPayment, { ...withKey(3), caller: 'api_key/1' })
    repeated.refuses('idempotency_key_reuse')
  })

  it('can be reused after its attempt was refused [PAY-4]', async () => {
    const refused = event('PaymentRefused', { id: 1, attempt_id: attemptId(1), reason: 'token' })
    const scenario = await given(...shop, orderPlaced({ id: 2 }), started, refused)
    const decided = await scenario.when(startPayment, withKey(2, 2))
    decided.accepts('created', paymentStarted(2, { id: 2, idempotency_key: 'k' }))
    const rows = await scenario.rows(paymentByKey('api_key/1', 'k'))
    expect(rows.get(paymentByKey('api_key/1', 'k'))).to.include({ order_id: 2, attempt_id: attemptId(2) })
  })

  it('can be reused after a day, like every key', async () => {
    const day = Array.from({ length: 24 * 60 - 2 }, () => event('StoreEnabled', { id: 1 }))
    const scenario = await given(...shop, started, ...day)
    const early = await scenario.when(startPayment, withKey(2))
    early.refuses('idempotency_key_reuse')
    const later = await given(...shop, started, ...day, event('StoreEnabled', { id: 1 }))
    const decided = await later.when(startPayment, withKey(2))
    decided.accepts('created', paymentStarted(2, { idempotency_key: 'k' }))
  })
})

describe('refuse payment', () => {
  const refusal = { id: 1, attempt_id: attemptId(1), reason: 'token' }

  it('changes nothing when repeated, or after the provider reported a payment', async () => {
    const known = await given(...shop, paymentStarted(1), event('PaymentRefused', refusal))
    const again = await known.when(refusePayment, { ...refusal, reason: 'other' })
    again.accepts('unchanged')
    const adopted = await (await given(...shop, paymentStarted(1), paymentRecorded(1))).when(refusePayment, refusal)
    adopted.accepts('unchanged')
  })

  it('refuses an attempt of another order', async () => {
    const decided = await (await given(...shop)).when(refusePayment, refusal)
    decided.refuses('not_found')
  })
})

const told = (n: number, provider_status: string, rest: Partial<RecordPaymentInput> = {}): RecordPaymentInput => ({
  id: 1,
  attempt_id: attemptId(n),
  provider_payment_id: `p${n}`,
  provider_status,
  status_detail: null,
  live_mode: false,
  ...rest,
})
const refunded = { provider_status: 'refunded', status: 'refunded' } as const

describe('record payment', () => {
  it('pays the order with the first approved payment and splits the commission of its attempt [ORDER-7]', async () => {
    const scenario = await given(
      ...shop,
      paymentStarted(1, { commission_percentage: '3.33' }),
      event('StoreUpdated', { id: 1, changes: { commission_percentage: '50.00' } }),
    )
    const decided = await scenario.when(recordPayment, told(1, 'approved', { status_detail: 'accredited' }))
    decided.accepts(
      'updated',
      paymentRecorded(1, { ...approved, status_detail: 'accredited', commission_percentage: '3.33' }),
      event('CommissionSplit', { ...ofPayment(1), percentage: '3.33', amount: '3.33', store_amount: '96.67' }),
      event('OrderPaid', ofPayment(1)),
    )
    const order = await scenario.show('order/1')
    expect(order).to.deep.include({
      status: 'paid',
      released_at: inZone(minute(7), 'America/Sao_Paulo'),
      refunded_at: null,
      commission: { percentage: '3.33', amount: '3.33', store_amount: '96.67', refunded: '0.00', reversed_at: null },
    })
  })

  it('follows a failed or cancelled payment, and a later paid one [ORDER-5]', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    const rejected = { provider_status: 'rejected', status: 'failed' } as const
    const first = await scenario.when(recordPayment, told(1, 'rejected'))
    first.accepts('updated', paymentRecorded(1, rejected), event('OrderFailed', ofPayment(1)))
    const second = await scenario.when(recordPayment, told(2, 'approved'))
    second.accepts('updated', paymentRecorded(2, approved), commissionSplit(2), event('OrderPaid', ofPayment(2)))
  })

  it('an order is pending while a payment is, then has the last outcome [ORDER-5]', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    await scenario.when(recordPayment, told(1, 'rejected'))
    const pending = await scenario.when(recordPayment, told(2, 'in_process'))
    pending.accepts(
      'updated',
      paymentRecorded(2, { provider_status: 'in_process' }),
      event('OrderPending', ofPayment(2)),
    )
    expect(await scenario.show('order/1')).to.include({ status: 'pending' })
    const cancelled = { provider_status: 'cancelled', status: 'cancelled' } as const
    const last = await scenario.when(recordPayment, told(2, 'cancelled'))
    last.accepts('updated', paymentRecorded(2, cancelled), event('OrderCancelled', ofPayment(2)))
  })

  for (const status of ['pending', 'rejected', 'cancelled'])
    it(`keeps a paid order paid despite a late ${status} of another attempt [ORDER-5]`, async () => {
      const scenario = await given(...store, ...orderPaid(), paymentStarted(2))
      await scenario.when(recordPayment, told(2, status))
      expect(await scenario.show('order/1')).to.include({ status: 'paid' })
    })

  it('is pending for a pending attempt after a refund, and refuses a new one [ORDER-5, PAY-3]', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    await scenario.when(recordPayment, told(2, 'pending'))
    await scenario.when(recordPayment, told(1, 'approved'))
    const refund = await scenario.when(recordPayment, told(1, 'refunded'))
    refund.accepts(
      'updated',
      paymentRecorded(1, refunded),
      event('CommissionReversed', ofPayment(1)),
      event('OrderPending', ofPayment(1)),
    )
    const attempt = { id: 1, attempt_id: attemptId(3), idempotency_key: null, payment_method_id: 'pix' }
    const third = await scenario.when(startPayment, attempt)
    third.refuses('order_already_paid')
    await scenario.when(recordPayment, told(2, 'rejected'))
    expect(await scenario.show('order/1')).to.include({ status: 'refunded' })
  })

  for (const status of ['approved', 'pending', 'in_process', 'rejected', 'cancelled', 'teletransported'])
    it(`changes nothing for the known, earlier or unknown state ${status} of a paid order [ORDER-4]`, async () => {
      const scenario = await given(...store, ...orderPaid())
      const decided = await scenario.when(recordPayment, told(1, status))
      decided.accepts('unchanged')
    })

  it('refunds an order with a chargeback, whose earlier states change nothing [ORDER-4]', async () => {
    const scenario = await given(...store, ...orderPaid())
    const refund = await scenario.when(recordPayment, told(1, 'charged_back'))
    refund.accepts(
      'updated',
      paymentRecorded(1, { ...refunded, provider_status: 'charged_back', dispute: 'open' }),
      event('CommissionReversed', ofPayment(1)),
      event('OrderRefunded', ofPayment(1)),
    )
    for (const status of ['approved', 'charged_back', 'pending']) {
      const decided = await scenario.when(recordPayment, told(1, status))
      decided.accepts('unchanged')
    }
  })

  it('raises an alarm for a second approved payment, whose refund does not refund the order [ORDER-6]', async () => {
    const scenario = await given(...store, ...orderPaid(), paymentStarted(2))
    const second = await scenario.when(recordPayment, told(2, 'approved'))
    second.accepts(
      'updated',
      paymentRecorded(2, approved),
      event('OrderAlarmRaised', { ...ofPayment(2), code: 'second_payment' }),
    )
    const refund = await scenario.when(recordPayment, told(2, 'refunded'))
    refund.accepts(
      'updated',
      paymentRecorded(2, refunded),
      event('OrderPartiallyRefunded', { ...ofPayment(2), refunded: '100.00' }),
    )
    expect(await scenario.show('order/1')).to.include({ status: 'paid' })
  })

  it('carries a paid order over to another paid payment when the first is refunded [ORDER-5, ORDER-6]', async () => {
    const scenario = await given(...store, ...orderPaid(), paymentStarted(2, { commission_percentage: '10.00' }))
    await scenario.when(recordPayment, told(2, 'approved'))
    const refund = await scenario.when(recordPayment, told(1, 'refunded'))
    refund.accepts(
      'updated',
      paymentRecorded(1, refunded),
      event('CommissionReversed', ofPayment(1)),
      event('CommissionSplit', { ...ofPayment(2), percentage: '10.00', amount: '10.00', store_amount: '90.00' }),
      event('OrderPartiallyRefunded', { ...ofPayment(1), refunded: '100.00' }),
    )
    const order = (await scenario.show('order/1')) as { payment: object }
    expect(order).to.deep.include({ status: 'paid', refunded_at: null })
    expect(order.payment).to.include({ provider_payment_id: 'p2' })
    const last = await scenario.when(recordPayment, told(2, 'refunded'))
    last.accepts(
      'updated',
      paymentRecorded(2, { ...refunded, commission_percentage: '10.00' }),
      event('CommissionReversed', ofPayment(2)),
      event('OrderRefunded', ofPayment(2)),
    )
  })

  it('records partial refunds, and raises no alarm for a won dispute [ORDER-11, ORDER-14]', async () => {
    const scenario = await given(...store, ...orderPaid())
    const part = await scenario.when(recordPayment, told(1, 'approved', { refunded: '30.00' }))
    part.accepts(
      'updated',
      paymentRecorded(1, { ...approved, refunded: '30.00' }),
      event('OrderPartiallyRefunded', { ...ofPayment(1), refunded: '30.00' }),
    )
    const less = await scenario.when(recordPayment, told(1, 'approved', { refunded: '10.00' }))
    less.accepts('unchanged')
    const mediated = await scenario.when(recordPayment, told(1, 'in_mediation', { refunded: '30.00' }))
    const disputed = { provider_status: 'in_mediation', status: 'paid', refunded: '30.00', dispute: 'open' } as const
    mediated.accepts('updated', paymentRecorded(1, disputed))
    await scenario.when(recordPayment, told(1, 'charged_back', { refunded: '30.00' }))
    expect(await scenario.show('order/1')).to.deep.include({ status: 'refunded', refunded_total: '100.00' })
    const won = await scenario.when(
      recordPayment,
      told(1, 'charged_back', { status_detail: 'reimbursed', refunded: '30.00' }),
    )
    won.accepts(
      'updated',
      paymentRecorded(1, {
        provider_status: 'charged_back',
        status_detail: 'reimbursed',
        status: 'paid',
        refunded: '30.00',
        dispute: 'won',
      }),
      commissionSplit(1),
      event('OrderPaid', ofPayment(1)),
    )
    expect(await scenario.show('order/1')).to.deep.include({ status: 'paid', refunded_total: '30.00', alarms: [] })
  })

  it('refunds an order with an unseen approval, without a commission', async () => {
    const scenario = await given(...shop, paymentStarted(1))
    const refund = await scenario.when(recordPayment, told(1, 'refunded'))
    refund.accepts('updated', paymentRecorded(1, refunded), event('OrderRefunded', ofPayment(1)))
    expect(await scenario.show('order/1')).to.deep.include({ status: 'refunded', commission: null, released_at: null })
  })

  it('accepts a payment after a refund, and raises an alarm [ORDER-6]', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    await scenario.when(recordPayment, told(1, 'approved'))
    await scenario.when(recordPayment, told(1, 'refunded'))
    const late = await scenario.when(recordPayment, told(2, 'approved'))
    late.accepts(
      'updated',
      paymentRecorded(2, approved),
      event('OrderAlarmRaised', { ...ofPayment(2), code: 'paid_after_refund' }),
      commissionSplit(2),
      event('OrderPaid', ofPayment(2)),
    )
    expect(await scenario.show('order/1')).to.deep.include({ status: 'paid', refunded_at: null })
  })

  it('refuses a missing order', async () => {
    const scenario = await given(companyRegistered())
    const decided = await scenario.when(recordPayment, told(1, 'approved'))
    decided.refuses('not_found')
  })
})

describe('record payment: attempt of the payment', () => {
  it('is the only pending one if the payment names none', async () => {
    const scenario = await given(...shop, paymentStarted(1))
    const decided = await scenario.when(recordPayment, told(1, 'pending', { attempt_id: null }))
    decided.accepts('updated', paymentRecorded(1))
  })

  it('is unknown while several are pending, until the provider’s response names it', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentStarted(2))
    const unnamed = await scenario.when(recordPayment, told(1, 'approved', { attempt_id: null }))
    unnamed.accepts(
      'updated',
      paymentRecorded(1, { ...approved, attempt_id: null }),
      commissionSplit(1),
      event('OrderPaid', ofPayment(1)),
    )
    const named = await scenario.when(recordPayment, told(1, 'pending'))
    named.accepts('updated', paymentRecorded(1, approved))
    const { payments } = (await scenario.show('order/1')) as { payments: object[] }
    expect(payments).to.have.length(2)
    expect(payments[0]).to.include({ attempt_id: attemptId(1), provider_payment_id: 'p1', status: 'paid' })
    expect(payments[1]).to.include({ attempt_id: attemptId(2), provider_payment_id: null, status: 'pending' })
  })

  it('is absent for an unknown payment, which gets the commission of the store', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordPayment, told(9, 'approved'))
    decided.accepts(
      'updated',
      paymentRecorded(9, { ...approved, attempt_id: null }),
      commissionSplit(9),
      event('OrderPaid', ofPayment(9)),
    )
  })

  it('is never one with another payment', async () => {
    const scenario = await given(...shop, paymentStarted(1), paymentRecorded(1))
    const decided = await scenario.when(recordPayment, told(1, 'pending', { provider_payment_id: 'p2' }))
    decided.accepts('updated', paymentRecorded(2, { attempt_id: null }))
  })
})
