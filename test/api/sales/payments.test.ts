import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useSeller } from './seller.ts'

describe('sales: payments', () => {
  const { company, adHoc, pay, types, sell, sold } = useSeller()

  it('must sum to the total: a shortfall is payment_mismatch with total and paid [SALE-6]', async () => {
    const items = [adHoc('10.00')]
    for (const payments of [
      [],
      [pay('9.99')],
      [pay('9.99', types.card)],
      [pay('5.00'), pay('4.99', types.card)],
      [pay('0.00')],
    ]) {
      const details = expectProblem(await sell({ items, payments }), 422, 'payment_mismatch')
      const paid = payments.reduce((sum, payment) => sum + Number(payment.amount), 0).toFixed(2)
      expect(details).to.deep.equal({ total: '10.00', paid })
    }
    const details = expectProblem(
      await sell({ items, delivery_fee: '2.50', payments: [pay('10.00')] }),
      422,
      'payment_mismatch',
    )
    expect(details).to.deep.equal({ total: '12.50', paid: '10.00' })
  })

  it('may exceed the total with cash: the surplus is change [SALE-7]', async () => {
    const items = [adHoc('10.00')]
    expect((await sold({ items, payments: [pay('50.00')] })).change).to.equal('40.00')
    expect((await sold({ items, payments: [pay('6.00', types.card), pay('5.00')] })).change).to.equal('1.00')
    expect((await sold({ items, payments: [pay('10.00')] })).change).to.equal('0.00')
  })

  it('must not exceed the total without cash [SALE-7]', async () => {
    const pix = await company.paymentType('pix')
    for (const payments of [[pay('10.01', types.card)], [pay('5.00', types.card), pay('6.00', pix)]]) {
      const details = expectProblem(await sell({ items: [adHoc('10.00')], payments }), 422, 'payment_mismatch')
      expect(details.total).to.equal('10.00')
    }
  })

  it('include their surcharge in the amount [SALE-8]', async () => {
    const surcharged = await company.paymentType('card', '5.00')
    const other = await company.paymentType('card', '3.49')
    for (const [type, amount, net, surcharge] of [
      [surcharged, '105.00', '100.00', '5.00'],
      [surcharged, '100.00', '95.24', '4.76'],
      [surcharged, '0.01', '0.01', '0.00'],
      [surcharged, '0.11', '0.10', '0.01'],
      [other, '100.00', '96.63', '3.37'],
    ] as const) {
      const sale = await sold({ items: [adHoc(amount)], payments: [pay(amount, type)] })
      expect(sale.total).to.equal(amount)
      expect(sale.payments[0]).to.include({ amount, net, surcharge })
    }
  })

  it('of a type refused by the API are 422 naming the field, with the reason [SALE-9]', async () => {
    for (const kind of ['credit_account', 'exchange_credit', 'promotion', 'cashback'] as const) {
      const type = await company.paymentType(kind)
      const reply = await sell({ items: [adHoc('10.00')], payments: [pay('5.00'), pay('5.00', type)] })
      expectInvalid(reply, ['payments[1].payment_type_id'])
      const listed = (await company.get('/sales/payment-types')).body.data.find((each: Json) => each.id === type)
      expect(reply.body.error.details.fields['payments[1].payment_type_id']).to.deep.equal([listed.reason])
    }
  })

  it('of an unknown type are 422 naming the field [SALE-9]', async () => {
    expectInvalid(await sell({ items: [adHoc('1.00')], payments: [pay('1.00', 999_999)] }), [
      'payments[0].payment_type_id',
    ])
  })
})
