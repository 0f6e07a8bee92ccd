import { expect } from 'chai'
import { OfflineSaleInput } from '#commands/offline-sale-input.ts'
import { recordOfflineSale } from '#commands/record-offline-sale.ts'
import type { Json, TestCompany } from './api.ts'
import type { TestTill } from './till.ts'

/** Sale in the till's upload format: product 10 once for 10.00, paid in cash; a test overrides the relevant fields. */
export const offlineSaleOf = (fields: object = {}) => ({
  offline_id: 'pdv-1',
  total: 10,
  amount_received: 10,
  change: 0,
  status: 'completed',
  created_at: '2026-03-10T14:00:00.000Z',
  items: [{ product_id: 10, quantity: 1, price: 10, total: 10 }],
  payments: [{ payment_type_id: 1, amount: 10, status: 'completed' }],
  ...fields,
})

/** Product for 10.00 with stock, and payment types, of a company. */
export interface Counter {
  readonly product: number
  readonly cash: number
  readonly account: number
  /** One unit for 10.00 in cash under this identifier. */
  sale(offlineId: string, fields?: object): ReturnType<typeof offlineSaleOf>
  /** Sale on account, with a pending receivable. */
  onAccount(offlineId: string): ReturnType<typeof offlineSaleOf>
  /** Records a sale like a till upload, and returns it. */
  record(sale: object): Promise<Json>
  /** Sells two units through the API; a test overrides the relevant fields. */
  sell(fields?: object): Promise<Json>
  stock(): Promise<string>
}

export async function openCounter(company: TestCompany, stock = '100'): Promise<Counter> {
  const [created, cash, account] = await Promise.all([
    company.post('/catalog/items', { name: `Café ${stock}`, price: '10.00', stock }),
    company.paymentType('cash'),
    company.paymentType('credit_account'),
  ])
  const product: number = created.body.data.id
  const sale: Counter['sale'] = (offline_id, fields = {}) =>
    offlineSaleOf({
      offline_id,
      items: [{ product_id: product, quantity: 1, price: 10, total: 10 }],
      payments: [{ payment_type_id: cash, amount: 10, status: 'completed' }],
      ...fields,
    })
  return {
    product,
    cash,
    account,
    sale,
    onAccount: (offlineId) =>
      sale(offlineId, { payments: [{ payment_type_id: account, amount: 10, status: 'pending' }] }),
    record: (sale) => company.run(recordOfflineSale, OfflineSaleInput.parse(sale), 'pdv'),
    async sell(fields = {}) {
      const reply = await company.post('/sales', {
        items: [{ catalog_item_id: product, quantity: '2' }],
        payments: [{ payment_type_id: cash, amount: '20.00' }],
        ...fields,
      })
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
    stock: async () => (await company.get(`/catalog/items/${product}`)).body.data.stock,
  }
}

/** Uploads sales, and returns the successful response; its counts must agree with its results. */
export async function upload(till: TestTill, sales: readonly unknown[]): Promise<Json> {
  const reply = await till.post('/sync/sales', { sales })
  expect(reply.status, reply.text).to.equal(200)
  const { body } = reply
  expect(body).to.have.all.keys('success', 'message', 'summary', 'results')
  const errors = body.results.filter((result: Json) => result.status === 'error').length
  expect(body.results).to.have.length(sales.length)
  expect(body.summary).to.deep.equal({
    total_processed: sales.length,
    success_count: sales.length - errors,
    error_count: errors,
  })
  return body
}
