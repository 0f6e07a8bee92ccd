import { expect } from 'chai'
import { cancelOrder, deliverOrder, undoDelivery } from '#commands/order-commands.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { createStore } from '#commands/store-commands.ts'
import { placedOrder } from '../../support/orders.ts'
import { useOutbox } from './outbox.ts'

describe('webhook outbox of orders', () => {
  const { company, register, queued, expectToldAlike } = useOutbox()
  const NAMES = [
    'order.created',
    'order.paid',
    'order.delivered',
    'order.delivery_undone',
    'order.refunded',
    'order.cancelled',
    'order.expired',
  ]

  it('contains an order’s events with its state and link for endpoints that name them [HOOK-60, KIT-10]', async () => {
    const [basic, named] = [await register(), await register(NAMES)]
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    const told = (id: number, provider_status: string, more: Partial<RecordPaymentInput> = {}) =>
      company.run(recordPayment, {
        id,
        provider_payment_id: `p${id}`,
        provider_status,
        status_detail: null,
        live_mode: false,
        attempt_id: null,
        ...more,
      })
    const id = await placedOrder(company, alias)
    await told(id, 'pending')
    await told(id, 'approved')
    await company.run(deliverOrder, { id })
    await company.run(undoDelivery, { id })
    await told(id, 'approved', { refunded: '6.30' })
    await told(id, 'refunded')
    const expired = await placedOrder(company, alias)
    await told(expired, 'pending')
    await told(expired, 'cancelled', { status_detail: 'expired' })
    await company.run(cancelOrder, { id: await placedOrder(company, alias) })
    const messages = (await queued(named)).map(({ event, body }) => [event, JSON.parse(body).data] as const)
    expect(
      messages.map(([event, { status, refunded_total, commission }]) => [
        event,
        status,
        refunded_total,
        commission?.refunded ?? null,
      ]),
    ).to.deep.equal([
      ['order.created', 'pending', '0.00', null],
      ['order.paid', 'paid', '0.00', '0.00'],
      ['order.delivered', 'paid', '0.00', '0.00'],
      ['order.delivery_undone', 'paid', '0.00', '0.00'],
      ['order.refunded', 'paid', '6.30', '0.32'],
      ['order.refunded', 'refunded', '46.30', '2.32'],
      ['order.created', 'pending', '0.00', null],
      ['order.expired', 'cancelled', '0.00', null],
      ['order.created', 'pending', '0.00', null],
      ['order.cancelled', 'cancelled', '0.00', null],
    ])
    expect(messages[5]?.[1]).to.deep.equal((await company.get(`/orders/${id}`)).body.data)
    const open = (await company.get(`/orders/${await placedOrder(company, alias)}`)).body.data
    const [last] = (await queued(named)).slice(-1).map(({ body }) => JSON.parse(body).data)
    expect(last).to.deep.equal(open)
    await expectToldAlike()
    expect(open.payment_url).to.include(`/pagar/${alias}/${open.id}-`)
    expect(messages[4]?.[1].payment_url).to.equal(null)
    expect((await queued(basic)).map(({ event }) => event)).to.deep.equal(['sale.completed', 'sale.cancelled'])
    expect(messages[1]?.[1].sale_id).to.equal(JSON.parse((await queued(basic))[0]?.body ?? '').data.id)
  })
})
