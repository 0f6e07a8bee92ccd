import { expect } from 'chai'
import { expectProblem } from '../../support/answers.ts'
import { useSeller } from './seller.ts'

describe('sales: stock', () => {
  const { company, item, stockOf, pay, sell, sold } = useSeller()

  it('that is short refuses the whole sale, lists all short items, and records nothing [SALE-10]', async () => {
    const [a, b, c] = [
      await item({ stock: '5', external_id: 'a' }),
      await item({ stock: '1' }),
      await item({ stock: '2' }),
    ]
    const line = (id: number, quantity: string) => ({ catalog_item_id: id, quantity, unit_price: '1.00' })
    const before = (await company.get('/sales')).text
    const reply = await sell({
      external_id: 'tudo-ou-nada',
      // Short only if its lines are added up.
      items: [
        line(a.id, '3'),
        line(b.id, '1'),
        line(c.id, '2.5'),
        { catalog_item_external_id: 'a', quantity: '2.001' },
      ],
      payments: [pay('1000.00')],
    })
    const short = [
      { catalog_item_id: a.id, requested: '5.001', available: '5.000' },
      { catalog_item_id: c.id, requested: '2.500', available: '2.000' },
    ]
    expect(expectProblem(reply, 422, 'insufficient_stock')).to.deep.equal({ ...short[0], items: short })
    expect((await company.get('/sales')).text).to.equal(before)
    expect(await Promise.all([a.id, b.id, c.id].map(stockOf))).to.deep.equal(['5.000', '1.000', '2.000'])
    expectProblem(await company.get('/sales/by-external/tudo-ou-nada'), 404, 'not_found')
    await sold({ external_id: 'tudo-ou-nada', items: [line(a.id, '5')], payments: [pay('5.00')] })
  })
})
