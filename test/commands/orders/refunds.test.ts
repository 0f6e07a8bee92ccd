import { expect } from 'chai'
import { completeRefund, type RequestRefundInput, refuseRefund, requestRefund } from '#commands/order-attempts.ts'
import { event } from '#events/catalogue.ts'
import {
  approved,
  attemptId,
  companyRegistered,
  itemCreated,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  storeCreated,
} from '../../support/facts.ts'
import { given } from '../../support/given.ts'

const store = [companyRegistered(), storeCreated()]
const paid = [...store, ...orderPaid()]

const asked = (n: number, rest: Partial<RequestRefundInput> = {}): RequestRefundInput => ({
  id: 1,
  refund_id: attemptId(n),
  idempotency_key: `k${n}`,
  ...rest,
})
const requested = (n: number, amount: string, restock: { catalog_item_id: number; quantity: string }[] = []) =>
  event('OrderRefundRequested', { ...ofPayment(1), refund_id: attemptId(n), idempotency_key: `k${n}`, amount, restock })
const done = (n: number) => ({ id: 1, refund_id: attemptId(n), provider_refund_id: `d${n}` })
const wrong = (field: string, message: string) =>
  ['validation_failed', { fields: { [field]: [message] }, unknown_fields: [] }] as const

describe('refunds of an order', () => {
  it('request the rest of the payment, or a part, once [ORDER-11]', async () => {
    const scenario = await given(...paid)
    const part = await scenario.when(requestRefund, asked(1, { amount: '30.00' }))
    part.accepts('created', requested(1, '30.00'))
    const again = await scenario.when(requestRefund, asked(1, { amount: '30.00' }))
    again.accepts('unchanged')
    const rest = await scenario.when(requestRefund, asked(2))
    rest.accepts('created', requested(2, '70.00'))
    const more = await scenario.when(requestRefund, asked(3))
    more.refuses(...wrong('amount', 'todo o valor já foi estornado ou está em processamento'))
  })

  it('never exceed the payment, even if the provider’s record lags behind [ORDER-11, PAY-26]', async () => {
    const scenario = await given(...paid, paymentRecorded(1, { ...approved, refunded: '50.00' }), requested(1, '20.00'))
    const most = wrong('amount', 'deve ser no máximo 30.00, o que ainda não foi estornado')
    const over = await scenario.when(requestRefund, asked(2, { amount: '30.01' }))
    over.refuses(...most)
    await scenario.when(completeRefund, done(1))
    // The 20.00 may be part of the 50.00 or not: the larger sum counts.
    const fits = await scenario.when(requestRefund, asked(2, { amount: '50.00' }))
    fits.accepts('created', requested(2, '50.00'))
  })

  it('reserve nothing once refused, and can be requested again [PAY-26]', async () => {
    const scenario = await given(...paid, requested(1, '100.00'))
    const refused = await scenario.when(refuseRefund, { id: 1, refund_id: attemptId(1), reason: 'sem saldo' })
    refused.accepts('updated', event('OrderRefundRefused', { id: 1, refund_id: attemptId(1), reason: 'sem saldo' }))
    const again = await scenario.when(requestRefund, asked(1))
    again.accepts('created', requested(1, '100.00'))
    await scenario.when(completeRefund, done(1))
    const late = await scenario.when(refuseRefund, { id: 1, refund_id: attemptId(1), reason: 'sem saldo' })
    late.accepts('unchanged')
  })

  it('are refused for an unpaid or missing order, or a used key [PAY-25, PAY-26]', async () => {
    const scenario = await given(...store, orderPlaced())
    const unpaid = await scenario.when(requestRefund, asked(1))
    unpaid.refuses('order_not_paid')
    const missing = await scenario.when(requestRefund, asked(1, { id: 9 }))
    missing.refuses('not_found')
    const taken = await given(...paid, requested(1, '10.00'))
    const reused = await taken.when(requestRefund, asked(2, { idempotency_key: 'k1' }))
    reused.refuses('idempotency_key_reuse')
    const other = await taken.when(requestRefund, asked(2, { provider_payment_id: 'p9' }))
    other.refuses('order_not_paid')
  })

  describe('with goods', () => {
    const line = { catalog_item_id: 1, external_id: null, description: 'Café', quantity: '2.000', unit_price: '50.00' }
    const [, ...then] = orderPaid()
    const sold = orderPlaced({ items: [{ ...line, total: '100.00' }] })
    const shop = [...store, itemCreated({ id: 1, stock: '5.000' }), sold, ...then]
    const back = (quantity: string, catalog_item_id = 1) => [{ catalog_item_id, quantity }]

    it('return goods to stock when the provider has refunded, once [ORDER-12]', async () => {
      const scenario = await given(...shop, requested(1, '50.00', back('1.500')))
      expect(await scenario.show('catalog_item/1')).to.include({ stock: '5.000' })
      const completed = await scenario.when(completeRefund, done(1))
      completed.accepts(
        'updated',
        event('OrderRefundCompleted', done(1)),
        event('StockAdjusted', { id: 1, reason: 'return', before: '5.000', after: '6.500', order_id: 1 }),
      )
      const again = await scenario.when(completeRefund, done(1))
      again.accepts('unchanged')
    })

    it('return at most the ordered quantity, of tracked items of the order [ORDER-12]', async () => {
      const scenario = await given(
        ...shop,
        itemCreated({ id: 2, name: 'Chá', stock: null }),
        requested(1, '10.00', back('1.500')),
      )
      const much = await scenario.when(requestRefund, asked(2, { restock: back('0.6') }))
      much.refuses(...wrong('restock[0].quantity', 'deve somar no máximo 0.500'))
      const foreign = await scenario.when(requestRefund, asked(2, { restock: back('1', 2) }))
      foreign.refuses(...wrong('restock[0].catalog_item_id', 'o pedido não tem este item'))
      const rest = await scenario.when(requestRefund, asked(2, { restock: back('0.5') }))
      rest.accepts('created', requested(2, '90.00', back('0.500')))
    })
  })
})
