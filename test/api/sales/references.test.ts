import { expect } from 'chai'
import { expectInvalid } from '../../support/answers.ts'
import { useSeller } from './seller.ts'

describe('sales: references', () => {
  const { company, item, adHoc, pay, sell, sold } = useSeller()

  it('to missing or deactivated items are 422 naming the field [SALE-13]', async () => {
    const { id } = await item({ external_id: 'velho' })
    await company.call('DELETE', `/catalog/items/${id}`)
    for (const [field, value] of [
      ['catalog_item_id', id],
      ['catalog_item_id', 999_999],
      ['catalog_item_external_id', 'velho'],
      ['catalog_item_external_id', 'nunca'],
    ] as const) {
      const reply = await sell({
        items: [adHoc('1.00'), { [field]: value, quantity: '1', unit_price: '1.00' }],
        payments: [pay('2.00')],
      })
      expectInvalid(reply, [`items[1].${field}`])
    }
  })

  it('to a missing or deleted customer are 422 naming the field [SALE-13]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body.data
    await company.call('DELETE', `/customers/${id}`)
    for (const customer_external_id of ['ana', 'nunca']) {
      expectInvalid(await sell({ customer_external_id, items: [adHoc('1.00')], payments: [pay('1.00')] }), [
        'customer_external_id',
      ])
    }
  })

  it('keep the customer’s name as of the sale [SALE-14]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana', external_id: 'ana' })).body.data
    const sale = await sold({ customer_external_id: 'ana', items: [adHoc('1.00')], payments: [pay('1.00')] })
    await company.call('PATCH', `/customers/${id}`, { name: 'Ana Souza' })
    await company.call('DELETE', `/customers/${id}`)
    expect((await company.get(`/sales/${sale.id}`)).body.data.customer).to.deep.equal({
      id,
      external_id: 'ana',
      name: 'Ana',
    })
  })
})
