import { expect } from 'chai'
import { idsIn } from '../support/answers.ts'
import type { Reply, TestCompany } from '../support/api.ts'
import type { TestTill } from '../support/till.ts'

export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** Products of a company, on the server and as a till downloads them. */
export interface ProductsOfTill {
  create(item: object): Promise<number>
  patch(id: number, changes: object): Promise<void>
  remove(id: number): Promise<void>
  sell(id: number, quantity: string): Promise<number>
  /** Download of a till, in full or since a time. */
  download(lastSync?: string): Promise<Reply>
  /** Incremental download of a till that synchronised just before a change. */
  changedBy(change: () => Promise<unknown>): Promise<{ data: number[]; deleted: number[] }>
}

export function productsOf(company: TestCompany, till: TestTill): ProductsOfTill {
  const download = async (lastSync?: string): Promise<Reply> => {
    const reply = await till.get(`/sync/products${lastSync === undefined ? '' : `?last_sync=${lastSync}`}`)
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.body.success).to.equal(true)
    expect(reply.body.sync_timestamp).to.match(INSTANT)
    expect(reply.body.total).to.equal(reply.body.data.length)
    return reply
  }
  return {
    download,
    async create(item) {
      const reply = await company.post('/catalog/items', { price: '1.00', ...item })
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id
    },
    async patch(id, changes) {
      expect((await company.call('PATCH', `/catalog/items/${id}`, changes)).status).to.equal(200)
    },
    async remove(id) {
      expect((await company.call('DELETE', `/catalog/items/${id}`)).status).to.equal(204)
    },
    async sell(id, quantity) {
      const sale = {
        items: [{ catalog_item_id: id, quantity, unit_price: '1.00' }],
        payments: [{ payment_type_id: await company.paymentType('cash'), amount: '1000.00' }],
      }
      const reply = await company.post('/sales', sale)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id
    },
    async changedBy(change) {
      const { sync_timestamp } = (await download()).body
      // The time is inclusive, so the last event is repeated; another event separates it from the change.
      await company.post('/customers', { name: `Cliente ${Math.random()}` })
      const since = (await download()).body.sync_timestamp
      expect(since > sync_timestamp).to.equal(true)
      await change()
      const reply = await download(since)
      return { data: idsIn(reply), deleted: reply.body.deleted }
    },
  }
}
