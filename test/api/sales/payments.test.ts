import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useSeller } from './seller.ts'

describe('sales: payments', () => {
  const { company, adHoc, pay, sell } = useSeller()

  it('that do not sum to the total are payment_mismatch, and sell nothing [SALE-6]', async () => {
    const reply = await sell({ items: [adHoc('10.00')], delivery_fee: '2.50', payments: [pay('10.00')] })
    expect(expectProblem(reply, 422, 'payment_mismatch')).to.deep.equal({ total: '12.50', paid: '10.00' })
    expect((await company.get('/sales')).body.data).to.deep.equal([])
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
})
