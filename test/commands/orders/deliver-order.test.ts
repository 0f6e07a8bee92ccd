import { expect } from 'chai'
import { acknowledgeAlarm, deliverOrder, undoDelivery } from '#commands/order-commands.ts'
import { inZone } from '#domain/instant.ts'
import { event } from '#events/catalogue.ts'
import {
  approved,
  companyRegistered,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  storeCreated,
} from '../../support/facts.ts'
import { given, minute } from '../../support/given.ts'

const store = [companyRegistered(), storeCreated()]
const givenBack = [
  paymentRecorded(1, { ...approved, provider_status: 'refunded', status: 'refunded' }),
  event('OrderRefunded', ofPayment(1)),
]
const local = (n: number) => inZone(minute(n), 'America/Sao_Paulo')

describe('deliver order', () => {
  it('marks a paid order once, and keeps the mark after a refund [ORDER-40]', async () => {
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

  it('refuses an order that is unpaid, refunded or missing [ORDER-40]', async () => {
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

  it('records who acknowledged the alarm of a payment and when, once, and leaves others open [ORDER-41]', async () => {
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

  it('does not find an alarm of a payment without one [ORDER-41]', async () => {
    const scenario = await given(...store, ...orderPaid())
    for (const id of [1, 9]) {
      const decided = await scenario.when(acknowledgeAlarm, { id, provider_payment_id: 'p1' })
      decided.refuses('not_found')
    }
  })
})
