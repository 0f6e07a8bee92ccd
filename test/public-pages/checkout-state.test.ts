import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { OrderObject } from '#projections/orders.ts'
import { createTakesPix } from '#public/checkout-page.tsx'
import { mayAskForPix, toCheckoutState } from '#queries/order-queries.ts'
import {
  approved,
  companyRegistered,
  ofPayment,
  orderPaid,
  orderPlaced,
  paymentRecorded,
  paymentStarted,
  storeCreated,
} from '../support/facts.ts'
import { given, minute } from '../support/given.ts'

const pix = { qr_code: '000201…', qr_code_base64: null, ticket_url: null }
const boleto = { barcode: '2379', digitable_line: '2379 3', ticket_url: null }
const started = paymentStarted(1, { expires_at: minute(60) })
const waiting = [started, paymentRecorded(1, { pix })]
const ended = (status: 'cancelled' | 'failed') => paymentRecorded(1, { provider_status: status, status })

async function stateAfter(facts: NewEvent[], at = minute(30)) {
  const scenario = await given(companyRegistered(), storeCreated(), ...facts)
  return toCheckoutState((await scenario.show('order/1')) as OrderObject, at)
}

describe('checkout page: state of an order', () => {
  it('is the current state, for each outcome', async () => {
    const cases: [string, NewEvent[]][] = [
      ['unpaid', [orderPlaced()]],
      ['starting', [orderPlaced(), started]],
      ['pix', [orderPlaced(), ...waiting]],
      ['boleto', [orderPlaced(), started, paymentRecorded(1, { boleto })]],
      ['in_review', [orderPlaced(), paymentStarted(1, { payment_method_id: 'visa' }), paymentRecorded(1)]],
      ['unpaid', [orderPlaced(), ...waiting, ended('failed'), event('OrderFailed', ofPayment(1))]],
      ['unpaid', [orderPlaced(), ...waiting, ended('cancelled'), event('OrderExpired', ofPayment(1))]],
      ['cancelled', [orderPlaced(), event('OrderCancelledByStore', { id: 1, reason: null })]],
      ['paid', orderPaid()],
      [
        'refunded',
        [
          ...orderPaid(),
          paymentRecorded(1, { provider_status: 'refunded', status: 'refunded' }),
          event('CommissionReversed', ofPayment(1)),
          event('OrderRefunded', ofPayment(1)),
        ],
      ],
    ]
    for (const [is, facts] of cases) expect((await stateAfter(facts)).is).to.equal(is)
  })

  it('shows the remaining time to pay, and offers no payment after it', async () => {
    expect(await stateAfter([orderPlaced(), ...waiting])).to.include({ is: 'pix', secondsLeft: 1_800 })
    expect(await stateAfter([orderPlaced(), ...waiting], minute(60))).to.deep.equal({ is: 'ending' })
  })

  it('shows the refunded amount', async () => {
    expect(await stateAfter(orderPaid())).to.deep.equal({ is: 'paid', refunded: null })
    const part = paymentRecorded(1, { ...approved, refunded: '10.00' })
    expect(await stateAfter([...orderPaid(), part])).to.deep.equal({ is: 'paid', refunded: '10.00' })
  })

  it('offers Pix if no attempt is pending, and shows the outcome of the last one [PAY-40]', async () => {
    const previous = async (facts: NewEvent[], at?: string) => {
      const state = await stateAfter([orderPlaced(), ...facts], at)
      expect(mayAskForPix(state)).to.equal(true)
      return 'before' in state ? state.before : null
    }
    expect(await previous([])).to.equal(null)
    expect(await previous([...waiting, ended('failed')])).to.equal('failed')
    expect(await previous([...waiting, ended('cancelled')])).to.equal('cancelled')
    expect(await previous([...waiting, ended('cancelled')], minute(61))).to.equal('expired')
    for (const facts of [waiting, [started, paymentRecorded(1, { boleto })]])
      expect(mayAskForPix(await stateAfter([orderPlaced(), ...facts]))).to.equal(false)
  })
})

describe('checkout page: Pix support of a store', () => {
  it('is queried once in five minutes, and again afterwards', async () => {
    let now_ms = 1
    let asked = 0
    const takesPix = createTakesPix(() => now_ms)
    const ask = async () => {
      asked += 1
      return asked === 1 ? (['pix'] as const) : ([] as const)
    }
    expect(await takesPix('loja', ask)).to.equal(true)
    now_ms += 300_000
    expect(await takesPix('loja', ask)).to.equal(true)
    now_ms += 1
    expect(await takesPix('loja', ask)).to.equal(false)
    expect(asked).to.equal(2)
  })

  it('is assumed if the query fails', async () => {
    const takesPix = createTakesPix(() => 1)
    expect(await takesPix('loja', () => Promise.reject(new Error('down')))).to.equal(true)
  })
})
