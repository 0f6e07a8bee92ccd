import { expect } from 'chai'
import type { Json, Reply, TestApi, TestCompany } from '../support/api.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

interface Seller {
  readonly api: TestApi
  readonly company: TestCompany
  item(body?: object): Promise<Json>
  stockOf(id: number): Promise<string | null>
  /** Ad-hoc item, not in the catalog. */
  adHoc(unit_price: string, quantity?: string): { description: string; quantity: string; unit_price: string }
  /** Payment, in cash by default. */
  pay(amount: string, payment_type_id?: number): { payment_type_id: number; amount: string }
  readonly types: { readonly cash: number; readonly card: number }
  sell(body: object): Promise<Reply>
  /** Registers a sale; fails if it is refused. */
  sold(body: object): Promise<Json>
}

/** Company that sells through the API, new in each test, with cash and card. */
export function useSeller(): Seller {
  const { api, company } = useCompanyPerTest()
  const types = { cash: 0, card: 0 }

  beforeEach('create payment types', async () => {
    types.cash = await company.paymentType('cash')
    types.card = await company.paymentType('card')
  })

  const sell: Seller['sell'] = (body) => company.post('/sales', body)
  return {
    api,
    company,
    async item(body = {}) {
      return (await company.post('/catalog/items', { name: 'Café 500 g', price: '18.90', ...body })).body.data
    },
    stockOf: async (id) => (await company.get(`/catalog/items/${id}`)).body.data.stock,
    adHoc: (unit_price, quantity = '1') => ({ description: 'Bolo', quantity, unit_price }),
    pay: (amount, payment_type_id = types.cash) => ({ payment_type_id, amount }),
    types,
    sell,
    async sold(body) {
      const reply = await sell(body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
  }
}
