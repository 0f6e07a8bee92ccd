import { expect } from 'chai'
import type { Json, Reply, TestApi, TestCompany } from '../../support/api.ts'
import { useCompanyPerTest } from '../../support/use-api.ts'

interface Seller {
  readonly api: TestApi
  readonly company: TestCompany
  /** Creates a catalog item. */
  item(body?: object): Promise<Json>
  stockOf(id: number): Promise<string | null>
  /** An item that is in no catalog. */
  adHoc(unit_price: string, quantity?: string): { description: string; quantity: string; unit_price: string }
  /** A payment, in cash unless its type is given. */
  pay(amount: string, payment_type_id?: number): { payment_type_id: number; amount: string }
  /** Its payment types. */
  readonly types: { readonly cash: number; readonly card: number }
  sell(body: object): Promise<Reply>
  /** The sale, which must have been accepted. */
  sold(body: object): Promise<Json>
}

/** A company that sells over the API, a new one in each test; it takes cash and cards. */
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
