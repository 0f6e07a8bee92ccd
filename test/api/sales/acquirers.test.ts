import { expect } from 'chai'
import { addDays } from '#domain/instant.ts'
import { acquirerCalendar, sumAcquirerFees } from '#queries/sales/acquirers.ts'
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

  it('keep their rate of each payment, half a cent rounded up, and pay after the local day of the sale [TYPE-5]', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    const { payments } = await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    expect(payments[0]).to.include({ amount: '100.00', net: '100.00', acquirer_fee: '3.55', settles_on: '2026-12-21' })
    expect(payments[1], '0.005').to.include({ acquirer_fee: '0.01', settles_on: '2026-11-22' })
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
    expect(later.payments[0]).to.include({ acquirer_fee: '0.10', settles_on: '2026-11-21' })
  })

  it('pay by day and payment type what completed sales have left after fees [PANEL-380]', async () => {
    const credit = await type({ name: 'Crédito', kind: 'card', acquirer_rate: '3.55', settles_in_days: 30 })
    const debit = await type({ name: 'Débito', kind: 'card', acquirer_rate: '1.00', settles_in_days: 1 })
    await sell('100.50', [paid(credit, '100.00'), paid(debit, '0.50')])
    await sell('0.50', [paid(debit, '0.50')])
    const cancelled = await sell('7.00', [paid(debit, '7.00')])
    await company.post(`/sales/${cancelled.id}/cancel`, {})
    const { pool } = api.core
    const from = '2026-11-22'
    const calendar = await acquirerCalendar(pool, company.id, { from, to: addDays(from, 29) })
    expect(calendar).to.deep.equal([
      { day: '2026-11-22', payment_type_id: debit, name: 'Débito', count: 2, gross_cents: 100n, fee_cents: 2n },
      { day: '2026-12-21', payment_type_id: credit, name: 'Crédito', count: 1, gross_cents: 10_000n, fee_cents: 355n },
    ])
    expect(await acquirerCalendar(pool, company.id, { from: addDays(from, 1), to: addDays(from, 28) })).to.deep.equal(
      [],
    )
    expect(await sumAcquirerFees(pool, company.id, { ...DAY, to: '2026-11-23T00:00:00.000Z' })).to.deep.equal({
      count: 2,
      fee_cents: 357n,
      known_fee_cents: 0n,
    })
  })
})
