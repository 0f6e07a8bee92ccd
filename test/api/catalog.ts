import { expect } from 'chai'
import type { Json, Reply, TestApi, TestCompany } from '../support/api.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

export const coffee = { name: 'Café 500 g', price: '18.90' }

interface CatalogCalls {
  readonly api: TestApi
  readonly company: TestCompany
  post(body: object): Promise<Reply>
  /** Creates an item; fails if it is refused. */
  create(body: object): Promise<Json>
  put(externalId: string, body: unknown): Promise<Reply>
  patch(id: number, body: unknown): Promise<Reply>
  get(id: number): Promise<Json>
  remove(id: number): Promise<Reply>
  category(name: string): Promise<number>
  /** Current revision of the ledger. */
  revision(): Promise<string | null>
  /** Sells at 1.00 each, in cash. */
  sell(id: number, quantity: string): Promise<Reply>
}

/** Catalog of a company, new in each test. */
export function useCatalog(): CatalogCalls {
  const { api, company } = useCompanyPerTest()
  const post: CatalogCalls['post'] = (body) => company.post('/catalog/items', body)
  return {
    api,
    company,
    post,
    async create(body) {
      const reply = await post(body)
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    },
    put: (externalId, body) => company.call('PUT', `/catalog/items/by-external/${externalId}`, body),
    patch: (id, body) => company.call('PATCH', `/catalog/items/${id}`, body),
    get: async (id) => (await company.get(`/catalog/items/${id}`)).body.data,
    remove: (id) => company.call('DELETE', `/catalog/items/${id}`),
    category: async (name) => (await company.post('/catalog/categories', { name })).body.data.id,
    revision: async () => (await company.get('/me')).headers.get('x-ledger-revision'),
    sell: async (id, quantity) =>
      company.post('/sales', {
        items: [{ catalog_item_id: id, quantity, unit_price: '1.00' }],
        payments: [{ payment_type_id: await company.paymentType('cash'), amount: '1000.00' }],
      }),
  }
}
