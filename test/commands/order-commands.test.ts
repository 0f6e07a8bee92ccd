import { expect } from 'chai'
import {
  completeRefund,
  type RequestRefundInput,
  refuseRefund,
  requestRefund,
  startPayment,
} from '#commands/order-attempts.ts'
import {
  acknowledgeAlarm,
  cancelOrder,
  deliverOrder,
  dispatchOrder,
  OrderInput,
  placeOrder,
  undoDelivery,
} from '#commands/order-commands.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { acceptRefund, settleRefund } from '#commands/order-settlement.ts'
import { inZone } from '#domain/instant.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { OrderObject } from '#projections/orders.ts'
import {
  approved,
  attemptId,
  commissionSplit,
  companyRegistered,
  customerCreated,
  itemCreated,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  storeCreated,
} from '../support/facts.ts'
import { FIRST_NEW_ID, given, minute } from '../support/given.ts'

const order = (rest: object = {}): OrderInput =>
  OrderInput.parse({
    store_alias: 'padaria-ipe',
    customer: { name: 'Ana' },
    items: [{ description: 'Bolo', quantity: '1', unit_price: '100.00' }],
    ...rest,
  })

const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })
const shop = [companyRegistered(), storeCreated()]

describe('place order', () => {
  it('records the order with prices and sums, without stock movements [ORDER-1]', async () => {
    const scenario = await given(...shop, itemCreated({ external_id: 'caf', price: '18.90', stock: '1.000' }))
    const decided = await scenario.when(
      placeOrder,
      order({ external_id: 'a', items: [{ catalog_item_id: 1, quantity: '3' }], delivery_fee: '5.00' }),
    )
    const line = {
      catalog_item_id: 1,
      external_id: 'caf',
      description: 'Café',
      quantity: '3.000',
      unit_price: '18.90',
      total: '56.70',
    }
    const sums = { subtotal: '56.70', delivery_fee: '5.00', total: '61.70' }
    decided.accepts('created', orderPlaced({ id: FIRST_NEW_ID, external_id: 'a', items: [line], ...sums }))
  })

  it('records the given customer', async () => {
    const customer = { name: 'Ana', email: 'ana@example.com', document: '11222333000181', phone: '11987654321' }
    const decided = await (await given(...shop)).when(placeOrder, order({ customer }))
    decided.accepts(
      'created',
      orderPlaced({ id: FIRST_NEW_ID, customer: { id: null, external_id: null, ...customer } }),
    )
  })

  it('reads the buyer from the company’s customers, with overrides for this order only', async () => {
    const ana = {
      ...{ id: 4, external_id: 'ana', name: 'Ana', email: 'ana@example.com', document: '52998224725' },
      phone: '11987654321',
    }
    const scenario = await given(...shop, customerCreated(ana))
    const place = (fields: object) => scenario.when(placeOrder, order({ customer: undefined, ...fields }))
    const byId = await place({ customer_id: 4 })
    byId.accepts('created', orderPlaced({ id: FIRST_NEW_ID, customer: ana }))
    const said = { name: 'Ana Maria', email: 'outra@example.com' }
    const both = await place({ customer_external_id: 'ana', customer_id: 4, customer: said })
    both.accepts('created', orderPlaced({ id: FIRST_NEW_ID + 1, customer: { ...ana, ...said } }))
    const byExternalId = await place({ customer_external_id: 'ana' })
    byExternalId.accepts('created', orderPlaced({ id: FIRST_NEW_ID + 2, customer: ana }))
  })

  it('refuses an unknown customer, two customers, and an order without a buyer', async () => {
    const eva = customerCreated({ id: 5, external_id: 'eva', name: 'Eva' })
    const scenario = await given(...shop, customerCreated({ id: 4 }), eva)
    const unknown = await scenario.when(placeOrder, order({ customer_id: 9 }))
    unknown.refuses('validation_failed', wrong('customer_id', 'cliente não encontrado'))
    const two = await scenario.when(placeOrder, order({ customer_id: 4, customer_external_id: 'eva' }))
    two.refuses('validation_failed', wrong('customer_external_id', 'é de outro cliente que customer_id'))
    for (const nobody of [{}, { customer_id: null, customer_external_id: null, customer: null }]) {
      const { customer: _, ...rest } = order()
      const { error } = OrderInput.safeParse({ ...rest, ...nobody })
      const message = 'informe customer, customer_id ou customer_external_id'
      expect(describeIssues(error!).fields).to.deep.equal({ customer: [message] })
    }
  })

  it('refuses a repeated external id before other checks [ORDER-1]', async () => {
    const scenario = await given(...shop, orderPlaced({ id: 5, external_id: 'a' }), event('StoreDisabled', { id: 1 }))
    const decided = await scenario.when(placeOrder, order({ external_id: 'a' }))
    decided.refuses('duplicate_resource', { field: 'external_id', conflicting_id: 5 })
  })

  it('refuses a missing or disabled store, until it is enabled again [RCV-2]', async () => {
    for (const store_alias of ['nenhuma', 'Não é um alias']) {
      const missing = await (await given(...shop)).when(placeOrder, order({ store_alias }))
      missing.refuses('validation_failed', wrong('store_alias', 'loja não encontrada'))
    }
    const disabled = await given(...shop, event('StoreDisabled', { id: 1 }))
    const decided = await disabled.when(placeOrder, order())
    decided.refuses('validation_failed', wrong('store_alias', 'a loja está desativada'))
    const enabled = await given(...shop, event('StoreDisabled', { id: 1 }), event('StoreEnabled', { id: 1 }))
    const again = await enabled.when(placeOrder, order())
    again.accepts('created', orderPlaced({ id: FIRST_NEW_ID }))
  })

  it('refuses unknown items and a total of zero', async () => {
    const scenario = await given(...shop)
    const unknown = await scenario.when(placeOrder, order({ items: [{ catalog_item_id: 9, quantity: '1' }] }))
    unknown.refuses('validation_failed', wrong('items[0].catalog_item_id', 'item não encontrado no catálogo'))
    const free = order({ items: [{ description: 'Brinde', quantity: '1', unit_price: '0.00' }] })
    const decided = await scenario.when(placeOrder, free)
    decided.refuses('validation_failed', wrong('items', 'o total do pedido deve ser maior que zero'))
  })
})

