import { expect } from 'chai'
import { event } from '#events/catalogue.ts'
import { voucherByCode } from '#projections/vouchers.ts'
import { companyRegistered, itemCreated, offlineSaleCompleted, saleCompleted, saleReturned } from '../support/facts.ts'
import { given, type Scenario } from '../support/given.ts'

const CODE = 'K7QM4PXZ2A'
const given10 = saleReturned({
  id: 4,
  sale_id: 8,
  refunds: [
    { payment_type_id: 4, name: 'Troca', amount: '7.50', voucher: CODE, voucher_until: '2026-06-08' },
    { payment_type_id: 4, name: 'Troca', amount: '2.50', voucher: CODE, voucher_until: '2026-06-08' },
  ],
})
const shop = [companyRegistered(), itemCreated({ id: 10 }), saleCompleted({ id: 8 })]
const spent = (amount: string, id = 9) =>
  offlineSaleCompleted({
    ...{ id, offline_id: `v${id}`, total: amount, amount_received: amount },
    payments: [
      {
        ...{ payment_type_id: 4, name: 'Troca', amount, surcharge: '0.00', net: amount },
        ...{ status: 'completed', voucher: CODE },
      },
    ],
  })

const rowOf = async (scenario: Scenario) => (await scenario.rows(voucherByCode(CODE))).get(voucherByCode(CODE))

describe('vouchers projection', () => {
  it('keeps what was given, what is left, and the last day [CREDIT-1340]', async () => {
    const scenario = await given(...shop, given10, spent('4.00'))
    expect(await rowOf(scenario)).to.include({
      ...{ value: '10.00', balance: '6.00', return_id: 4, valid_until: '2026-06-08' },
      issued_at: '2026-03-10T14:30:00.000Z',
    })
  })

  it('counts a cancelled sale and a reversed return as none', async () => {
    const back = event('SaleCancelled', {
      ...{ id: 9, reason: null, restock: [] },
      vouchers: [{ voucher: CODE, amount: '4.00' }],
    })
    const scenario = await given(...shop, given10, spent('4.00'), back)
    expect(await rowOf(scenario)).to.include({ value: '10.00', balance: '10.00' })
    const reversed = event('ReturnReversed', {
      ...{ id: 4, sale_id: 8, reason: 'Engano', items: [], delivery_fee: '0.00', total: '10.00', stock: [] },
      ...{ vouchers: [{ voucher: CODE, amount: '10.00' }], is_in_drawer: false },
    })
    expect(await rowOf(await given(...shop, given10, reversed))).to.include({ value: '0.00', balance: '0.00' })
  })

  it('knows no return of a code that only a sale has named', async () => {
    const scenario = await given(...shop, spent('4.00'))
    expect(await rowOf(scenario)).to.include({ value: '0.00', balance: '-4.00', return_id: null, valid_until: null })
  })

  it('keeps the later day of a code that two returns gave to', async () => {
    const refunds = [{ payment_type_id: 4, name: 'Troca', amount: '1.00', voucher: CODE, voucher_until: '2026-05-01' }]
    const scenario = await given(...shop, given10, saleReturned({ id: 5, sale_id: 8, total: '1.00', refunds }))
    expect(await rowOf(scenario)).to.include({ value: '11.00', return_id: 5, valid_until: '2026-06-08' })
  })
})
