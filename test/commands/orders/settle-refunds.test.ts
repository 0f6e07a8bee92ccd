import { expect } from 'chai'
import { refuseRefund, requestRefund } from '#commands/order-attempts.ts'
import { recordPayment } from '#commands/order-payment-command.ts'
import { acceptRefund, settleRefund } from '#commands/order-settlement.ts'
import { event } from '#events/catalogue.ts'
import type { OrderObject } from '#projections/orders.ts'
import {
  attemptId,
  companyRegistered,
  itemCreated,
  ofPayment,
  orderPaid,
  orderPlaced,
  storeCreated,
} from '../../support/facts.ts'
import { given } from '../../support/given.ts'

const line = { catalog_item_id: 1, external_id: null, description: 'Café', quantity: '2.000', unit_price: '50.00' }
const [, ...then] = orderPaid()
const shop = [
  companyRegistered(),
  storeCreated(),
  itemCreated({ id: 1, stock: '5.000' }),
  orderPlaced({ items: [{ ...line, total: '100.00' }] }),
  ...then,
]
const goods = [{ catalog_item_id: 1, quantity: '2.000' }]
const requested = (n: number, amount = '30.00', restock: typeof goods = []) =>
  event('OrderRefundRequested', { ...ofPayment(1), refund_id: attemptId(n), idempotency_key: `k${n}`, amount, restock })
const prepared = (n: number, listed: string[] = []) =>
  event('OrderRefundPrepared', { id: 1, refund_id: attemptId(n), listed })
const refused = (n: number, reason = '2063') => event('OrderRefundRefused', { id: 1, refund_id: attemptId(n), reason })
const taken = (n: number, provider_refund_id: string) =>
  event('OrderRefundAccepted', { id: 1, refund_id: attemptId(n), provider_refund_id })
const done = (n: number, provider_refund_id: string) =>
  event('OrderRefundCompleted', { id: 1, refund_id: attemptId(n), provider_refund_id })
const alarm = event('OrderAlarmRaised', { ...ofPayment(1), code: 'refund_after_refusal' })
const stock = (before: string, after: string) =>
  event('StockAdjusted', { id: 1, reason: 'return', before, after, order_id: 1 })
const at = (id: string, status: 'pending' | 'completed' | 'refused' = 'pending', amount = '30.00') => ({
  id,
  amount,
  status,
})
const compared = (n: number, listed: ReturnType<typeof at>[], refusal: string | null = null) =>
  ({ id: 1, refund_id: attemptId(n), listed, refusal }) as const
const told = (refunds: ReturnType<typeof at>[], provider_status = 'approved') => ({
  id: 1,
  attempt_id: attemptId(1),
  provider_payment_id: 'p1',
  provider_status,
  status_detail: null,
  live_mode: false,
  refunds,
})