describe('order input', () => {
  const line = { description: 'Bolo', quantity: '1', unit_price: '10.00' }
  const valid = { store_alias: 'padaria-ipe', customer: { name: 'Ana' }, items: [line] }
  const problemsOf = (fields: object) => {
    const { error } = OrderInput.safeParse({ ...valid, ...fields })
    return error ? describeIssues(error) : { fields: {}, unknown_fields: [] }
  }

  for (const [what, fields, field] of [
    ['without items', { items: [] }, 'items'],
    ['with an item without its price', { items: [{ ...line, unit_price: undefined }] }, 'items[0].unit_price'],
    ['of no quantity', { items: [{ ...line, quantity: '0' }] }, 'items[0].quantity'],
    ['for a buyer without a name', { customer: {} }, 'customer.name'],
    ['with an invalid document', { customer: { name: 'Ana', document: '123' } }, 'customer.document'],
    ['with an invalid e-mail', { customer: { name: 'Ana', email: 'ana' } }, 'customer.email'],
    ['with a negative delivery fee', { delivery_fee: '-1.00' }, 'delivery_fee'],
  ] as const)
    it(`refuses an order ${what}`, () => expect(Object.keys(problemsOf(fields).fields)).to.deep.equal([field]))

  it('refuses unknown fields, of items too', () => {
    const unknown = problemsOf({ items: [{ ...line, discount: '1.00' }], coupon: 'X' }).unknown_fields
    expect(unknown).to.have.members(['coupon', 'items[0].discount'])
  })
})

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

