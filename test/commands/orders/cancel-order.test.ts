import { expect } from 'chai'
import { startPayment } from '#commands/order-attempts.ts'
import { cancelOrder } from '#commands/order-commands.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { inZone } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
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
} from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

const store = [companyRegistered(), storeCreated()]
const waiting = [...store, orderPlaced(), paymentStarted(1), paymentRecorded(1)]

const told = (provider_status: string): RecordPaymentInput => ({
  id: 1,
  attempt_id: attemptId(1),
  provider_payment_id: 'p1',
  provider_status,
  status_detail: null,
  live_mode: false,
})

describe('cancel order', () => {
  it('cancels an unpaid order with its reason, once [ORDER-9]', async () => {
    const scenario = await given(...waiting)
    const decided = await scenario.when(cancelOrder, { id: 1, reason: 'Desistência' })
    decided.accepts('updated', event('OrderCancelledByStore', { id: 1, reason: 'Desistência' }))
    expect(await scenario.show('order/1')).to.include({
      status: 'cancelled',
      cancelled_at: inZone(minute(5), 'America/Sao_Paulo'),
      cancel_reason: 'Desistência',
    })
    const again = await scenario.when(cancelOrder, { id: 1, reason: 'outra' })
    again.accepts('unchanged')
  })

  for (const status of ['rejected', 'cancelled'])
    it(`cancels an order with a payment that the provider calls ${status} [ORDER-9]`, async () => {
      const scenario = await given(...waiting)
      await scenario.when(recordPayment, told(status))
      const decided = await scenario.when(cancelOrder, { id: 1 })
      decided.accepts('updated', event('OrderCancelledByStore', { id: 1, reason: null }))
    })

  it('refuses a paid or refunded order [ORDER-9]', async () => {
    const scenario = await given(...store, ...orderPaid())
    const paid = await scenario.when(cancelOrder, { id: 1 })
    paid.refuses('order_already_paid')
    await scenario.when(recordPayment, told('refunded'))
    const refunded = await scenario.when(cancelOrder, { id: 1 })
    refunded.refuses('order_already_paid')
    const missing = await scenario.when(cancelOrder, { id: 9 })
    missing.refuses('not_found')
  })

  it('refuses further attempts, and the repetition of one without an answer [ORDER-9]', async () => {
    const scenario = await given(...store, orderPlaced(), paymentStarted(1))
    await scenario.when(cancelOrder, { id: 1 })
    for (const n of [1, 2]) {
      const attempt = { id: 1, attempt_id: attemptId(n), idempotency_key: null, payment_method_id: 'pix' }
      const decided = await scenario.when(startPayment, attempt)
      const fields = { status: ['o pedido está cancelado'] }
      decided.refuses('validation_failed', { fields, unknown_fields: [] })
    }
  })

  it('stays cancelled unless an attempt is approved, which raises an alarm [ORDER-6, ORDER-9]', async () => {
    const scenario = await given(...waiting)
    await scenario.when(cancelOrder, { id: 1 })
    const failed = await scenario.when(recordPayment, told('rejected'))
    failed.accepts('updated', paymentRecorded(1, { provider_status: 'rejected', status: 'failed' }))
    const late = await scenario.when(recordPayment, told('approved'))
    late.accepts(
      'updated',
      paymentRecorded(1, approved),
      event('OrderAlarmRaised', { ...ofPayment(1), code: 'paid_after_cancellation' }),
      commissionSplit(1),
      event('OrderPaid', ofPayment(1)),
    )
    expect(await scenario.show('order/1'))
      .to.include({ status: 'paid' })
      .and.not.to.include({ cancelled_at: null })
    await scenario.when(recordPayment, told('refunded'))
    expect(await scenario.show('order/1')).to.include({ status: 'refunded' })
  })
})
