import { expect } from 'chai'
import { refusePayment, type StartPaymentInput, startPayment } from '#commands/order-attempts.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import { paymentByKey } from '#projections/order-payments.ts'
import { orderById } from '#projections/orders.ts'
import {
  attemptId,
  companyRegistered,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  storeCreated,
} from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

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

  it('accepts another attempt while the order is unpaid [PAY-2]', async () => {
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

  it('refuses orders that are paid, refunded, missing, or of a disabled store [PAY-2, STORE-3]', async () => {
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

  it('refuses the fifty-first attempt, and still repeats existing ones [PAY-2]', async () => {
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