const givenBack = [
  paymentRecorded(1, { ...approved, provider_status: 'refunded', status: 'refunded' }),
  event('OrderRefunded', ofPayment(1)),
]
const local = (n: number) => inZone(minute(n), 'America/Sao_Paulo')

describe('order with a delivery', () => {
  const street = {
    zip: null,
    street: 'Rua Um',
    number: '7',
    complement: null,
    district: 'Boa Vista',
    city: 'Recife',
    state: null,
  }
  const due_at = '2026-03-10T18:00:00.000Z'

  it('records method, address and due time; the customer’s address completes it [ORDER-1250]', async () => {
    const scenario = await given(...shop, customerCreated({ id: 4, external_id: null, address: street }))
    const customer = { id: 4, external_id: null, name: 'Ana', email: null, document: null, phone: null }
    const other = { ...street, street: 'Rua Dois' }
    const cases = [
      [
        { method: 'delivery', due_at },
        { method: 'delivery', due_at, address: street },
      ],
      [{ method: 'pickup' }, { method: 'pickup', due_at: null, address: null }],
      [
        { method: 'delivery', address: other },
        { method: 'delivery', due_at: null, address: other },
      ],
    ] as const
    for (const [at, [delivery, recorded]] of cases.entries()) {
      const decided = await scenario.when(placeOrder, order({ customer: undefined, customer_id: 4, delivery }))
      decided.accepts('created', orderPlaced({ id: FIRST_NEW_ID + at, customer, delivery: recorded }))
    }
  })

  it('refuses a delivery without a street, and a pick-up with an address [ORDER-1250]', async () => {
    const nowhere = await (await given(...shop)).when(
      placeOrder,
      order({ delivery: { method: 'delivery', address: { city: 'Recife' } } }),
    )
    nowhere.refuses(
      'validation_failed',
      wrong('delivery.address.street', 'informe ao menos a rua: o cliente não tem endereço no cadastro'),
    )
    const wrongInputs = [
      { method: 'pickup', address: { street: 'Rua Um' } },
      { method: 'drone' },
      { method: 'pickup', due_at: 'hoje' },
    ]
    for (const delivery of wrongInputs) expect(() => order({ delivery }), JSON.stringify(delivery)).to.throw()
  })

  const placed = (method: 'delivery' | 'pickup') => [
    ...store,
    ...orderPaid().map((one) =>
      one.type === 'OrderPlaced'
        ? orderPlaced({ delivery: { method, due_at, address: method === 'delivery' ? street : null } })
        : one,
    ),
  ]

  for (const [method, state] of [
    ['delivery', 'out_for_delivery'],
    ['pickup', 'ready_for_pickup'],
  ] as const)
    it(`goes from to do through ${state} to delivered, and back by undoing [ORDER-1251]`, async () => {
      const scenario = await given(...placed(method))
      const show = async () => (await scenario.show('order/1')) as Record<string, unknown>
      expect(await show()).to.include({ delivery_state: 'to_do', dispatched_at: null })
      const sent = await scenario.when(dispatchOrder, { id: 1 })
      sent.accepts('updated', event('OrderDispatched', { id: 1 }))
      expect((await show()).delivery_state).to.equal(state)
      expect((await show()).dispatched_at).not.to.equal(null)
      const again = await scenario.when(dispatchOrder, { id: 1 })
      again.accepts('unchanged')
      const delivered = await scenario.when(deliverOrder, { id: 1 })
      delivered.accepts('updated', event('OrderDelivered', { id: 1 }))
      expect((await show()).delivery_state).to.equal('delivered')
      const late = await scenario.when(dispatchOrder, { id: 1 })
      late.accepts('unchanged')
      const undone = await scenario.when(undoDelivery, { id: 1 })
      undone.accepts('updated', event('OrderDeliveryUndone', { id: 1 }))
      expect(await show()).to.include({ delivery_state: 'to_do', dispatched_at: null, delivered_at: null })
    })

  it('is not dispatched before it is paid, after a refund, or without the right [ORDER-1251]', async () => {
    const unpaid = await (await given(...store, orderPlaced())).when(dispatchOrder, { id: 1 })
    unpaid.refuses('order_not_paid')
    const refunded = await (await given(...store, ...orderPaid(), ...givenBack)).when(dispatchOrder, { id: 1 })
    refunded.refuses('order_not_paid')
    const missing = await (await given(...store)).when(dispatchOrder, { id: 9 })
    missing.refuses('not_found')
  })
})

