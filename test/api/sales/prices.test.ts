import { expect } from 'chai'
import type { Json } from '../../support/api.ts'
import { useSeller } from './seller.ts'

describe('sales: prices', () => {
  const { company, item, pay, sold } = useSeller()

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
})
