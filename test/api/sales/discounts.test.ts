import { expect } from 'chai'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useSeller } from './seller.ts'

describe('sales: discounts', () => {
  const { company, item, adHoc, pay, sell, sold } = useSeller()

  it('of items are deducted from their totals, those of the sale from the subtotal [SALE-5] [SALE-24]', async () => {
    const { id } = await item({ price: '18.90' })
    const items = [{ catalog_item_id: id, quantity: '2', discount: '1.80' }, adHoc('3.50')]
    const sale = await sold({ items, discount: '3.00', delivery_fee: '5.00', payments: [pay('41.50')] })
    expect(sale).to.include({ subtotal: '39.50', discount: '3.00', delivery_fee: '5.00', total: '41.50' })
    const [first, second] = sale.items
    expect(first).to.include({ unit_price: '18.90', total: '36.00', discount: '1.80', discount_share: '2.73' })
    expect(second).to.include({ total: '3.50', discount: '0.00', discount_share: '0.27' })
    expect(sale.payments[0]).to.include({ amount: '41.50', net: '41.50' })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
    const page = await company.get('/sales')
    expect(page.body.data).to.deep.equal([sale])
  })

  it('are "0.00" if they are absent, null or zero [SALE-24]', async () => {
    for (const none of [{}, { discount: null }, { discount: '0.00' }]) {
      const sale = await sold({ items: [{ ...adHoc('1.00'), ...none }], ...none, payments: [pay('1.00')] })
      expect(sale).to.include({ subtotal: '1.00', discount: '0.00', total: '1.00' })
      expect(sale.items[0]).to.include({ total: '1.00', discount: '0.00', discount_share: '0.00' })
    }
  })

  it('are shared over the items to the cent, by largest remainder [SALE-24] [SALE-30]', async () => {
    const items = [adHoc('10.00'), adHoc('10.00'), adHoc('10.00')]
    const sale = await sold({ items, discount: '1.00', payments: [pay('29.00')] })
    expect(sale.items.map((line: Json) => line.discount_share)).to.deep.equal(['0.34', '0.33', '0.33'])
    expect(sale.items.map((line: Json) => line.total)).to.deep.equal(['10.00', '10.00', '10.00'])
  })

  it('above the item or the subtotal are 422, and sell nothing [SALE-24]', async () => {
    const { id } = await item({ price: '10.00', stock: '5' })
    const line = { catalog_item_id: id, quantity: '2' }
    const payments = [pay('0.00')]
    expectInvalid(await sell({ items: [{ ...line, discount: '20.01' }], payments }), ['items[0].discount'])
    expectInvalid(await sell({ items: [line], discount: '20.01', payments }), ['discount'])
    // The subtotal is what the discounts of the items leave.
    const items = [{ ...line, discount: '15.00' }]
    expectInvalid(await sell({ items, discount: '5.01', delivery_fee: '9.00', payments }), ['discount'])
    expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('5.000')
  })

  it('that are no amounts are 422 [SALE-24]', async () => {
    for (const discount of ['-1.00', '1', 1, '1.005']) {
      expectInvalid(await sell({ items: [adHoc('9.00')], discount, payments: [pay('9.00')] }), ['discount'])
      const items = [{ ...adHoc('9.00'), discount }]
      expectInvalid(await sell({ items, payments: [pay('9.00')] }), ['items[0].discount'])
    }
  })

  it('of everything leave a sale of 0.00, which needs no payments [SALE-24]', async () => {
    const { id } = await item({ price: '10.00', stock: '5' })
    const line = { catalog_item_id: id, quantity: '1' }
    for (const body of [
      { items: [line], discount: '10.00' },
      { items: [{ ...line, discount: '10.00' }], payments: [] },
      { items: [{ ...line, unit_price: '0.00' }], payments: null },
    ]) {
      const sale = await sold(body)
      expect(sale).to.include({ total: '0.00', change: '0.00', status: 'completed' })
      expect(sale.payments).to.deep.equal([])
    }
    expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('2.000')
  })

  it('that leave more than 0.00 need payments [SALE-24]', async () => {
    const items = [adHoc('10.00')]
    expectInvalid(await sell({ items, discount: '9.99' }), ['payments'])
    expectInvalid(await sell({ items, discount: '10.00', delivery_fee: '0.01' }), ['payments'])
    const details = expectProblem(await sell({ items, discount: '9.99', payments: [] }), 422, 'payment_mismatch')
    expect(details).to.deep.equal({ total: '0.01', paid: '0.00' })
  })

  it('of orders are refused: their price is final', async () => {
    const order = { store_alias: 'loja', customer: { name: 'Ana' }, items: [{ ...adHoc('1.00'), discount: '0.10' }] }
    expectInvalid(await company.post('/orders', order), [], ['items[0].discount'])
  })
})