describe('deliver order', () => {
  it('marks a paid order once, and keeps the mark after a refund', async () => {
    const scenario = await given(...store, ...orderPaid())
    const decided = await scenario.when(deliverOrder, { id: 1 })
    decided.accepts('updated', event('OrderDelivered', { id: 1 }))
    const delivered_at = local(7)
    expect(await scenario.show('order/1')).to.include({ status: 'paid', delivered_at })
    const again = await scenario.when(deliverOrder, { id: 1 })
    again.accepts('unchanged')
    const returned = await given(...store, ...orderPaid(), event('OrderDelivered', { id: 1 }), ...givenBack)
    const later = await returned.when(deliverOrder, { id: 1 })
    later.accepts('unchanged')
    expect(await returned.show('order/1')).to.include({ status: 'refunded', delivered_at })
  })

  it('refuses an order that is unpaid, refunded or missing', async () => {
    const scenario = await given(...store, orderPlaced())
    const unpaid = await scenario.when(deliverOrder, { id: 1 })
    unpaid.refuses('order_not_paid')
    const missing = await scenario.when(deliverOrder, { id: 9 })
    missing.refuses('not_found')
    const refunded = await given(...store, ...orderPaid(), ...givenBack)
    const late = await refunded.when(deliverOrder, { id: 1 })
    late.refuses('order_not_paid')
  })
})

describe('undo delivery', () => {
  it('takes the mark back, once, also after a refund; the order can be marked again', async () => {
    const scenario = await given(...store, ...orderPaid(), event('OrderDelivered', { id: 1 }))
    const decided = await scenario.when(undoDelivery, { id: 1 })
    decided.accepts('updated', event('OrderDeliveryUndone', { id: 1 }))
    expect(await scenario.show('order/1')).to.include({ status: 'paid', delivered_at: null })
    const again = await scenario.when(undoDelivery, { id: 1 })
    again.accepts('unchanged')
    const delivered = await scenario.when(deliverOrder, { id: 1 })
    delivered.accepts('updated', event('OrderDelivered', { id: 1 }))
    const returned = await given(...store, ...orderPaid(), event('OrderDelivered', { id: 1 }), ...givenBack)
    const late = await returned.when(undoDelivery, { id: 1 })
    late.accepts('updated', event('OrderDeliveryUndone', { id: 1 }))
  })

  it('does not find a missing order', async () => {
    const scenario = await given(...store)
    const missing = await scenario.when(undoDelivery, { id: 9 })
    missing.refuses('not_found')
  })
})

describe('acknowledge alarm', () => {
  const raised = (n: number) => event('OrderAlarmRaised', { ...ofPayment(n), code: 'second_payment' })

  it('records who acknowledged the alarm of a payment and when, once, and leaves others open', async () => {
    const scenario = await given(...store, ...orderPaid(), raised(2), raised(3))
    const decided = await scenario.when(acknowledgeAlarm, { id: 1, provider_payment_id: 'p2' }, 'pdv', 'user/1')
    decided.accepts('updated', event('OrderAlarmAcknowledged', ofPayment(2)))
    const { alarms } = (await scenario.show('order/1')) as { alarms: object[] }
    expect(alarms).to.deep.equal([
      {
        code: 'second_payment',
        provider_payment_id: 'p2',
        raised_at: local(7),
        acknowledged_at: local(9),
        acknowledged_by: 'user/1',
      },
      {
        code: 'second_payment',
        provider_payment_id: 'p3',
        raised_at: local(8),
        acknowledged_at: null,
        acknowledged_by: null,
      },
    ])
    const again = await scenario.when(acknowledgeAlarm, { id: 1, provider_payment_id: 'p2' })
    again.accepts('unchanged')
  })

  it('does not find an alarm of a payment without one', async () => {
    const scenario = await given(...store, ...orderPaid())
    for (const id of [1, 9]) {
      const decided = await scenario.when(acknowledgeAlarm, { id, provider_payment_id: 'p1' })
      decided.refuses('not_found')
    }
  })
})

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

