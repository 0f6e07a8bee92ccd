import { expect } from 'chai'
import { addDays } from '#domain/instant.ts'
import { acquirerCalendar, sumAcquirerFees } from '#queries/finance-summary.ts'
import { fullReader } from '#queries/reader.ts'
import type { Json } from '../../support/api.ts'
import { useCompanyPerTest } from '../../support/use-api.ts'

const DAY = { from: '2026-11-20T00:00:00.000Z', to: '2026-11-22T00:00:00.000Z' }

describe('acquirers of sale payments', () => {
  const { api, company } = useCompanyPerTest()

  const type = async (fields: object): Promise<number> =>
    (await company.post('/sales/payment-types', fields)).body.data.id
  const sell = async (total: string, payments: readonly object[], sold_at = '2026-11-21T23:30:00-03:00') => {
    const items = [{ description: 'Bolo', quantity: '1', unit_price: total }]
    const reply = await company.post('/sales', { items, payments, sold_at })
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data as Json
  }
  const paid = (payment_type_id: number, amount: string) => ({ payment_type_id, amount })

  it('payments keep their rate, half a cent rounded up, and settle after the local day [TYPE-5]', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const { payments } = await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    expect(payments[0]).to.include({ amount: '100.00', net: '100.00', acquirer_fee: '3.55', settles_on: '2026-12-21' })
    expect(payments[1], '0.005').to.include({ acquirer_fee: '0.01', settles_on: '2026-11-23' })
    const { payments: tiny } = await sell('0.49', [paid(debit, '0.49')])
    expect(tiny[0], '0.0049').to.include({ acquirer_fee: '0.00' })
  })

  it('keep it of the charged amount, surcharge included and change left out [TYPE-5]', async () => {
    const cash = await type({
      name: 'Vale com troco',
      kind: 'cash',
      fee_percentage: '5',
      acquirer_rate: '10',
      settles_in_days: null,
    })
    const { payments } = await sell('105.00', [paid(cash, '200.00')])
    expect(payments[0]).to.include({ surcharge: '5.00', net: '100.00', acquirer_fee: '10.50' })
    expect(payments[0]).not.to.have.property('settles_on')
  })

  it('are not named by payments of other types, nor changed in past sales [TYPE-5]', async () => {
    const pix = await type({ name: 'Pix', kind: 'pix' })
    const sale = await sell('10.00', [paid(pix, '10.00')])
    expect(Object.keys(sale.payments[0])).to.deep.equal(['payment_type_id', 'name', 'amount', 'surcharge', 'net'])
    await company.call('PATCH', `/sales/payment-types/${pix}`, { acquirer_rate: '1.00', settles_in_days: 0 })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
    const later = await sell('10.00', [paid(pix, '10.00')])
    expect(later.payments[0]).to.include({ acquirer_fee: '0.10', settles_on: '2026-11-23' })
  })

  const key = () => ({ 'Idempotency-Key': `volta-${++keys}` })
  let keys = 0
  /** Net of all forecasts, by payment type. */
  const forecast = async () => {
    const rows = await acquirerCalendar(fullReader(api.core.pool, company.id), { from: '2026-01-01', to: '2029-12-31' })
    return rows.map(({ day, gross_cents, fee_cents }) => [day, Number(gross_cents - fee_cents)])
  }
  const sum = async () => (await forecast()).reduce((cents, [, net]) => cents + Number(net), 0)
  const giveBack = async (sale: Json, payment_type_id: number, amount: string) => {
    const body = {
      reason: 'Defeito',
      items: [{ line: 0, quantity: String(Number(amount) / Number(sale.total)) }],
      refunds: [{ payment_type_id, amount }],
      returned_at: '2026-11-21T23:40:00-03:00',
    }
    const reply = await company.post(`/sales/${sale.id}/returns`, body, key())
    expect(reply.status, reply.text).to.equal(201)
  }

  it('owe less by what went back on the card, and no less by what went back in cash [PANEL-780]', async () => {
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const cash = await company.paymentType('cash')
    await giveBack(await sell('1000.00', [paid(debit, '1000.00')]), debit, '1000.00')
    expect(await forecast(), 'the fee is lost').to.deep.equal([['2026-11-23', -1000]])
    await giveBack(await sell('100.00', [paid(debit, '100.00')]), cash, '100.00')
    expect(await sum()).to.equal(-1000 + 9900)
    const cancelled = await sell('50.00', [paid(debit, '50.00')])
    await company.post(`/sales/${cancelled.id}/cancel`, { refunds: [{ payment_type_id: cash, amount: '50.00' }] })
    expect(await sum()).to.equal(-1000 + 9900 + 4950)
    const undone = await sell('50.00', [paid(debit, '50.00')])
    await company.post(`/sales/${undone.id}/cancel`, { refunds: [{ payment_type_id: debit, amount: '50.00' }] })
    expect(await sum()).to.equal(-1000 + 9900 + 4950 - 50)
  })

  it('pay instalment by instalment, and give their fee back if their terms say so [PANEL-780] [TYPE-780]', async () => {
    const terms = {
      acquirer_rate: '2.00',
      acquirer_rate_7_12: '4.00',
      acquirer_fee_refunded: true,
      settles_in_days: 30,
    }
    const credit = await type({ name: 'Crédito', kind: 'card', ...terms })
    const sale = await sell('1000.00', [{ ...paid(credit, '1000.00'), card: { installments: 12 } }])
    expect(sale.payments[0]).to.include({
      acquirer_fee: '40.00',
      settles_on: '2026-12-21',
      acquirer_fee_refunded: true,
    })
    expect(sale.payments[0].settlements).to.have.lengthOf(12)
    expect([(await forecast()).length, await sum()]).to.deep.equal([12, 96_000])
    await giveBack(sale, credit, '500.00')
    expect([(await forecast()).length, await sum()]).to.deep.equal([12, 48_000])
  })

  it('pay for accounts that were received by card, until the receipt is reversed [PANEL-780]', async () => {
    await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const account = { description: 'Fiado', amount: '100.00', due_date: '2026-11-30' }
    const { id } = (await company.post('/finance/receivables', account)).body.data
    const receipt = { amount: '60.00', payment_method: 'debit_card', paid_at: '2026-11-20T12:00:00-03:00' }
    const received = await company.post(`/finance/receivables/${id}/payments`, receipt, key())
    expect(received.status, received.text).to.equal(201)
    expect(await forecast()).to.deep.equal([['2026-11-23', 5940]])
    const cash = { amount: '10.00', payment_method: 'cash' }
    await company.post(`/finance/receivables/${id}/payments`, cash, key())
    expect(await sum()).to.equal(5940)
    const [payment] = received.body.data.payments
    const path = `/finance/receivables/${id}/payments/${payment.id}/reverse`
    expect((await company.post(path, { reason: 'Engano' }, key())).status).to.equal(200)
    expect(await forecast()).to.deep.equal([])
  })

  it('pay by day and payment type what completed sales have left after fees', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    await sell('0.50', [paid(debit, '0.50')])
    const { pool } = api.core
    const from = '2026-11-22'
    const calendar = await acquirerCalendar(fullReader(pool, company.id), { from, to: addDays(from, 29) })
    expect(calendar).to.deep.equal([
      { day: '2026-11-23', payment_type_id: debit, name: 'Débito', count: 2, gross_cents: 100n, fee_cents: 2n },
      { day: '2026-12-21', payment_type_id: credit, name: 'Crédito', count: 1, gross_cents: 10_000n, fee_cents: 355n },
    ])
    expect(
      await acquirerCalendar(fullReader(pool, company.id), { from: addDays(from, 2), to: addDays(from, 28) }),
    ).to.deep.equal([])
    expect(
      await sumAcquirerFees(fullReader(pool, company.id), { ...DAY, to: '2026-11-23T00:00:00.000Z' }),
    ).to.deep.equal({
      count: 2,
      fee_cents: 357n,
      known_fee_cents: 0n,
    })
  })
})
