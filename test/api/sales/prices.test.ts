import { expect } from 'chai'
import { expectInvalid } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useSeller } from './seller.ts'

describe('sales: prices', () => {
  const { company, item, adHoc, pay, sell, sold } = useSeller()

  it('default to the list price [SALE-4]', async () => {
    const { id } = await item({ external_id: 'caf', price: '18.90' })
    const items = [
      { catalog_item_id: id, quantity: '1' },
      { catalog_item_external_id: 'caf', quantity: '1' },
      { catalog_item_id: id, quantity: '1', unit_price: '15.00' },
      { catalog_item_id: id, quantity: '1', unit_price: '0.00' },
    ]
    const sale = await sold({ items, payments: [pay('52.80')] })
    expect(sale.items.map((line: Json) => line.unit_price)).to.deep.equal(['18.90', '18.90', '15.00', '0.00'])
    expect(sale.total).to.equal('52.80')
    await company.call('PATCH', `/catalog/items/${id}`, { price: '99.00', name: 'Outro nome' })
    expect((await company.get(`/sales/${sale.id}`)).body.data).to.deep.equal(sale)
  })

  it('of ad-hoc items are required [SALE-3]', async () => {
    expectInvalid(await sell({ items: [{ description: 'Bolo', quantity: '1' }], payments: [pay('1.00')] }), [
      'items[0].unit_price',
    ])
  })

  it('are multiplied and rounded half up to cents, item by item [SALE-5]', async () => {
    for (const [price, quantity, total] of [
      ['10.00', '0.333', '3.33'],
      ['0.01', '1.5', '0.02'],
      ['0.01', '0.5', '0.01'],
      ['0.01', '0.499', '0.00'],
      ['1.00', '0.005', '0.01'],
      ['1.00', '0.004', '0.00'],
      ['1.15', '1.5', '1.73'],
      ['1.05', '0.5', '0.53'],
      ['2.675', '1', null],
      ['33.33', '3.003', '100.09'],
      ['9999999999.99', '1', '9999999999.99'],
    ] as const) {
      const reply = await sell({ items: [adHoc(price, quantity)], payments: [pay(total ?? '1.00')] })
      if (total === null) expectInvalid(reply, ['items[0].unit_price'])
      else expect(reply.body.data?.items[0].total, `${quantity} x ${price}`).to.equal(total)
    }
  })

  it('add up from the rounded totals [SALE-5]', async () => {
    const sale = await sold({
      items: [adHoc('0.01', '0.5'), adHoc('0.01', '0.5'), adHoc('0.01', '0.5')],
      payments: [pay('0.03')],
    })
    expect(sale).to.include({ subtotal: '0.03', total: '0.03' })
  })

  it('with a sum above the limit are 422, never a wrong total', async () => {
    expectInvalid(await sell({ items: [adHoc('9999999999.99', '2')], payments: [pay('9999999999.99')] }), [
      'items[0].quantity',
    ])
    expectInvalid(await sell({ items: [adHoc('9999999999.99', '999999999.999')], payments: [] }), ['items[0].quantity'])
    const body = { items: [adHoc('9999999999.99'), adHoc('9999999999.99')], payments: [pay('9999999999.99')] }
    expectInvalid(await sell(body), ['items'])
    expectInvalid(await sell({ items: [adHoc('9999999999.99')], delivery_fee: '0.01', payments: [pay('1.00')] }), [
      'items',
    ])
  })
})