describe('refunds of an order', () => {
  const wrong = (field: string, message: string) =>
    ['validation_failed', { fields: { [field]: [message] }, unknown_fields: [] }] as const

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

  it('never exceed the payment, even if the provider’s record lags behind [ORDER-11, PAY-27]', async () => {
    const scenario = await given(...paid, paymentRecorded(1, { ...approved, refunded: '50.00' }), requested(1, '20.00'))
    const most = wrong('amount', 'deve ser no máximo 30.00, o que ainda não foi estornado')
    const over = await scenario.when(requestRefund, asked(2, { amount: '30.01' }))
    over.refuses(...most)
    await scenario.when(completeRefund, done(1))
    // The 20.00 may be part of the 50.00 or not: the larger sum counts.
    const fits = await scenario.when(requestRefund, asked(2, { amount: '50.00' }))
    fits.accepts('created', requested(2, '50.00'))
  })

  it('reserve nothing once refused, and can be requested again [PAY-27]', async () => {
    const scenario = await given(...paid, requested(1, '100.00'))
    const refused = await scenario.when(refuseRefund, { id: 1, refund_id: attemptId(1), reason: 'sem saldo' })
    refused.accepts('updated', event('OrderRefundRefused', { id: 1, refund_id: attemptId(1), reason: 'sem saldo' }))
    const again = await scenario.when(requestRefund, asked(1))
    again.accepts('created', requested(1, '100.00'))
    await scenario.when(completeRefund, done(1))
    const late = await scenario.when(refuseRefund, { id: 1, refund_id: attemptId(1), reason: 'sem saldo' })
    late.accepts('unchanged')
  })

  it('are refused for an unpaid or missing order, or a used key [PAY-3, PAY-27]', async () => {
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

const line = { catalog_item_id: 1, external_id: null, description: 'Café', quantity: '2.000', unit_price: '50.00' }
const [, ...then] = orderPaid()
const goods = [{ catalog_item_id: 1, quantity: '2.000' }]
const prepared = (n: number, listed: string[] = []) =>
  event('OrderRefundPrepared', { id: 1, refund_id: attemptId(n), listed })
const refused = (n: number, reason = '2063') => event('OrderRefundRefused', { id: 1, refund_id: attemptId(n), reason })
const taken = (n: number, provider_refund_id: string) =>
  event('OrderRefundAccepted', { id: 1, refund_id: attemptId(n), provider_refund_id })
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

describe('refunds compared with the provider’s list', () => {
  const shop = [
    companyRegistered(),
    storeCreated(),
    itemCreated({ id: 1, stock: '5.000' }),
    orderPlaced({ items: [{ ...line, total: '100.00' }] }),
    ...then,
  ]
  const requested = (n: number, amount = '30.00', restock: typeof goods = []) =>
    event('OrderRefundRequested', {
      ...ofPayment(1),
      refund_id: attemptId(n),
      idempotency_key: `k${n}`,
      amount,
      restock,
    })
  const done = (n: number, provider_refund_id: string) =>
    event('OrderRefundCompleted', { id: 1, refund_id: attemptId(n), provider_refund_id })
  const told = (refunds: ReturnType<typeof at>[], provider_status = 'approved') => ({
    id: 1,
    attempt_id: attemptId(1),
    provider_payment_id: 'p1',
    provider_status,
    status_detail: null,
    live_mode: false,
    refunds,
  })

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
