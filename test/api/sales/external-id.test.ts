import { expect } from 'chai'
import { expectProblem, idsIn } from '../../support/answers.ts'
import { useSeller } from './seller.ts'

describe('sales: external_id', () => {
  const { company, item, stockOf, adHoc, pay, sell, sold } = useSeller()

  it('repeated is 409 with conflicting_id, also for the same body, and records nothing [SALE-12]', async () => {
    const { id } = await item({ stock: '5' })
    const body = { external_id: 'p-1', items: [{ catalog_item_id: id, quantity: '1' }], payments: [pay('18.90')] }
    const sale = await sold(body)
    for (const again of [body, { ...body, items: [adHoc('18.90')] }]) {
      const details = expectProblem(await sell(again), 409, 'duplicate_resource')
      expect(details).to.deep.include({ conflicting_id: sale.id })
    }
    expect(await stockOf(id)).to.equal('4.000')
    expect(idsIn(await company.get('/sales'))).to.deep.equal([sale.id])
  })

  it('is kept by a cancelled sale [SALE-12]', async () => {
    const body = { external_id: 'p-1', items: [adHoc('1.00')], payments: [pay('1.00')] }
    const sale = await sold(body)
    await company.post(`/sales/${sale.id}/cancel`, {})
    expect(expectProblem(await sell(body), 409, 'duplicate_resource')).to.deep.include({ conflicting_id: sale.id })
    expect((await company.get('/sales/by-external/p-1')).body.data).to.include({ id: sale.id, status: 'cancelled' })
  })

  it('may look like a part of a path', async () => {
    for (const external_id of ['cancel', 'by-external', 'payment-types', '1', 'a/b', '%2F', 'ç🥖']) {
      const sale = await sold({ external_id, items: [adHoc('1.00')], payments: [pay('1.00')] })
      const found = await company.get(`/sales/by-external/${encodeURIComponent(external_id)}`)
      expect(found.body.data?.id, external_id).to.equal(sale.id)
    }
  })

  it('of a missing sale is 404', async () => {
    for (const id of ['nada', 'x'.repeat(101), '%20', '%F0%9F%A5%96']) {
      expectProblem(await company.get(`/sales/by-external/${id}`), 404, 'not_found')
    }
  })
})