describe('refunds compared with the provider’s list', () => {
  it('note before the first call what is listed, and never take it for the refund [PAY-27]', async () => {
    const scenario = await given(...shop, requested(1))
    ;(await scenario.when(settleRefund, compared(1, [at('old', 'completed')]))).accepts('updated', prepared(1, ['old']))
    const refusal = await scenario.when(settleRefund, compared(1, [at('old', 'completed')], '2063'))
    refusal.accepts('updated', refused(1))
  })

  for (const other of [at('d', 'refused'), at('d', 'pending', '30.01')])
    it(`take none of ${other.amount} that is ${other.status} for a refund of 30.00 [PAY-27]`, async () => {
      const scenario = await given(...shop, requested(1), prepared(1))
      ;(await scenario.when(settleRefund, compared(1, [other], '2063'))).accepts('updated', refused(1))
    })

  it('take a new one of the amount for the refund, in process or done [PAY-27]', async () => {
    const scenario = await given(...shop, requested(1, '30.00', goods), prepared(1))
    ;(await scenario.when(settleRefund, compared(1, [at('d')], '2063'))).accepts('updated', taken(1, 'd'))
    ;(await scenario.when(settleRefund, compared(1, [], '2063'))).accepts('unchanged')
    ;(await scenario.when(acceptRefund, { id: 1, refund_id: attemptId(1), provider_refund_id: 'd' })).accepts(
      'unchanged',
    )
    const completed = await scenario.when(recordPayment, told([at('d', 'completed')]))
    completed.accepts('updated', done(1, 'd'), stock('5.000', '7.000'))
  })

  it('leave a refund pending that may be an older one of the same amount [PAY-27]', async () => {
    const both = [...shop, requested(1), prepared(1), requested(2), prepared(2)]
    const one = await given(...both)
    ;(await one.when(settleRefund, compared(2, [at('d')], '2063'))).accepts('unchanged')
    ;(await one.when(settleRefund, compared(1, [at('d')], '2063'))).accepts('updated', taken(1, 'd'))
    ;(await one.when(settleRefund, compared(2, [at('d')], '2063'))).accepts('updated', refused(2))
    const enough = await given(...both)
    ;(await enough.when(settleRefund, compared(2, [at('d'), at('e')], '2063'))).accepts('updated', taken(2, 'd'))
    ;(await enough.when(settleRefund, compared(1, [at('d'), at('e')], '2063'))).accepts('updated', taken(1, 'e'))
  })

  it('take first what no other refund of the amount may be [PAY-27]', async () => {
    const facts = [requested(1), prepared(1), requested(2), prepared(2, ['d'])]
    const scenario = await given(...shop, ...facts)
    ;(await scenario.when(settleRefund, compared(1, [at('e'), at('d')], '2063'))).accepts('updated', taken(1, 'd'))
    ;(await scenario.when(settleRefund, compared(2, [at('e'), at('d')], '2063'))).accepts('updated', taken(2, 'e'))
  })

  it('end a refund in process as refused: no stock moves, the amount is free [PAY-27]', async () => {
    const scenario = await given(...shop, requested(1, '100.00', goods), prepared(1), taken(1, 'd'))
    const rejected = await scenario.when(recordPayment, told([at('d', 'refused', '100.00')]))
    rejected.accepts('updated', refused(1, 'recusado pelo provedor depois de aceito'))
    ;(await scenario.when(recordPayment, told([at('d', 'refused', '100.00')]))).accepts('unchanged')
    // A delayed notification shows an earlier state.
    ;(await scenario.when(recordPayment, told([at('d', 'pending', '100.00')]))).accepts('unchanged')
    const asked = { id: 1, refund_id: attemptId(2), idempotency_key: 'k2', amount: '100.00' }
    ;(await scenario.when(requestRefund, asked)).accepts('created', requested(2, '100.00'))
  })

  it('complete what is in process once the whole payment is refunded, listed or not [PAY-27]', async () => {
    const scenario = await given(...shop, requested(1, '100.00'), prepared(1), taken(1, 'd'))
    await scenario.when(recordPayment, told([], 'refunded'))
    const { refunds, status } = (await scenario.show('order/1')) as OrderObject
    expect([status, refunds[0]?.status]).to.deep.equal(['refunded', 'completed'])
  })

  it('money of a refused refund raises one alarm and returns no more goods than ordered [PAY-28]', async () => {
    const first = [requested(1, '30.00', goods), prepared(1), refused(1)]
    const second = [requested(2, '40.00', goods), prepared(2), taken(2, 'e'), done(2, 'e'), stock('5.000', '7.000')]
    const scenario = await given(...shop, ...first, ...second)
    const listed = [at('late', 'completed'), at('e', 'completed', '40.00')]
    ;(await scenario.when(recordPayment, told(listed))).accepts('updated', alarm, done(1, 'late'))
    const { refunds } = (await scenario.show('order/1')) as OrderObject
    expect(refunds[0]).to.include({ status: 'completed', provider_refund_id: 'late', refusal: null })
    ;(await scenario.when(recordPayment, told(listed))).accepts('unchanged')
  })

  it('raise an alarm for a rejected refund that is completed after all [PAY-28]', async () => {
    const scenario = await given(...shop, requested(1), prepared(1), taken(1, 'd'), refused(1))
    ;(await scenario.when(recordPayment, told([at('d', 'completed')]))).accepts('updated', alarm, done(1, 'd'))
  })

  for (const [amount, what] of [
    ['30.00', 'its amount'],
    ['80.00', 'more than is left'],
  ] as const)
    it(`refuse a request that finds such money, for ${what} [PAY-28]`, async () => {
      const scenario = await given(...shop, requested(1), prepared(1), refused(1), requested(2, amount))
      const decided = await scenario.when(settleRefund, compared(2, [at('late')]))
      const reason = 'um estorno pedido antes, e recusado, foi feito pelo provedor: confira antes de pedir de novo'
      decided.accepts('updated', alarm, taken(1, 'late'), refused(2, reason))
    })

  it('admit a request that finds such money, for another amount that is left [PAY-28]', async () => {
    const scenario = await given(...shop, requested(1), prepared(1), refused(1), requested(2, '70.00'))
    const decided = await scenario.when(settleRefund, compared(2, [at('late')]))
    decided.accepts('updated', prepared(2, ['late']), alarm, taken(1, 'late'))
  })

  it('take nothing for a refund that was refused before any call [PAY-28]', async () => {
    const scenario = await given(...shop, requested(1))
    await scenario.when(refuseRefund, { id: 1, refund_id: attemptId(1), reason: '401' })
    ;(await scenario.when(recordPayment, told([at('other', 'completed')]))).accepts('unchanged')
  })
})
